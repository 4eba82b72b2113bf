package pinning

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

// ProgramDiff compares a program under secrets with what the user accepted of it.
type ProgramDiff struct {
	// Program is its path in the configuration.
	Program string `json:"program"`
	// Accepted is true when it runs as it is.
	Accepted bool `json:"accepted"`
	// Launches lists what would run.
	Launches []lock.Launch `json:"launches"`
	// Changes lists what differs from what was accepted; empty when nothing was.
	Changes []lock.Change `json:"changes,omitempty"`
	// SHA256 is the digest to expect.
	SHA256 string `json:"sha256"`
	// Accept is the command that accepts it as it was shown.
	Accept string `json:"accept"`

	found app.SecretProgram
}

// ComparePrograms compares the program of a path, or all of them for an empty one,
// with what the user accepted. The paths are the configuration files that the user
// named.
func ComparePrograms(rt *app.Runtime, paths []string, program string) ([]ProgramDiff, error) {
	list, err := rt.InForce().SecretPrograms(rt.Env)
	if err != nil {
		return nil, err
	}
	var out []ProgramDiff
	for _, p := range list {
		if program != "" && p.Path != program {
			continue
		}
		d := ProgramDiff{Program: p.Path, Accepted: p.Accepted(), found: p}
		if d.SHA256, err = p.Now.Digest(lock.Scope{}); err != nil {
			return nil, err
		}
		d.Accept = acceptCommand(paths, lock.Scope{Server: p.Path}, d.SHA256)
		for _, s := range p.Now.Servers {
			d.Launches = append(d.Launches, s.Launch)
		}
		slices.SortFunc(d.Launches, func(a, b lock.Launch) int { return slices.Compare(a.Command, b.Command) })
		if p.Was != nil {
			d.Changes = lock.Diff(p.Was, p.Now)
		}
		out = append(out, d)
	}
	if program != "" && len(out) == 0 {
		return nil, fmt.Errorf("secrets of the configuration names no program %s", text.PrintableLine(program))
	}
	return out, nil
}

// AcceptAs notes for this user that a program may run as it was shown, when its digest
// begins as expected. The error is a [lock.Mismatch] when it does not.
func (d *ProgramDiff) AcceptAs(ctx context.Context, rt *app.Runtime, expect string) error {
	next, err := d.found.Was.Approve(d.found.Now, lock.Scope{}, expect)
	if mismatch, ok := errors.AsType[*lock.Mismatch](err); ok {
		return fmt.Errorf("%s: expected %s, found %s: it is not what was shown", d.Program, expect, mismatch.Found)
	}
	if err != nil {
		return err
	}
	note, err := next.Bytes()
	if err != nil {
		return err
	}
	return rt.RecordFirst(ctx, app.ChangeEvent(audit.ActionAcceptProgram, "secrets "+d.Program, "digest "+d.SHA256), func() error {
		if err := os.MkdirAll(filepath.Dir(d.found.Note), 0o700); err != nil {
			return err
		}
		return fsx.ReplaceFileMode(d.found.Note, note, 0o600)
	})
}

// Describe returns what would run, in lines for a person.
func (d *ProgramDiff) Describe() (lines []string) {
	for _, l := range d.Launches {
		lines = append(lines, "runs   "+text.PrintableLine(text.ShellLine(l.Command)))
		for _, b := range append([]lock.Binary{*l.Binary}, l.Programs...) {
			lines = append(lines, "file   "+text.PrintableLine(b.Path)+" "+b.SHA256)
		}
	}
	return lines
}
