package recordlog

import (
	"time"
)

const (
	// firstSegment is the size of the first segment, in bytes: a state that is
	// hardly used takes little room. Each is twice as large as the one before.
	firstSegment = 256 << 10
	// largestSegment bounds that. Filling it takes the disk a few hundredths of
	// a second, and finding the end of the log in it a few milliseconds.
	largestSegment = 8 << 20
	// startSize is the size of the first frame of a segment, and segmentRest what
	// each leaves for its last and for what stands behind that.
	startSize   = bareFrame + idSize
	segmentRest = bareFrame + frameEnd
	// spareName begins the name of a segment that has no number yet.
	spareName = ".spare-"
	// spareAge is how old such a file is when its process is surely gone.
	spareAge = time.Minute
)

