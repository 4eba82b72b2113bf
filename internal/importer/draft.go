package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/project"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamledit"
)

// Draft is a configuration that is not written yet.
type Draft struct {
	// Paths are the absolute paths of the configuration files.
	Paths []string
	// Texts holds the text of each file that is to be written, and of the lock file
	// when there is one, by absolute path. A trial changes the lock file here.
	Texts map[string][]byte

	// old holds the texts of the files as they are; nil for a new one.
	old map[string][]byte
	// order lists the files in the order in which they are written.
	order []string
}

// newDraft returns the configuration with the servers of a plan, and the lock file of
// an earlier draft when one is given. Where there is no configuration, the draft is
// the file that `init` writes, with the line for git.
func (i *clientImport) newDraft(p *serverPlan, earlier *Draft) (d *Draft, err error) {
	d = &Draft{Paths: i.env.ConfigFiles, Texts: map[string][]byte{}, old: map[string][]byte{}}
	var base []byte
	if len(d.Paths) > 0 {
		if base, err = os.ReadFile(d.Paths[0]); err != nil {
			return nil, err
		}
		d.old[d.Paths[0]] = base
	} else if base, err = d.startConfig(i.env.Dir); err != nil {
		return nil, err
	}
	path, lock := d.Paths[0], filepath.Join(filepath.Dir(d.Paths[0]), i.env.LockName)
	d.order = append([]string{lock}, append(d.order, path)...)
	if d.old[lock], err = os.ReadFile(lock); err == nil {
		if fsx.Exists(lock) {
			d.Texts[lock] = d.old[lock]
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if earlier != nil {
		d.old[lock] = earlier.old[lock]
		if text, ok := earlier.Texts[lock]; ok {
			d.Texts[lock] = text
		}
	}
	content, err := i.extendText(p, string(base))
	if errors.Is(err, yamledit.ErrStyle) {
		err = fmt.Errorf("%s: %w, so that nothing can be added to it: write it as a key with one line for each below it, or write what 'sallyport import %s' prints into a file for a further --config", path, err, text.ShellWord(i.o.Name))
	}
	d.Texts[path] = []byte(content)
	return d, err
}

// startConfig begins a draft in a folder without a configuration. It returns the text of
// the file that `init` writes.
func (d *Draft) startConfig(dir string) ([]byte, error) {
	d.Paths = []string{filepath.Join(dir, config.FileName)}
	path, old, text, err := project.Ignore(dir)
	if err != nil {
		return nil, err
	}
	if text != nil {
		d.Texts[path], d.old[path], d.order = text, old, []string{path}
	}
	return config.Preset(config.DefaultPreset)
}

// isNew reports whether the draft is the first configuration of its folder.
func (d *Draft) isNew() bool { return d.old[d.Paths[0]] == nil }

// listChanges returns what the draft changes on disk.
func (d *Draft) listChanges() (list []onestep.Change) {
	for _, path := range d.order {
		if now, old := d.Texts[path], d.old[path]; now != nil && (old == nil || string(now) != string(old)) {
			list = append(list, onestep.Change{Path: path, Old: old, New: now})
		}
	}
	return list
}

// verifyDraft loads a draft. It refuses one that means anything other than the plan.
func (i *clientImport) verifyDraft(p *serverPlan, d *Draft) error {
	c, err := i.env.ReadConfig(d)
	if err == nil {
		err = i.compareConfig(p, c)
	}
	if err != nil && i.isOutdated(d) {
		return fmt.Errorf("%s %w: run it again", d.Paths[0], onestep.ErrChanged)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be extended: %w\nwrite what 'sallyport import %s' prints into a file for a further --config",
			d.Paths[0], err, text.ShellWord(i.o.Name))
	}
	return nil
}

// isOutdated reports whether the configuration in force is not the one that a draft
// extends: another program has changed it since it was read.
func (i *clientImport) isOutdated(d *Draft) bool {
	is, err := i.env.ReadConfig(&Draft{Paths: d.Paths, Texts: d.old})
	return err == nil && !d.isNew() && is.Digest != i.config.Digest
}

// warnOfMisfits says what the servers of a draft declare beyond the grant of their
// personality.
func (i *clientImport) warnOfMisfits(ctx context.Context, p *serverPlan, d *Draft) error {
	misfits, err := i.env.FindMisfits(ctx, d, p.role)
	if err != nil {
		return fmt.Errorf("the result would not load: %w", err)
	}
	for _, m := range misfits {
		fmt.Fprintf(i.env.Err, "sallyport: warning: misfit %s\n", m)
	}
	return nil
}
