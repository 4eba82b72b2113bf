// Package pending keeps what children changed of a project's configuration that
// runs commands until a person has seen it.
//
// Start with [Store]. A child in overlay mode leaves a [Batch]; a person lists
// the batches, looks at the difference, and applies or drops one. Nothing here
// asks who calls: the folder of the store is on the always-deny floor, so no
// tool and no child reaches it.
package pending

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/fsx"
)

// Bounds of what waits: configuration is small, and what is not reviewed must
// not fill the disk.
const (
	MaxBatches = 100
	MaxFiles   = 200
	MaxBytes   = 1 << 20
)

// ErrChanged means that a file is not any more what it was when the child
// began, so that the change that was shown is another one.
var ErrChanged = errors.New("the file was changed since")

// ErrNone means that no change waits under an id.
var ErrNone = errors.New("no change waits")

// Store is a folder of batches. The zero value holds nothing and takes none.
type Store struct {
	// Dir is the folder; it is made when the first batch comes.
	Dir string
}

// Batch is what one child changed.
type Batch struct {
	// ID names the batch.
	ID string `json:"id"`
	// Time is when the child began.
	Time time.Time `json:"time"`
	// Binary is what was started.
	Binary string `json:"binary"`
	// Files are the changes, sorted by path.
	Files []File `json:"files"`
}

// File is one change.
type File struct {
	// Path is absolute and free of symbolic links.
	Path string `json:"path"`
	// Mode is the permission bits of the new file.
	Mode fs.FileMode `json:"mode"`
	// Content is the new content.
	Content []byte `json:"content,omitempty"`
	// Removed means that there is no file any more.
	Removed bool `json:"removed,omitempty"`
	// Was is the digest of what was there, empty for nothing.
	Was string `json:"was,omitempty"`
}

// Digest names what a batch changes, so that a decision is about what was shown.
func (b *Batch) Digest() string {
	text, _ := json.Marshal(b.Files) // A slice of plain values always encodes.
	return digest.Text(text)[:32]
}

// NamePaths names the files of a change on one short line.
func (b *Batch) NamePaths() string {
	const most = 3
	text := ""
	for i, file := range b.Files[:min(len(b.Files), most)] {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q", file.Path)
	}
	if n := len(b.Files) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// Add keeps a batch and returns its id.
func (s Store) Add(b Batch) (string, error) {
	if s.Dir == "" {
		return "", errors.New("there is no place for changes that wait")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", err
	}
	if names, err := s.listIDs(); err != nil {
		return "", err
	} else if len(names) >= MaxBatches {
		return "", fmt.Errorf("%d changes wait already", len(names))
	}
	var r [4]byte
	rand.Read(r[:]) // Never fails; see crypto/rand.
	b.ID = hex.EncodeToString(r[:])
	text, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	return b.ID, fsx.ReplaceFileMode(filepath.Join(s.Dir, b.ID+".json"), text, 0o600)
}

func (s Store) listIDs() ([]string, error) {
	if s.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(id, ".") {
			out = append(out, id)
		}
	}
	return out, err
}

// List returns what waits, the oldest first.
func (s Store) List() ([]Batch, error) {
	names, err := s.listIDs()
	if err != nil {
		return nil, err
	}
	out := []Batch{}
	for _, id := range names {
		b, err := s.Get(id)
		if errors.Is(err, ErrNone) {
			continue // applied or dropped since
		}
		if err != nil {
			return nil, err
		}
		out = append(out, *b)
	}
	slices.SortFunc(out, func(a, b Batch) int { return a.Time.Compare(b.Time) })
	return out, nil
}

// Get returns one batch.
func (s Store) Get(id string) (*Batch, error) {
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != 4 || s.Dir == "" {
		return nil, fmt.Errorf("%w as %q", ErrNone, id)
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w as %q", ErrNone, id)
	}
	if err != nil {
		return nil, err
	}
	var b Batch
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("change %s: %w", id, err)
	}
	return &b, nil
}

// Drop forgets a batch.
func (s Store) Drop(id string) error {
	if _, err := s.Get(id); err != nil {
		return err
	}
	return os.Remove(filepath.Join(s.Dir, id+".json"))
}

