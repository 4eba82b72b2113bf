package httpapi

import (
	"context"
	"io"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// Catalogue says which tools there are for a caller. It must be safe for
// concurrent use. [registry.Registry] is one.
type Catalogue interface {
	// Definitions returns the tools that the caller sees, sorted by name.
	Definitions(caller *sallyport.Caller) []registry.Definition
	// List returns the same tools as they were declared.
	List(caller *sallyport.Caller) []sallyport.Tool
	// Explain says what is decided about a tool before its arguments count.
	Explain(caller *sallyport.Caller, tool string) (registry.Explanation, error)
}

// Gate is what the server needs of a registry. It must be safe for concurrent
// use. [registry.Registry] is one.
type Gate interface {
	Catalogue
	// Call decides and makes one call.
	Call(ctx context.Context, caller *sallyport.Caller, q sallyport.Request) sallyport.Result
	// Reject records a request that was broken before it was one.
	Reject(ctx context.Context, caller *sallyport.Caller, q sallyport.Request, why string) sallyport.Result
}

// Uploads keeps one file that a request brings, for the length of its call.
// The name is for display, the kind what the client says that it is. The
// function reads to the end and bounds what it keeps; release, which is called
// once the call is over, drops it. It must be safe for concurrent use. An
// error is told to the client as a file that cannot be taken, and logged.
type Uploads func(ctx context.Context, name string, kind sallyport.AttachmentKind, r io.Reader) (a sallyport.Attachment, release func(), err error)
