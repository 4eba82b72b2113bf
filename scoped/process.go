package scoped

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// maxArgBytes is MAX_ARG_STRLEN of Linux less its NUL: 32 pages of 4 KiB
	// (include/uapi/linux/binfmts.h). A longer argument fails in execve.
	maxArgBytes = 32*4096 - 1
	// maxArgsBytes is ARG_MAX of macOS, half of what Linux grants by default
	// (a quarter of an 8 MiB stack), for arguments and environment together.
	maxArgsBytes = 1 << 20
	// pointerBytes is what each string costs beside its text: a pointer and
	// the final NUL.
	pointerBytes = 8 + 1
	// maxStdinBytes bounds what a tool hands to a child.
	maxStdinBytes = 64 << 20
)

// process is the process accessor of a call. It judges names; the runner
// behind it finds the file, confines the child and bounds its output.
type process struct{ b *Binding }

// Spawn starts a granted binary.
func (p process) Spawn(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (sallyport.ProcessResult, error) {
	if err := p.b.live(); err != nil {
		return sallyport.ProcessResult{}, err
	}
	s := p.b.scope
	if !reach.MatchBinary(s.grant.Process.Binaries, binary) {
		p.b.refuse(capProcess, binary, binaryOf(binary))
		return sallyport.ProcessResult{}, sallyport.BinaryError(binary, "")
	}
	var opts sallyport.SpawnOptions
	if o != nil {
		opts = *o
	}
	// The copy keeps a tool from changing the arguments after the check.
	args = slices.Clone(args)
	if err := p.prepare(args, &opts); err != nil {
		return sallyport.ProcessResult{}, err
	}
	p.b.allow(capProcess, binary, "spawn "+binary)
	res, err := s.backends.Process.Run(ctx, s.grant, binary, args, opts)
	return res, hide(err, binary+" could not be started")
}

// prepare checks what the tool passes to the child, and takes out of the
// environment what a tool may not set.
func (p process) prepare(args []string, o *sallyport.SpawnOptions) error {
	if o.Timeout < 0 {
		return sallyport.InputInvalid("the timeout is negative")
	}
	if len(o.Stdin) > maxStdinBytes {
		return sallyport.InputInvalid(fmt.Sprintf("the standard input has more than %d bytes", maxStdinBytes))
	}
	env, err := p.environment(o.Env)
	if err != nil {
		return err
	}
	total := 0
	for _, a := range args {
		if strings.Contains(a, "\x00") {
			return sallyport.InputInvalid("an argument holds a NUL byte")
		}
		total += len(a) + pointerBytes
		if len(a) > maxArgBytes || total > maxArgsBytes {
			return sallyport.InputInvalid("the argument list is too long")
		}
	}
	for name, value := range env {
		one := len(name) + len("=") + len(value)
		total += one + pointerBytes
		if one > maxArgBytes || total > maxArgsBytes {
			return sallyport.InputInvalid("the environment is too long")
		}
	}
	o.Env = env
	return nil
}

// environment returns the variables that may reach the child. One that is
// taken out is noted and does not stop the child, because callers pass whole
// environments along; one that no environment can hold is an error.
func (p process) environment(asked map[string]string) (map[string]string, error) {
	env := maps.Clone(asked)
	var reserved []string
	for name, value := range asked {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, sallyport.InputInvalid("an environment variable has no name, a NUL byte, or an equals sign in its name")
		}
		if reservedEnv(name) {
			reserved = append(reserved, name)
			delete(env, name)
		}
	}
	if len(reserved) > 0 {
		slices.Sort(reserved)
		p.b.note(sallyport.Decision{
			Step: sallyport.StepAccess, Capability: capProcess, Resource: clip(strings.Join(reserved, ", ")),
			Why: "environment variables that steer a child from outside are not passed on",
		})
	}
	return env, nil
}