// Current returns what is at the path of a change now, nil for nothing.
func (f *File) Current() ([]byte, error) {
	dir, err := f.openParent(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return readRegular(dir, filepath.Base(f.Path))
}

// openParent opens the folder of a file, which must not be behind a symbolic
// link.
func (f *File) openParent(create bool) (*os.Root, error) {
	root, err := os.OpenRoot("/")
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // It was only an anchor.
	for _, elem := range strings.Split(strings.Trim(filepath.Dir(f.Path), "/"), "/") {
		if elem == "" {
			continue
		}
		if create {
			if err := root.Mkdir(elem, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
		}
		next, err := openFolder(root, elem)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		_ = root.Close() // It was only an anchor.
		root = next
	}
	return root.OpenRoot(".")
}

// openFolder opens a folder of another one, and nothing that a link in its
// place leads to.
func openFolder(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, ErrChanged
	}
	next, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = ErrChanged
	}
	if err != nil {
		_ = next.Close() // Nothing was written.
		return nil, err
	}
	return next, nil
}

// readRegular reads a regular file of a folder, nil when there is none.
func readRegular(dir *os.Root, base string) ([]byte, error) {
	info, err := dir.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", base, ErrChanged)
	}
	r, err := dir.Open(base)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", base, MaxBytes)
	}
	return append([]byte{}, data...), err
}

// Apply writes a batch, unless one of its files is not what it was, and forgets
// it.
func (s Store) Apply(b *Batch) error {
	for i := range b.Files {
		f := &b.Files[i]
		now, err := f.Current()
		if err != nil {
			return err
		}
		if (now == nil) != (f.Was == "") || now != nil && digest.Text(now) != f.Was {
			return fmt.Errorf("%s: %w", f.Path, ErrChanged)
		}
	}
	for i := range b.Files {
		if err := b.Files[i].writeFile(); err != nil {
			return err
		}
	}
	return s.Drop(b.ID)
}

// writeFile writes the file in place of the old one, or removes it.
func (f *File) writeFile() error {
	dir, err := f.openParent(!f.Removed)
	if err != nil {
		return err
	}
	defer dir.Close()
	base := filepath.Base(f.Path)
	if f.Removed {
		return dir.Remove(base)
	}
	tmp := ".sallyport-" + rand.Text() + ".tmp"
	w, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = w.Write(f.Content)
	err = errors.Join(err, w.Sync(), w.Close())
	if err == nil {
		err = dir.Rename(tmp, base)
	}
	if err != nil {
		_ = dir.Remove(tmp) // The error that counts is the other one.
	}
	return err
}

// Difference is what a batch changes, line by line: what is only in the old
// file after "-", what is only in the new one after "+". Permissions stand above
// it where they change.
func (b *Batch) Difference() (string, error) {
	var out strings.Builder
	for i := range b.Files {
		f := &b.Files[i]
		now, err := f.Current()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "--- %s\n+++ %s\n", quotedName(f.Path, now == nil), quotedName(f.Path, f.Removed))
		out.WriteString(f.permissionsLine())
		writeLines(&out, quoteLines(now), quoteLines(f.Content))
	}
	return out.String(), nil
}

// permissionsLine returns a line with the permissions of the new file, empty
// where nothing changes.
func (f *File) permissionsLine() string {
	was, err := os.Lstat(f.Path)
	switch {
	case f.Removed || err == nil && was.Mode().Perm() == f.Mode.Perm():
		return ""
	case err != nil:
		return fmt.Sprintf("mode %04o\n", f.Mode.Perm())
	default:
		return fmt.Sprintf("mode %04o, was %04o\n", f.Mode.Perm(), was.Mode().Perm())
	}
}

func quotedName(path string, none bool) string {
	if none {
		return "/dev/null"
	}
	return fmt.Sprintf("%q", path)
}

// quoteLines returns the lines of a text, with what a terminal would obey
// quoted.
func quoteLines(text []byte) (out []string) {
	for line := range bytes.Lines(text) {
		quoted := fmt.Sprintf("%q", strings.TrimSuffix(string(line), "\n"))
		out = append(out, strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
	}
	return out
}

// writeLines leaves out what both begin and end with.
func writeLines(out *strings.Builder, was, now []string) {
	begin := 0
	for begin < len(was) && begin < len(now) && was[begin] == now[begin] {
		begin++
	}
	end := 0
	for end < len(was)-begin && end < len(now)-begin && was[len(was)-1-end] == now[len(now)-1-end] {
		end++
	}
	fmt.Fprintf(out, "@@ line %d @@\n", begin+1)
	for _, l := range was[begin : len(was)-end] {
		fmt.Fprintf(out, "-%s\n", l)
	}
	for _, l := range now[begin : len(now)-end] {
		fmt.Fprintf(out, "+%s\n", l)
	}
}
