package sandbox

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// startUnconfined starts a child without confinement, which the operator asked
// for by name: the kernel holds it to nothing. What is left is what the runtime
// can do alone: a fixed search path, an environment from nothing, a private
// home, a group that is killed as one.
func (r *Runner) startUnconfined(c *childProcess) error {
	s := c.spawn
	prog, err := r.programOf(s, s.Grant.FS.Write)
	if err != nil {
		return err
	}
	for _, path := range s.Grant.Process.Programs {
		holds := func(dir string) bool { return reach.Within(dir, path) }
		if slices.ContainsFunc(s.Grant.FS.Write, holds) && !slices.ContainsFunc(s.Grant.Process.ExecFrom, holds) {
			return sallyport.BinaryError(path, whyWritable)
		}
	}
	private, err := r.scratch.Dir("child")
	if err != nil {
		return confinementError(s.Binary, err)
	}
	c.atEnd(func() { _ = os.RemoveAll(private) })
	dir, err := bareDir(s, private)
	if err != nil {
		return err
	}
	pipes, err := c.openPipes()
	if err != nil {
		return confinementError(s.Binary, err)
	}
	c.start = time.Now()
	c.proc, err = os.StartProcess(prog.path, append([]string{prog.name}, s.Args...), &os.ProcAttr{
		Dir: dir, Env: r.childEnv(s.Options.Env, private, private, false, false),
		Files: pipes, Sys: groupOfItsOwn(),
	})
	closeAll(pipes)
	if err != nil {
		return &sallyport.Error{
			Code: sallyport.CodeExecutionFailed, Resource: s.Binary, Operation: "spawn",
			Detail: s.Binary + " could not be started", Err: err,
		}
	}
	return nil
}

// bareDir is the working directory of a child that sees the host's tree.
func bareDir(s *sallyport.Spawn, private string) (string, error) {
	asked := s.Options.Dir
	path := cmp.Or(asked, s.Workspace)
	if path == "" {
		return private, nil
	}
	if strings.ContainsRune(path, 0) {
		return "", sallyport.InputInvalid("the working directory holds a NUL byte")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Workspace, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		for _, base := range slices.Concat(s.Grant.FS.Read, s.Grant.FS.Write) {
			if base, err := filepath.EvalSymlinks(base); err == nil && reach.Within(base, real) && isDir(real) {
				return real, nil
			}
		}
	}
	if asked == "" {
		return private, nil
	}
	return "", sallyport.PathError("enter", asked)
}

// confinementError returns what a caller sees of a child that could not be
// confined. What the kernel said is for the log.
func confinementError(binary string, err error) error {
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return unavailableError(binary+" could not be confined and was not started", err)
}
