package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/project"
	"github.com/sallyport/sallyport/internal/text"
)

// WriteServers adds the servers of a client to the configuration, and makes the
// client start this program in their place. It reports what it wrote.
func WriteServers(ctx context.Context, e *Environment, o *Options) error {
	i, p, err := planImport(ctx, e, o)
	if err != nil {
		return err
	}
	return i.writePlan(ctx, p, nil)
}

// writePlan adds the servers to the configuration, pins those that a trial found to
// work, and rewrites the client's files, all in one step.
func (i *clientImport) writePlan(ctx context.Context, p *serverPlan, tried *Draft) error {
	switch {
	case p.countState(stateBlocked) > 0:
		return i.refuseBlocked(p)
	case len(p.grantedServers()) == 0:
		fmt.Fprintf(i.env.Err, "nothing to import: %s\n", p.summarizeStates())
		for _, s := range p.servers {
			fmt.Fprintf(i.env.Err, "%s\n", text.OneLine(s.describeState()))
		}
		return nil
	}
	d, err := i.newDraft(p, tried)
	if err != nil {
		return err
	}
	if err := i.checkPersonality(p, d.Paths[0]); err != nil {
		return err
	}
	// A file that cannot be edited is found before anything is written.
	changes, err := i.rewriteFiles(p, d)
	if err != nil {
		return err
	}
	if err := i.makeStateFolders(p); err != nil {
		return err
	}
	if len(d.listChanges()) > 0 {
		if err := errors.Join(i.verifyDraft(p, d), i.warnOfMisfits(ctx, p, d)); err != nil {
			return err
		}
	}
	r := i.newReport(p)
	if err := i.commitStep(ctx, p, d, changes, r); err != nil {
		return err
	}
	return i.printDone(p, r)
}

// rewriteFiles returns the changes of the client's files.
func (i *clientImport) rewriteFiles(p *serverPlan, d *Draft) (changes []onestep.Change, err error) {
	entry, err := i.env.clientEntry(&i.client, p.role, d.Paths)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(entry)
	if err != nil {
		return nil, err
	}
	for _, f := range p.files {
		now, err := f.Rewrite(value, p.takesServer)
		if err != nil {
			return nil, fmt.Errorf("%w; nothing was changed. Once that is put right run the command again", err)
		}
		if !bytes.Equal(now, f.Text) {
			changes = append(changes, onestep.Change{Path: f.Path, Old: f.Text, New: now})
		}
	}
	return changes, nil
}

// commitStep writes all files or none. It keeps copies of those that a person wrote.
func (i *clientImport) commitStep(ctx context.Context, p *serverPlan, d *Draft, files []onestep.Change, r *planReport) (err error) {
	now := time.Now()
	all := append(d.listChanges(), files...)
	copied := map[string]string{}
	for _, c := range all {
		if c.Old == nil || filepath.Base(c.Path) == i.env.LockName {
			continue
		}
		if copied[c.Path], err = copies.FolderOf(i.env.Home).Keep(c.Path, c.Old, now); err != nil {
			return errors.Join(err, removeAll(copied))
		}
	}
	var pinned []string
	for _, s := range p.readyServers() {
		if i.tried {
			pinned = append(pinned, s.name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := i.env.Commit(ctx, d, pinned, all); errors.Is(err, onestep.ErrUnfinished) {
		return err // the copies tell the next command that this step may change the files
	} else if err != nil {
		return errors.Join(err, removeAll(copied))
	}
	for _, c := range all {
		r.Wrote = append(r.Wrote, c.Path)
		if copied[c.Path] != "" {
			r.Copies = append(r.Copies, copied[c.Path])
		}
	}
	r.copied = copied
	if d.isNew() {
		// It is for editors, who can do without it: the import has happened.
		_, _ = project.WriteSchema(filepath.Dir(d.Paths[0]))
	}
	return nil
}

// removeAll removes the copies of files that were not changed: they may hold secrets.
func removeAll(copied map[string]string) (err error) {
	for _, path := range copied {
		if path != "" {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// checkPersonality refuses a personality that would change the default: the personality
// of a caller that names none.
func (i *clientImport) checkPersonality(p *serverPlan, path string) error {
	names := i.config.Names()
	switch _, there := i.config.Personalities[p.role]; {
	case i.config.Implicit:
		return fmt.Errorf("%s has no personalities, and %s would become the one of callers that name none: add one that is named default first", path, p.role)
	case there || len(names) > 1 || names[0] == config.DefaultPersonality:
		return nil
	default:
		return fmt.Errorf("%s has one personality, %s, which callers get that name none; beside %s they would get none: name it default, or give the servers to it with --personality %s",
			path, names[0], p.role, names[0])
	}
}

// refuseBlocked returns the error that names the blocked servers.
func (i *clientImport) refuseBlocked(p *serverPlan) error {
	message := "nothing was written: not every server can be carried over"
	for _, s := range p.servers {
		if s.state == stateBlocked {
			message += "\n  " + text.OneLine(s.describeState())
		}
	}
	return errors.New(message + "\nmake the changes that are named, or leave a server outside of the gate with --leave SERVER")
}

// printDone reports what was done and what the user still has to do.
func (i *clientImport) printDone(p *serverPlan, r *planReport) error {
	if i.env.JSON {
		return i.env.printJSON(r)
	}
	i.env.printLine("%s", p.summarizeStates())
	for _, path := range r.Wrote {
		if copied := r.copied[path]; copied != "" {
			path += " (copy: " + copied + ")"
		}
		i.env.printLine("wrote %s", path)
	}
	for _, s := range p.servers {
		if s.state != stateReady {
			i.env.printLine("%s, %s: %s", text.PrintableLine(s.from.Name), s.state, text.OneLine(strings.Join(s.why, "; ")))
			continue
		}
		for _, n := range s.notes {
			i.env.printLine("%s: %s", s.name, n)
		}
		for _, w := range s.secrets {
			i.env.printLine("%s: %s", s.name, w.locate(", which the copy of the client's file has,"))
		}
	}
	for _, remark := range p.remarks {
		i.env.printLine("%s", remark)
	}
	if i.tried {
		i.env.printLine("next: start %s again", i.client.Title)
	} else {
		i.env.printLine("next: %s lock, which installs and pins the servers, then start %s again", i.env.programName(), i.client.Title)
	}
	i.env.printLine("undo: %s import --rollback %s", i.env.programName(), text.ShellWord(i.o.Name))
	return nil
}
