package registry

// The defaults of options and one bound, for tests of the package from outside.
const (
	DefaultApprovalExpiry  = defaultApprovalExpiry
	DefaultBudget          = defaultBudget
	DefaultParallel        = defaultParallel
	DefaultStructuredBytes = defaultStructuredBytes
	MaxResources           = maxResources
)
