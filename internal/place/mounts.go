package place

// spot is a place of a file system, under whatever name it is mounted.
type spot struct {
	// device is the file system, as mountinfo names it; empty when unknown.
	device string
	path   string
}

// holds reports whether another spot is this one or lies below it.
func (s spot) holds(o spot) bool {
	return s.device != "" && s.device == o.device && isWithin(s.path, o.path)
}
