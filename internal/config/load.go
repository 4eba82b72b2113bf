package config

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// maxFiles bounds the files of one configuration.
	maxFiles = 64
	// maxFileBytes bounds one file. A hand-written policy is a few
	// kilobytes; a mebibyte leaves room for thousands of actions.
	maxFileBytes = 1 << 20
	// maxYAMLKeys bounds the keys of one file: the parser takes quadratic
	// time in the keys of a mapping (0.7 s for 20,000).
	maxYAMLKeys = 20_000
)

// Options say what a configuration may know of its surroundings. nil means
// the zero Options.
type Options struct {
	// Environ returns the value of an environment variable, empty when it is
	// not set. It is asked for HOME (on Windows USERPROFILE) and nothing
	// else, and only when Home is empty. nil means an empty environment.
	Environ func(string) string
	// Home is the folder that ${home} stands for. Empty asks Environ; when
	// that is empty too, ${home} is a fault.
	Home string
	// Dir is the absolute folder at which relative file names are anchored.
	// Empty refuses relative file names.
	Dir string
	// Texts holds texts that are read in place of files, by absolute name: what a
	// command is about to write.
	Texts map[string][]byte
}

// Load reads the files of a configuration, later ones adding keys to earlier
// ones. The error is [yamldoc.Faults] and lists what is wrong in all of them; a file
// that is not there matches fs.ErrNotExist. No file, or more than 64, is an
// error of another type.
func Load(paths []string, o *Options) (*Config, error) {
	l := newLoader(allKeys(), o)
	if len(paths) == 0 || len(paths) > maxFiles {
		return nil, fmt.Errorf("config: %d files: expected 1 to %d", len(paths), maxFiles)
	}
	for _, path := range paths {
		f, ok := l.openFile(path)
		if !ok {
			continue
		}
		data, err := l.readFile(f.abs)
		if err != nil {
			l.faults.Add(f.Source, yamldoc.Fault{File: f.Name, Message: "cannot be read: " + fsx.Reason(err), Err: err})
			continue
		}
		l.cfg.Files = append(l.cfg.Files, f.abs)
		l.parseFile(f, data)
	}
	return l.buildConfig()
}

// Parse reads one configuration from memory as if it were the file of that
// name. Config.Files stays empty. The error is [yamldoc.Faults].
func Parse(name string, data []byte, o *Options) (*Config, error) {
	return parseWith(allKeys(), name, data, o)
}

func parseWith(rows []row, name string, data []byte, o *Options) (*Config, error) {
	l := newLoader(rows, o)
	if f, ok := l.openFile(name); ok {
		l.parseFile(f, data)
	}
	return l.buildConfig()
}

// openFile adds a file and checks that it is not given twice.
func (l *loader) openFile(name string) (*file, bool) {
	f := &file{
		Source: &yamldoc.Source{Name: name, Rank: len(l.files)}, abs: filepath.Clean(fsx.Absolute(l.opts.Dir, name)),
	}
	f.dir = filepath.Dir(f.abs)
	if slices.ContainsFunc(l.files, func(other *file) bool { return other.abs == f.abs }) {
		l.faults.Add(f.Source, yamldoc.Fault{File: name, Message: "the same file is given twice"})
		return nil, false
	}
	l.files = append(l.files, f)
	if !filepath.IsAbs(f.abs) {
		l.faults.Add(f.Source, yamldoc.Fault{File: name, Message: "a relative file name needs a folder to start from"})
		return nil, false
	}
	return f, true
}

// readFile reads a file, or the text in its place.
func (l *loader) readFile(path string) ([]byte, error) {
	if text, ok := l.opts.Texts[path]; ok {
		return text, nil
	}
	return readFile(path)
}

// readFile reads a regular file up to one byte more than a configuration may
// have. A FIFO or device is refused, never waited on.
func readFile(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxFileBytes+1))
}

// parseFile reads the text of a file into its tree.
func (l *loader) parseFile(f *file, data []byte) {
	f.digest = sha256.Sum256(data)
	faults := f.Parse(data, yamldoc.Bounds{Bytes: maxFileBytes, YAMLBytes: maxFileBytes, YAMLKeys: maxYAMLKeys})
	for _, tf := range faults {
		l.addFault(f, tf.At, "", "%s", tf.Message)
	}
	if f.Root == nil && len(faults) == 0 {
		l.addFault(f, yamldoc.Position{Line: 1, Column: 1}, "", "the file is empty: expected version: 2")
	}
	if f.Root != nil && f.Root.Kind != yamldoc.KindMapping && f.Root.Kind != yamldoc.KindOpaque {
		l.addFault(f, f.Root.At, "", "expected a mapping of keys, found %s", f.Root.Kind)
		f.Root = nil
	}
}

