package place

// fsLocation is a position in a file system, under whatever name it is mounted.
type fsLocation struct {
	// device is the file system, as mountinfo names it; empty when unknown.
	device string
	path   string
}

// contains reports whether another location is this one or lies below it.
func (s fsLocation) contains(o fsLocation) bool {
	return s.device != "" && s.device == o.device && isWithin(s.path, o.path)
}
