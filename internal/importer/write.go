package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamledit"
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
		return nil
	case len(paths) == 0:
		return fmt.Errorf("no %s in %s: run 'sallyport init' first", config.FileName, i.env.Dir)
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
	now, r := time.Now(), i.newReport(p)
	if err := i.writeConfig(ctx, p, paths, now, r); err != nil {
		return err
	}
	for _, f := range p.files {
		text, err := f.Rewrite(value, p.takesServer)
		if err == nil && !bytes.Equal(text, f.Text) {
			var copied string
			if copied, err = copies.FolderOf(i.env.Home).ChangeFile(f.Path, f.Text, text, now); err == nil {
				r.Wrote, r.Copies = append(r.Wrote, f.Path), append(r.Copies, copied)
			}
		}
		if err != nil {
			return fmt.Errorf("%w; written before: %s. Run the command again, or put the copies back: %s",
				err, joinOrNothing(r.Wrote), joinOrNothing(r.Copies))
		}
	}
	return i.printDone(p, r)
}

func joinOrNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// checkPersonality refuses a personality that would change the default: the personality
// of a caller that names none.
func (i *clientImport) checkPersonality(p *serverPlan, path string) error {
	names := i.config.Names()
	switch _, there := i.config.Personalities[p.role]; {
	case i.config.Implicit:
		return fmt.Errorf("%s has no personalities, and %s would take the place of what is seen where nobody chooses: add one that is named default first", path, p.role)
	case there || len(names) > 1 || names[0] == config.DefaultPersonality:
		return nil
	default:
		return fmt.Errorf("%s has one personality, %s, which is taken where nobody chooses; beside %s none would be: name it default, or give the servers to it with --personality %s",
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
	return errors.New(message + "\nchange what is named, or leave a server with the client, beside the gate: --leave SERVER")
}

// writeConfig adds the servers to the first file of the configuration.
func (i *clientImport) writeConfig(ctx context.Context, p *serverPlan, paths []string, now time.Time, r *planReport) error {
	path := paths[0]
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content, err := i.extendText(p, string(old))
	if errors.Is(err, yamledit.ErrStyle) {
		return fmt.Errorf("%s: %w, so that nothing can be added to it: write it as a key with one line for each below it, or write what 'sallyport import %s' prints into a file for a further --config", path, err, text.ShellWord(i.o.Name))
	}
	if err != nil || content == string(old) {
		return err
	}
	if err := i.verifyText(ctx, p, path, paths, content); err != nil {
		return err
	}
	copied, err := copies.FolderOf(i.env.Home).ChangeFile(path, old, []byte(content), now)
	if err == nil {
		r.Wrote, r.Copies = append(r.Wrote, path), append(r.Copies, copied)
	}
	return err
}

// extendText returns the text of the configuration with the servers and the
// personality added.
func (i *clientImport) extendText(p *serverPlan, content string) (string, error) {
	var err error
	add := func(path []string, lines []string) {
		if err == nil && len(lines) > 0 {
			content, err = yamledit.Insert(content, path, lines)
		}
	}
	for _, s := range p.readyServers() {
		lines, lineErr := s.renderServer()
		if lineErr != nil {
			return "", lineErr
		}
		add([]string{"mcp_servers"}, append([]string{"# Imported from " + text.PrintableLine(s.from.At)}, lines...))
	}
	old, there := i.config.Personalities[p.role]
	if !there {
		add([]string{"personalities"}, p.renderPersonality())
		return content, err
	}
	role := []string{"personalities", p.role}
	add(append(role, "mcp_servers"), renderItems("", withoutItems(p.grantedServers(), old.MCPServers)))
	var reads, writes []string
	if old.FSReach != nil {
		reads, writes = old.FSReach.Read, old.FSReach.Write
	}
	add(append(role, "fs_reach", "read"), renderItems("", withoutItems(p.readPaths(), reads)))
	add(append(role, "fs_reach", "write"), renderItems("", withoutItems(p.writePaths(), writes)))
	return content, err
}

// withoutItems returns the items of a list that another list does not hold.
func withoutItems(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// verifyText parses the new text as the new configuration. It refuses a text that
// means anything other than the plan.
func (i *clientImport) verifyText(ctx context.Context, p *serverPlan, path string, paths []string, content string) (err error) {
	draft, err := os.CreateTemp(filepath.Dir(path), ".sallyport-import-*"+filepath.Ext(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(draft.Name())) }()
	_, err = draft.WriteString(content)
	if err := errors.Join(err, draft.Close()); err != nil {
		return err
	}
	drafted := append([]string{draft.Name()}, paths[1:]...)
	c, err := i.env.ReadConfig(drafted)
	if err == nil {
		err = i.compareConfig(p, c)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be extended: %s\nwrite what 'sallyport import %s' prints into a file for a further --config",
			path, strings.ReplaceAll(err.Error(), draft.Name(), path), text.ShellWord(i.o.Name))
	}
	misfits, err := i.env.FindMisfits(ctx, drafted, p.role)
	if err != nil {
		return fmt.Errorf("the result would not load: %s", strings.ReplaceAll(err.Error(), draft.Name(), path))
	}
	for _, m := range misfits {
		fmt.Fprintf(i.env.Err, "sallyport: warning: misfit %s\n", strings.ReplaceAll(fmt.Sprint(m), draft.Name(), path))
	}
	return nil
}

// compareConfig checks that a configuration differs from the old one only by the
// servers and the personality of the plan.
func (i *clientImport) compareConfig(p *serverPlan, c *config.Config) error {
	servers := map[string]string{}
	for k := range c.Servers {
		servers[c.Servers[k].ID] = string(c.Servers[k].JSON)
	}
	for k := range i.config.Servers {
		if old := &i.config.Servers[k]; servers[old.ID] != string(old.JSON) {
			return fmt.Errorf("it would change the server %s", old.ID)
		}
		delete(servers, i.config.Servers[k].ID)
	}
	for _, s := range p.readyServers() {
		if _, ok := servers[s.name]; !ok {
			return fmt.Errorf("it would not declare the server %s", s.name)
		}
		delete(servers, s.name)
	}
	if len(servers) > 0 {
		return errors.New("it would declare another server")
	}
	if err := i.compareRoles(p, c); err != nil {
		return err
	}
	a, b := reflect.ValueOf(i.config).Elem(), reflect.ValueOf(c).Elem()
	for k := range a.NumField() {
		field := a.Type().Field(k)
		if !field.IsExported() || slices.Contains([]string{"Files", "Servers", "Personalities", "Digest", "Actions"}, field.Name) {
			continue
		}
		if !reflect.DeepEqual(a.Field(k).Interface(), b.Field(k).Interface()) {
			return fmt.Errorf("it would change %s", strings.ToLower(field.Name))
		}
	}
	same := func(a, b config.Part) bool { return a.ID == b.ID && bytes.Equal(a.JSON, b.JSON) }
	if !slices.EqualFunc(i.config.Actions, c.Actions, same) {
		return errors.New("it would change an action")
	}
	return nil
}

// compareRoles is compare for the personalities.
func (i *clientImport) compareRoles(p *serverPlan, c *config.Config) error {
	want := map[string]bool{p.role: true}
	for name, old := range i.config.Personalities {
		want[name] = true
		role, ok := c.Personalities[name]
		if !ok {
			return fmt.Errorf("it would remove the personality %s", name)
		}
		if name == p.role {
			now, was := *role, *old
			now.MCPServers, was.MCPServers, now.FSReach, was.FSReach = nil, nil, nil, nil
			role, old = &now, &was
		}
		if !sameRole(role, old) {
			return fmt.Errorf("it would change the personality %s", name)
		}
	}
	for name := range c.Personalities {
		if !want[name] {
			return fmt.Errorf("it would make the personality %s", name)
		}
	}
	role := c.Personalities[p.role]
	if role == nil || len(withoutItems(p.grantedServers(), role.MCPServers)) > 0 {
		return fmt.Errorf("it would not give the servers to the personality %s", p.role)
	}
	return nil
}

// sameRole compares two personalities and ignores where they are defined.
func sameRole(a, b *sallyport.Personality) bool {
	x, y := *a, *b
	x.Sources, y.Sources = nil, nil
	return reflect.DeepEqual(x, y)
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
	i.env.printLine("next: sallyport lock, which installs and pins the servers, then start %s again", i.client.Title)
	i.env.printLine("undo: sallyport import --rollback %s", text.ShellWord(i.o.Name))
	return nil
}
