package provenance

const (
	// minValue is the shortest folded value that is looked for, in bytes: shorter
	// ones are in every text.
	minValue = 8
	// minPlace is that of an address, a host or a URL, such as x.io.
	minPlace = 4
	// runLength is how much of a folded text has to be the same to count as taken
	// over, in bytes.
	runLength = 64
	// MaxBytes bounds what one memory takes, in bytes.
	MaxBytes = 256 << 10
	// maxSources bounds the calls that a memory tells apart. Further texts belong
	// to the last one.
	maxSources = 512
	// maxDecoded bounds how often a value is decoded: a base64 text of a base64 text.
	maxDecoded = 3
)

