package importer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/text"
)

// WriteServers adds the servers of a client to the configuration, and makes the
// client start this program in their place. It reports what it wrote.
func WriteServers(ctx context.Context, e *Environment, o *Options) error {
	i, p, err := planImport(ctx, e, o)
	if err != nil {
		return err
	}
	return i.writePlan(ctx, p)
}

// writePlan adds the servers to the configuration and rewrites the client's files.
// It writes the configuration first: after an interruption between the two, the
// client is unchanged and the user runs the command again.
func (i *clientImport) writePlan(ctx context.Context, p *serverPlan) error {
	paths := i.env.ConfigFiles
	switch {
	case p.countState(stateBlocked) > 0:
		return i.refuseBlocked(p)
	case len(p.grantedServers()) == 0:
		fmt.Fprintf(i.env.Err, "nothing to import: %s\n", p.summarizeStates())
		for _, s := range p.servers {
			fmt.Fprintf(i.env.Err, "%s\n", text.OneLine(s.describeState()))
		}
		return nil
	case len(paths) == 0:
		return errNoConfig(i.env)
	}
	if err := i.checkPersonality(p, paths[0]); err != nil {
		return err
	}
	entry, err := i.env.ClientEntry(&i.client, p.role)
	if err != nil {
		return err
	}
	value, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	// A file that cannot be edited is found before anything is written.
	texts := make([][]byte, len(p.files))
	for k, f := range p.files {
		if texts[k], err = f.Rewrite(value, p.takesServer); err != nil {
			return fmt.Errorf("%w; nothing was changed. Once that is put right run the command again", err)
		}
	}
	now, r := time.Now(), i.newReport(p)
	if err := i.makeStateFolders(p); err != nil {
		return err
	}
	if err := i.writeConfig(ctx, p, paths, now, r); err != nil {
		return err
	}
	for k, f := range p.files {
		if bytes.Equal(texts[k], f.Text) {
			continue
		}
		copied, err := copies.FolderOf(i.env.Home).ChangeFile(f.Path, f.Text, texts[k], now)
		if err != nil {
			return fmt.Errorf("%w; written before: %s. Run the command again, or put the copies back: %s",
				err, cmp.Or(strings.Join(r.Wrote, ", "), "nothing"), cmp.Or(strings.Join(r.Copies, ", "), "nothing"))
		}
		r.Wrote, r.Copies = append(r.Wrote, f.Path), append(r.Copies, copied)
	}
	return i.printDone(p, r)
}

func errNoConfig(e *Environment) error {
	return fmt.Errorf("no %s in %s: run 'sallyport init' first", config.FileName, e.Dir)
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
	for k, path := range r.Wrote {
		i.env.printLine("wrote %s (copy: %s)", path, r.Copies[k])
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
			i.env.printLine("%s: the value of %s, which the copy of the client's file has, goes into %s", s.name, w.Name, w.Put)
		}
	}
	for _, remark := range p.remarks {
		i.env.printLine("%s", remark)
	}
	if i.tried {
		i.env.printLine("next: start %s again", i.client.Title)
	} else {
		i.env.printLine("next: sallyport lock, which installs and pins the servers, then start %s again", i.client.Title)
	}
	i.env.printLine("undo: sallyport import --rollback %s", text.ShellWord(i.o.Name))
	return nil
}
