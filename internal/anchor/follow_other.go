//go:build !unix

package anchor

// noFollow refuses nothing: these systems have no such flag.
const noFollow = 0
