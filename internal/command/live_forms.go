package command

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

// Prompts returns the prompts that a caller sees.
func (l *live) Prompts(caller *sallyport.Caller) []registry.Definition {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Prompts(l.refreshCaller(context.Background(), t, caller))
}

// Resources returns the resources that a caller sees.
func (l *live) Resources(caller *sallyport.Caller) []sallyport.Resource {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Resources(l.refreshCaller(context.Background(), t, caller))
}

// Reader returns the ID of the tool that reads a URI.
func (l *live) Reader(caller *sallyport.Caller, uri string) (id string, ok bool) {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Reader(l.refreshCaller(context.Background(), t, caller), uri)
}

// Asks reports whether a call is held for a human.
func (l *live) Asks(caller *sallyport.Caller, id string) bool {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Asks(l.refreshCaller(context.Background(), t, caller), id)
}

// Headers returns the arguments that clients repeat in HTTP headers.
func (l *live) Headers(caller *sallyport.Caller, tool string) []schema.Header {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Headers(l.refreshCaller(context.Background(), t, caller), tool)
}

// Tasks returns what a tool declares about tasks.
func (l *live) Tasks(id string) sallyport.TaskSupport {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Tasks(id)
}

// Stands reports whether a caller may still get the result of a call that it
// made.
func (l *live) Stands(ctx context.Context, caller *sallyport.Caller, tool string, since time.Time) bool {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Stands(ctx, caller, tool, since)
}

// Inquires reports whether a tool declares that it asks its caller.
func (l *live) Inquires(id string) bool {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Inquires(id)
}
