// Package onestep gives several files new texts so that either all of them have them
// or none has.
//
// [Replace] opens the files, notes in a folder what it is about to do, and writes the
// texts into the files that are there. It puts no new file in their place: a child
// that runs is kept from a file by a mount on it, which the kernel takes off when
// another file gets the name, and a text that waits beside the file would lie in
// a folder that the child may write. When the process dies before the note, nothing
// has changed. When it dies after the note, [Finish] completes the step, or undoes it
// when another program has changed one of the files since. Every command calls
// Finish before it reads the files.
package onestep

import (
	"bytes"
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
// what it did, for the user; an empty text when there was nothing to do. waited is true
// when a step was under way, so that the files may have changed. A note about any
// other file than the given ones is an error, and nothing is done.
func Finish(folder string, files ...string) (done string, waited bool, err error) {
	if _, err := os.Lstat(filepath.Join(folder, noteName)); errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	s := newStep(folder)
	s.setFiles(files)
	err = fsx.Exclusive(folder, func() error {
		done, err = s.finish()
		return err
	})
	return done, true, err
}

// note is what a step is about to do.
type note struct {
	Files []noteFile `json:"files"`
}

// noteFile is one file of a step.
type noteFile struct {
	Path string `json:"path"`
	// Old is the text that the file had, New the one that it gets.
	Old []byte `json:"old"`
	New []byte `json:"new"`
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
		if err != nil {
			return err
		}
		if err := s.writeNote(n); err != nil {
			return err
		}
		return s.carryOut(n)
	})
}

// prepare finds out whether the files are as they were read, and can be written.
func (s *step) prepare(changes []Change) (*note, error) {
	n := &note{}
	for _, c := range changes {
		path, err := filepath.EvalSymlinks(c.Path)
		if err != nil {
			return n, err
		}
		f, err := openFile(path)
		if err != nil {
			return n, err
		}
		found, err := readWhole(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return n, err
		}
		if !bytes.Equal(found, c.Old) {
			return n, fmt.Errorf("%s %w", path, ErrChanged)
		}
		n.Files = append(n.Files, noteFile{path, c.Old, c.New})
	}
	return n, nil
}

// writeNote writes the note, which commits the step.
func (s *step) writeNote(n *note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return s.disk.writeNote(s.note, text)
}

// carryOut writes the new texts. Where the disk has no room for them the files get
// their old ones back. After another fault the note stays, and the next command goes
// on.
func (s *step) carryOut(n *note) error {
	for _, f := range n.Files {
		if err := s.disk.overwrite(f.Path, f.New); err != nil {
			if s.restore(n) == nil && s.disk.remove(s.note) == nil {
				return fmt.Errorf("%w; nothing was changed", err)
			}
			return fmt.Errorf("%w; the next command goes on with what is left of this step", err)
		}
	}
	return s.disk.remove(s.note)
}

// restore gives the files of a step their old texts, but for those that another program
// has changed.
func (s *step) restore(n *note) error {
	var faults []error
	for _, f := range n.Files {
		if found, err := os.ReadFile(f.Path); err == nil && !bytes.Equal(found, f.Old) && f.wrote(found) {
			faults = append(faults, s.disk.overwrite(f.Path, f.Old))
		}
	}
	return errors.Join(faults...)
}

// finish completes or undoes what a note says.
func (s *step) finish() (done string, err error) {
	text, err := os.ReadFile(s.note)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	n := &note{}
	if err == nil {
		// A note of another form must not empty a file.
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		err = dec.Decode(n)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.note, err)
	}
	for _, f := range n.Files {
		if !slices.Contains(s.files, f.Path) {
			return "", fmt.Errorf("%s is about %s, which is no file of this step", s.note, f.Path)
		}
	}
	for _, f := range n.Files {
		if found, err := os.ReadFile(f.Path); err != nil || !f.wrote(found) {
			if err := errors.Join(s.restore(n), s.disk.remove(s.note)); err != nil {
				return "", err
			}
			return "undid a change that was interrupted, since " + f.Path + " was changed after it", nil
		}
	}
	if err := s.carryOut(n); err != nil {
		return "", err
	}
	return "completed a change that was interrupted", nil
}

// sector is the smallest part that a disk writes or does not write.
const sector = 512

// wrote reports whether a text can be what a step left: the old text, the new one, or
// what a process or a disk has on it that died between the two.
func (f *noteFile) wrote(found []byte) bool {
	if len(found) > max(len(f.Old), len(f.New)) || len(found) < min(len(f.Old), len(f.New)) {
		return false
	}
	for at := 0; at < len(found); at += sector {
		part := found[at:min(at+sector, len(found))]
		if !hasAt(f.Old, at, part) && !hasAt(f.New, at, part) && !isCut(f.Old, f.New, at, part) {
			return false
		}
	}
	return true
}

// hasAt reports whether a part stands in a text at a place.
func hasAt(text []byte, at int, part []byte) bool {
	return at <= len(text) && bytes.HasPrefix(text[at:], part)
}

// isCut reports whether a part is the beginning of the new text's and the rest of the
// old one's: a process was killed within it.
func isCut(was, is []byte, at int, part []byte) bool {
	k := 0
	for k < len(part) && at+k < len(is) && part[k] == is[at+k] {
		k++
	}
	for i := k; i >= 0; i-- {
		if hasAt(was, at+i, part[i:]) {
			return true
		}
	}
	return false
}
