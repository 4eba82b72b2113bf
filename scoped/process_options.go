package scoped

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
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
	// maxOutputBytes bounds what a result may hold of one stream: twice that
	// for each of several children at once still fits into memory.
	maxOutputBytes = 64 << 20
)

// checkOptions checks what the tool passes to the child, and removes from the
// environment what a tool may not set.
func (p processAccessor) checkOptions(spawn *sallyport.Spawn) error {
	o := &spawn.Options
	switch {
	case o.Timeout < 0:
		return sallyport.InputInvalid("the timeout is negative")
	case len(o.Stdin) > maxStdinBytes:
		return sallyport.InputInvalid(fmt.Sprintf("the standard input has more than %d bytes", maxStdinBytes))
	case (o.Stdin != nil || o.Channel != nil) && o.Input != nil:
		return sallyport.InputInvalid("the standard input is given twice")
	case o.ErrorOutput != nil && o.Output == nil:
		return sallyport.InputInvalid("standard error by itself needs a writer for standard output")
	case o.Apart && (o.Input == nil || o.ErrorOutput == nil):
		return sallyport.InputInvalid("streams apart from the standard ones need a reader, a writer, and a writer for standard error")
	case o.MaxOutput < 0 || o.MaxOutput > maxOutputBytes:
		return sallyport.InputInvalid(fmt.Sprintf("the bound of the output is not within 0 to %d bytes", maxOutputBytes))
	case o.Discard && spawn.Grant.FS.Mode != sallyport.FSOverlay:
		return sallyport.InputInvalid("only what is written in overlay mode can be thrown away")
	case strings.Contains(o.Dir, "\x00"):
		return sallyport.InputInvalid("the working directory holds a NUL byte")
	}
	env, err := p.filterEnvironment(o.Env)
	if err != nil {
		return err
	}
	o.Env = env
	return checkArgumentSizes(spawn.Args, env)
}

// checkArgumentSizes checks arguments and environment against what a system
// passes on.
func checkArgumentSizes(args []string, env map[string]string) error {
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
	return nil
}

// filterEnvironment returns the variables that may reach the child. One that is
// taken out is noted and does not stop the child, because callers pass whole
// environments along; one that no environment can hold is an error.
func (p processAccessor) filterEnvironment(asked map[string]string) (map[string]string, error) {
	env := maps.Clone(asked)
	var reserved []string
	for name, value := range asked {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, sallyport.InputInvalid("an environment variable has no name, a NUL byte, or an equals sign in its name")
		}
		if reach.ReservedEnv(name) {
			reserved = append(reserved, name)
			delete(env, name)
		}
	}
	if len(reserved) > 0 {
		slices.Sort(reserved)
		p.b.recordDecision(sallyport.Decision{
			Step: sallyport.StepAccess, Capability: group.Process, Resource: clipNoted(strings.Join(reserved, ", ")),
			Why: "environment variables that steer a child from outside are not passed on", Source: reach.FloorSource,
		})
	}
	return env, nil
}
