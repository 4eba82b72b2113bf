package audit

// The bounds of the parts of one record.
const (
	MaxName      = maxName
	MaxArgs      = maxArgs
	MaxError     = maxError
	MaxDecisions = maxDecisions
	MaxReason    = maxReason
	MaxFull      = maxFull
)
