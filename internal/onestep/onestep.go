// Package onestep replaces several files so that either all of them have their new
// text or none has.
//
// [Replace] writes the new texts beside the files, notes in a folder what it is about
// to do, and renames. When the process dies before the note, nothing has changed.
// When it dies after the note, [Finish] completes the step, or undoes it when another
// program has changed one of the files since. Every command calls Finish before it
// reads the files.
package onestep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport/internal/fsx"
)

// noteName is the name of the note in the folder.
const noteName = "step.json"

// Change is the new text of a file.
type Change struct {
	// Path is the absolute path of the file. A link stays a link.
	Path string
	// Old is the text that the file has; New is the text that it gets.
	Old, New []byte
}

// ErrChanged is the error for a file that no longer has the text that a change
// starts from.
var ErrChanged = errors.New("was changed at the same time")

// Replace gives every file its new text. The folder has to be out of the reach of
// tools; it holds the note. Two steps with the same folder never run at the same
// time. The error matches [ErrChanged] when a file is not as it was read.
func Replace(folder string, changes []Change) error {
	s := newStep(folder)
	files := make([]string, len(changes))
	for i := range changes {
		files[i] = changes[i].Path
	}
	s.setFiles(files)
	return s.replace(changes)
}

// Finish completes the step that a process left half done, or undoes it. It returns
// what it did, for the user; an empty text when there was nothing to do. A note about
// any other file than the given ones is an error, and nothing is done.
func Finish(folder string, files ...string) (done string, err error) {
	if _, err := os.Lstat(filepath.Join(folder, noteName)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	s := newStep(folder)
	s.setFiles(files)
	err = fsx.Exclusive(folder, func() error {
		done, err = s.finish()
		return err
	})
	return done, err
}

// note is what a step is about to do.
type note struct {
	Files []noteFile `json:"files"`
}

// noteFile is one file of a step.
type noteFile struct {
	// Path is the file, Aside the file beside it that holds the new text.
	Path  string `json:"path"`
	Aside string `json:"aside"`
	// Old is the text that the file had.
	Old []byte `json:"old"`
	// NewSHA256 is the digest of the new text.
	NewSHA256 string `json:"new_sha256"`
}

// step is one replacement.
type step struct {
	folder, note string
	disk         disk
	files        []string // which a note may be about
}

// setFiles sets the files that a note may be about. Links are followed.
func (s *step) setFiles(files []string) {
	s.files = nil
	for _, path := range files {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			s.files = append(s.files, real)
		}
	}
}

func newStep(folder string) *step {
	return &step{folder: folder, note: filepath.Join(folder, noteName), disk: systemDisk}
}

func (s *step) replace(changes []Change) error {
	return fsx.Exclusive(s.folder, func() error {
		if _, err := s.finish(); err != nil {
			return err
		}
		n, err := s.prepare(changes)
		if err == nil {
			err = s.writeNote(n)
		}
		if err != nil {
			for _, f := range n.Files {
				err = errors.Join(err, s.disk.remove(f.Aside))
			}
			return err
		}
		return s.carryOut(n)
	})
}

// prepare writes the new texts beside the files.
func (s *step) prepare(changes []Change) (*note, error) {
	n := &note{}
	for _, c := range changes {
		path, err := filepath.EvalSymlinks(c.Path)
		if err != nil {
			return n, err
		}
		found, err := os.ReadFile(path)
		if err != nil {
			return n, err
		}
		if !bytes.Equal(found, c.Old) {
			return n, fmt.Errorf("%s %w", path, ErrChanged)
		}
		aside, err := s.disk.writeAside(path, c.New)
		if err != nil {
			return n, err
		}
		n.Files = append(n.Files, noteFile{path, aside, c.Old, digestOf(c.New)})
	}
	return n, nil
}

// writeNote writes the note, which commits the step.
func (s *step) writeNote(n *note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	aside, err := s.disk.writeAside(s.note, text)
	if err != nil {
		return err
	}
	if err := s.disk.rename(aside, s.note); err != nil {
		return errors.Join(err, s.disk.remove(aside))
	}
	return nil
}

// carryOut renames the files that were prepared. After an error the note stays, and
// the next command goes on.
func (s *step) carryOut(n *note) error {
	for _, f := range n.Files {
		if digestOfFile(f.Path) == f.NewSHA256 {
			continue
		}
		if err := s.disk.rename(f.Aside, f.Path); err != nil {
			return fmt.Errorf("%w; the next command goes on with what is left of this step", err)
		}
	}
	return s.disk.remove(s.note)
}

// finish completes or undoes what a note says.
func (s *step) finish() (done string, err error) {
	text, err := os.ReadFile(s.note)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	n := &note{}
	if err == nil {
		err = json.Unmarshal(text, n)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.note, err)
	}
	for _, f := range n.Files {
		if !slices.Contains(s.files, f.Path) || filepath.Dir(f.Aside) != filepath.Dir(f.Path) {
			return "", fmt.Errorf("%s is about %s, which is no file of this step", s.note, f.Path)
		}
	}
	for _, f := range n.Files {
		if now := digestOfFile(f.Path); now != f.NewSHA256 && (now != digestOf(f.Old) || digestOfFile(f.Aside) != f.NewSHA256) {
			return s.undo(n, f.Path)
		}
	}
	if err := s.carryOut(n); err != nil {
		return "", err
	}
	return "completed a change that was interrupted", nil
}

// undo gives the files their old texts again, but for one that another program has
// changed.
func (s *step) undo(n *note, changed string) (done string, err error) {
	for _, f := range n.Files {
		if digestOfFile(f.Path) == f.NewSHA256 {
			aside, err := s.disk.writeAside(f.Path, f.Old)
			if err == nil {
				err = s.disk.rename(aside, f.Path)
			}
			if err != nil {
				return "", err
			}
		}
		if digestOfFile(f.Aside) == f.NewSHA256 {
			if err := s.disk.remove(f.Aside); err != nil {
				return "", err
			}
		}
	}
	if err := s.disk.remove(s.note); err != nil {
		return "", err
	}
	return "undid a change that was interrupted, since " + changed + " was changed after it", nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// digestOfFile returns the digest of a file; empty for one that cannot be read.
func digestOfFile(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return digestOf(text)
}
