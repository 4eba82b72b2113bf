package recordlog

// part is what one batch writes into one segment.
type part struct {
	seg *segment
	off int64
	// from and to are where it stands in the buffer.
	from, to int
}

