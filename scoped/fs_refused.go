package scoped

import (
	"io/fs"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// pathRefuser refuses an absolute path and knows where names are anchored.
type pathRefuser interface {
	refusePath(operation, path string) error
	workspaceDir() string
}

// undeclaredPath refuses for a tool that declares no files. It reports no
// decision, because one pointer has room for the call or for the reporter, and
// Abs needs the call; the error is in the record as the result of the call.
type undeclaredPath struct{ c *sallyport.Call }

func (p undeclaredPath) refusePath(operation, path string) error {
	return sallyport.PathError(operation, path)
}

func (p undeclaredPath) workspaceDir() string { return p.c.Workspace }

// droppedPath refuses for a tool that declared files and was granted none.
type droppedPath struct {
	b      *Binding
	folder string
}

func (p *droppedPath) refusePath(operation, path string) error {
	p.b.recordRefusal(group.Files+"."+operation, path, matchesAnything)
	return sallyport.PathError(operation, path)
}

func (p *droppedPath) workspaceDir() string { return p.folder }

type refusedFS[R pathRefuser] struct{ r R }

func (f refusedFS[R]) Open(name string) (fs.File, error) { return nil, f.Probe("read", name) }

func (f refusedFS[R]) ReadFile(name string) ([]byte, error) { return nil, f.Probe("read", name) }

func (f refusedFS[R]) ReadDir(name string) ([]fs.DirEntry, error) { return nil, f.Probe("read", name) }

func (f refusedFS[R]) Stat(name string) (fs.FileInfo, error) { return nil, f.Probe("read", name) }

func (f refusedFS[R]) WriteFile(name string, _ []byte) error { return f.Probe("write", name) }

func (f refusedFS[R]) MkdirAll(name string) error { return f.Probe("write", name) }

func (f refusedFS[R]) UpdateFile(name string, _ func([]byte) ([]byte, error)) error {
	return f.Probe("write", name)
}

// Probe refuses, as the other methods do, without a file to be refused: it
// answers those who explain a grant.
func (f refusedFS[R]) Probe(operation, name string) error {
	return f.r.refusePath(operation, f.Abs(name))
}

// Abs returns the absolute form of a name, which stays relative when there is
// no workspace to anchor it.
func (f refusedFS[R]) Abs(name string) string {
	return anchorName(f.r.workspaceDir(), name)
}
