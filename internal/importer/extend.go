package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamledit"
)

// writeConfig adds the servers to the first file of the configuration.
func (i *clientImport) writeConfig(ctx context.Context, p *serverPlan, paths []string, now time.Time, r *planReport) error {
	path, old, content, err := i.extendFile(p, paths[0])
	if err != nil || content == old {
		return err
	}
	if err := i.verifyText(ctx, p, path, paths, content); err != nil {
		return err
	}
	copied, err := copies.FolderOf(i.env.Home).ChangeFile(path, []byte(old), []byte(content), now)
	if err == nil {
		r.Wrote, r.Copies = append(r.Wrote, path), append(r.Copies, copied)
	}
	return err
}

// extendFile reads a configuration file, links followed, and returns its text and
// that with the servers added.
func (i *clientImport) extendFile(p *serverPlan, path string) (real, old, content string, err error) {
	if real, err = filepath.EvalSymlinks(path); err != nil {
		real = path
	}
	read, err := os.ReadFile(real)
	if err != nil {
		return real, "", "", err
	}
	content, err = i.extendText(p, string(read))
	if errors.Is(err, yamledit.ErrStyle) {
		err = fmt.Errorf("%s: %w, so that nothing can be added to it: write it as a key with one line for each below it, or write what 'sallyport import %s' prints into a file for a further --config", real, err, text.ShellWord(i.o.Name))
	}
	return real, string(read), content, err
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
	add([]string{"packages"}, p.renderRegistries())
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

// verifyText parses the new text as the new configuration. It refuses a text that
// means anything other than the plan.
func (i *clientImport) verifyText(ctx context.Context, p *serverPlan, path string, paths []string, content string) (err error) {
	draft, err := writeDraft(path, content)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(draft)) }()
	drafted := append([]string{draft}, paths[1:]...)
	c, err := i.env.ReadConfig(drafted)
	if err == nil {
		err = i.compareConfig(p, c)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be extended: %s\nwrite what 'sallyport import %s' prints into a file for a further --config",
			path, strings.ReplaceAll(err.Error(), draft, path), text.ShellWord(i.o.Name))
	}
	misfits, err := i.env.FindMisfits(ctx, drafted, p.role)
	if err != nil {
		return fmt.Errorf("the result would not load: %s", strings.ReplaceAll(err.Error(), draft, path))
	}
	for _, m := range misfits {
		fmt.Fprintf(i.env.Err, "sallyport: warning: misfit %s\n", strings.ReplaceAll(fmt.Sprint(m), draft, path))
	}
	return nil
}

// writeDraft writes the new text of a configuration file beside it, where its
// relative paths mean the same. The caller removes it.
func writeDraft(path, content string) (string, error) {
	draft, err := os.CreateTemp(filepath.Dir(path), ".sallyport-import-*"+filepath.Ext(path))
	if err != nil {
		return "", err
	}
	_, err = draft.WriteString(content)
	if err := errors.Join(err, draft.Close()); err != nil {
		return "", errors.Join(err, os.Remove(draft.Name()))
	}
	return draft.Name(), nil
}
