package recordlog

import (
	"github.com/sallyport/sallyport/audit"
)

// tail is what is known of the end of the log.
type tail struct {
	seg *segment
	// off is where the next frame goes.
	off int64
	// crc is that of the frame before it.
	crc uint32
	// head is the newest record's, last its place; 0 when none is left.
	head audit.Head
	last Position
	// synced is the number up to which all records are on the disk.
	synced int64
}

