package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// searchPath is where binaries are looked for, in this order; those of
// toolchains come after it. It is never the PATH of the runtime or of a
// caller. The order is that of Debian's /etc/login.defs.
var searchPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// whyWritable refuses a program that may be anything.
const whyWritable = "lies where the tool may write"

// resolvedProgram is a binary that was found.
type resolvedProgram struct {
	// path is the real path, with every link followed.
	path string
	// name is what the child sees as its own name.
	name string
}

// resolveProgram finds a granted binary on the fixed search path. A file inside a
// write reach is not a binary, because what may be written there may be
// anything; nor is one that would change its user.
func (r *Runner) resolveProgram(name string, writes []string) (*resolvedProgram, error) {
	var last error
	for _, candidate := range r.candidatePaths(name) {
		path, err := filepath.EvalSymlinks(candidate)
		if err != nil {
			continue
		}
		if last = checkRunnable(path, writes); last == nil {
			return &resolvedProgram{path, name}, nil
		}
	}
	if last != nil {
		return nil, sallyport.BinaryError(name, last.Error())
	}
	return nil, &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: name, Operation: "spawn",
		Detail: name + " is not installed: it is not on the search path of this machine", Err: os.ErrNotExist,
	}
}

// programOf returns the program of a spawn. The process accessor has already
// checked it.
func (r *Runner) programOf(s *sallyport.Spawn, writes []string) (*resolvedProgram, error) {
	prog, err := r.resolveProgram(s.Binary, writes)
	if err == nil && s.Options.Check != nil {
		err = s.Options.Check(prog.path)
	}
	return prog, err
}

// candidatePaths lists where a name may be.
func (r *Runner) candidatePaths(name string) []string {
	if filepath.IsAbs(name) {
		return []string{filepath.Clean(name)}
	}
	if name == "" || name == "." || name == ".." || strings.ContainsRune(name, filepath.Separator) {
		return nil
	}
	var list []string
	for _, dir := range r.searchPath() {
		list = append(list, filepath.Join(dir, name))
	}
	return list
}

// searchPath returns the search path with the toolchains.
func (r *Runner) searchPath() []string {
	list := append([]string{}, searchPath...)
	for _, t := range r.o.Toolchains {
		list = append(list, t.Bin...)
	}
	return list
}

// checkRunnable returns an error that says why a file may not be started.
func checkRunnable(path string, writes []string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.New("cannot be looked at")
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return errors.New("is not an executable file")
	case info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0:
		return errors.New("changes its user or group when it is started")
	}
	for _, w := range writes {
		if reach.Within(w, path) {
			return errors.New(whyWritable)
		}
	}
	return nil
}