// buildConfig checks all trees and returns the configuration or the faults.
func (l *loader) buildConfig() (*Config, error) {
	seen := make([]map[string]yamldoc.Position, len(l.files))
	for i, f := range l.files {
		if f.Root == nil {
			continue
		}
		seen[i] = map[string]yamldoc.Position{}
		l.checkTop(f, seen[i])
	}
	// The rows are read in the order of the table, each in all files, since
	// paths of one file may use the workspace that another one sets.
	for i := range l.table.rows {
		if r := &l.table.rows[i]; !strings.Contains(r.Key, ".") {
			l.readTop(r, seen)
		}
		if l.table.rows[i].Key == "workspace" {
			l.defaultWorkspace()
		}
	}
	l.reportDangling()
	if err := l.faults.Join(); err != nil {
		return nil, err
	}
	l.checkApprovers()
	l.setDefaults()
	l.checkToolchains()
	l.ownState()
	l.ownPage()
	l.ownSkills()
	if err := l.faults.Join(); err != nil {
		return nil, err
	}
	return l.cfg, nil
}

// checkTop reports unknown, duplicate and missing keys of the top level and
// remembers where each known key stands first.
func (l *loader) checkTop(f *file, seen map[string]yamldoc.Position) {
	s := scope{loader: l, file: f}
	for _, fd := range f.Root.Fields {
		if s.reportDuplicate(seen, fd, fd.Name) || fd.Value.Kind == yamldoc.KindOpaque {
			continue
		}
		if l.table.childRow("", fd.Name) == nil {
			s.reportUnknown("", "", fd)
		}
	}
	for _, name := range l.table.below[""] {
		r := l.table.byKey[name]
		if _, has := seen[name]; r.Required && !has && f.Root.Kind == yamldoc.KindMapping && !f.onlyLayers() {
			l.addFault(f, yamldoc.Position{Line: 1, Column: 1}, r.Key, "missing key %s: expected %s: %s", r.Key, r.Key, r.Example)
		}
	}
}

// readTop reads one key of the top level in all files.
func (l *loader) readTop(r *row, seen []map[string]yamldoc.Position) {
	for i, f := range l.files {
		if f.Root == nil {
			continue
		}
		for _, fd := range f.Root.Fields {
			if fd.Name != r.Key || seen[i][fd.Name] != fd.At {
				continue
			}
			first, dup := l.places[r.Key]
			if dup && r.Supported && !r.Required && r.Type != TypeNames && !r.adds {
				l.keyFault(f, fd.At, r.Key, "%s is already defined at %s: later files add keys and never override", r.Key, first)
				continue
			}
			scope{loader: l, file: f}.readValue(r, r.Key, fd.At, fd.Value)
		}
	}
}

func (l *loader) defaultWorkspace() {
	if l.cfg.Workspace != "" || len(l.files) == 0 {
		return
	}
	if _, given := l.places["workspace"]; given {
		l.badWorkspace = true
		return
	}
	l.cfg.Workspace = l.files[0].dir
}

// setDefaults fills in what no file says.
func (l *loader) setDefaults() {
	c := l.cfg
	c.Dir, c.first, c.places, c.home = l.files[0].dir, l.files[0], l.places, l.opts.Home
	if c.Version = 1; c.first.version == "2" {
		c.Version = 2
	}
	if c.State.Kind == "" {
		c.State = State{Kind: StateSQLite, Path: filepath.Join(c.Dir, ".sallyport", "state.db")}
	}
	c.Sandbox.Level = cmp.Or(c.Sandbox.Level, sallyport.LevelFull)
	if _, given := l.places["personalities"]; !given {
		c.Implicit = true
		c.Personalities[DefaultPersonality] = &sallyport.Personality{Name: DefaultPersonality}
	}
	c.setDefaultRoles()
	slices.SortStableFunc(c.Actions, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.file.Rank, b.file.Rank), cmp.Compare(a.node.At.Line, b.node.At.Line), cmp.Compare(a.node.At.Column, b.node.At.Column))
	})
	slices.SortFunc(c.Servers, func(a, b Part) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(c.Plugins, func(a, b Part) int { return strings.Compare(a.ID, b.ID) })
	sums := make([][sha256.Size]byte, len(l.files))
	for i, f := range l.files {
		sums[i] = f.digest
	}
	c.Digest = combineDigests(sums)
}
