package listening

import "time"

const (
	// HeaderTimeout bounds how long the header of a request may take.
	HeaderTimeout = 10 * time.Second
	// MaxHeaderBytes bounds the header of a request.
	MaxHeaderBytes = 64 << 10
)
