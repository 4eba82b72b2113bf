// Package onestep gives several files new texts so that either all of them have them
// or none has.
//
// [Replace] opens the files, notes in a folder what it is about to do, and writes the
// texts into the files that are there. It puts no new file in their place: a child
// that runs is kept from a file by a mount on it, which the kernel takes off when
// another file gets the name, and a text that waits beside the file would lie in
// a folder that the child may write. A new file gets its name as a whole. When the
// process dies before the note, nothing has changed. When it dies after the note, [Finish] completes the step, or undoes it
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
	// Old is the text that the file has; nil for a file that is not there yet. New is
	// the text that it gets.
	Old, New []byte
	// Private makes a new file one for its user alone. A file that is there keeps its
	// mode.
	Private bool
}

// ErrChanged is the error for a file that no longer has the text that a change
// starts from.
var ErrChanged = errors.New("was changed at the same time")

// ErrUnfinished is the error for a step of which a part is done. Finish needs what
// admits its files.
var ErrUnfinished = errors.New("the next command goes on with what is left of this step")

// Replace gives every file its new text. The folder has to be out of the reach of
// tools; it holds the note. Two steps with the same folder never run at the same
// time. The error matches [ErrChanged] when a file is not as it was read.
func Replace(folder string, changes []Change) error {
	return newStep(folder, func(path string, _ []byte) bool {
		return slices.ContainsFunc(changes, func(c Change) bool { return IsFile(c.Path, path) })
	}).replaceFiles(changes)
}

// Finish completes the step that a process left half done, or undoes it. It returns
// what it did, for the user; an empty text when there was nothing to do. waited is true
// when a step was under way, so that the files may have changed. A note about a file
// that admits refuses is an error, and nothing is done. That function gets the path
// without links, and the text that the file had; of a new file the text that it gets.
func Finish(folder string, admits func(path string, text []byte) bool) (done string, waited bool, err error) {
	if _, err := os.Lstat(filepath.Join(folder, noteName)); errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	s := newStep(folder, admits)
	err = fsx.Exclusive(folder, func() error {
		done, err = s.finishNote()
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
	// Old is the text that the file had, null for a new one; New the one that it gets.
	Old []byte `json:"old"`
	New []byte `json:"new"`
	// Aside is the file beside it that takes its place; empty for a file that stays
	// the same one.
	Aside string `json:"aside,omitempty"`
	// Private says that a new file is for its user alone.
	Private bool `json:"private,omitempty"`
}

// step is one replacement.
type step struct {
	folder, note string
	disk         disk
	// admits says which files a note may be about.
	admits func(path string, text []byte) bool
}

func newStep(folder string, admits func(path string, text []byte) bool) *step {
	return &step{folder: folder, note: filepath.Join(folder, noteName), disk: systemDisk, admits: admits}
}

// IsFile reports whether a path is that of a file, once links are followed. The file
// may be missing.
func IsFile(file, path string) bool {
	real, err := resolveLinks(file)
	return err == nil && real == path
}

// resolveLinks follows the links of a path. The file itself may be missing, and is then no
// link.
func resolveLinks(path string) (string, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return filepath.EvalSymlinks(path)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(folder, filepath.Base(path)), err
}

func (s *step) replaceFiles(changes []Change) error {
	return fsx.Exclusive(s.folder, func() error {
		if _, err := s.finishNote(); err != nil {
			return err
		}
		if err := s.sweepNotes(); err != nil {
			return err
		}
		n, err := s.prepareNote(changes)
		if err != nil {
			return err
		}
		if err := s.writeNote(n); err != nil {
			return err
		}
		return s.carryOut(n)
	})
}

// sweepNotes removes the notes that killed processes left half written.
func (s *step) sweepNotes() error {
	left, err := filepath.Glob(filepath.Join(s.folder, "."+noteName+".*"))
	for _, path := range left {
		err = errors.Join(err, s.disk.remove(path))
	}
	return err
}

// prepareNote finds out whether the files are as they were read, and can be written.
func (s *step) prepareNote(changes []Change) (*note, error) {
	n := &note{}
	for _, c := range changes {
		f, err := c.prepareFile()
		if err != nil {
			return n, err
		}
		n.Files = append(n.Files, f)
	}
	return n, nil
}

// prepareFile finds out whether a file is as it was read, and can be written.
func (c *Change) prepareFile() (noteFile, error) {
	n := noteFile{Old: c.Old, New: c.New, Private: c.Private}
	var err error
	if n.Path, err = resolveLinks(c.Path); err != nil {
		return n, err
	}
	if c.Old == nil {
		n.Aside = fsx.NameAside(n.Path)
	}
	f, err := openFile(n.Path)
	if missing := errors.Is(err, fs.ErrNotExist); missing && c.Old == nil {
		return n, nil
	} else if missing || err == nil && c.Old == nil {
		return n, errors.Join(fmt.Errorf("%s %w", n.Path, ErrChanged), closeFile(f))
	} else if err != nil {
		return n, err
	}
	found, err := readWhole(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return n, err
	}
	if !bytes.Equal(found, c.Old) {
		return n, fmt.Errorf("%s %w", n.Path, ErrChanged)
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
		if err := s.writeText(&f, f.New); err != nil {
			if s.restoreFiles(n) == nil && s.disk.remove(s.note) == nil {
				return fmt.Errorf("%w; nothing was changed", err)
			}
			return fmt.Errorf("%w; %w", err, ErrUnfinished)
		}
	}
	return s.disk.remove(s.note)
}

// writeText gives a file one of its texts; without one it removes a file that was not there
// before.
func (s *step) writeText(f *noteFile, text []byte) error {
	if f.Aside == "" {
		return s.disk.overwrite(f.Path, text)
	}
	// A process may have been killed while it wrote the file beside this one.
	if err := s.disk.remove(f.Aside); err != nil {
		return err
	}
	found, err := os.ReadFile(f.Path)
	switch {
	case text == nil:
		return s.disk.remove(f.Path)
	case err == nil && bytes.Equal(found, text):
		return nil
	default:
		return s.disk.makeFile(f.Path, f.Aside, text, f.chooseMode())
	}
}

// chooseMode returns the mode of a new file.
func (f *noteFile) chooseMode() fs.FileMode {
	if f.Private {
		return 0o600
	}
	return newMode
}

// textToAdmit returns what admits a note about a file.
func (f *noteFile) textToAdmit() []byte {
	if f.Old == nil {
		return f.New
	}
	return f.Old
}

// restoreFiles gives the files of a step their old texts, but for those that another program
// has changed.
func (s *step) restoreFiles(n *note) error {
	var faults []error
	for _, f := range n.Files {
		if f.Aside != "" {
			faults = append(faults, s.disk.remove(f.Aside))
		}
		if found, err := os.ReadFile(f.Path); err == nil && (f.Old == nil || !bytes.Equal(found, f.Old)) && f.mayHaveLeft(found) {
			faults = append(faults, s.writeText(&f, f.Old))
		}
	}
	return errors.Join(faults...)
}

// finishNote completes or undoes what a note says.
func (s *step) finishNote() (done string, err error) {
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
		if !s.admits(f.Path, f.textToAdmit()) || f.Aside != "" && filepath.Dir(f.Aside) != filepath.Dir(f.Path) {
			return "", fmt.Errorf("%s is about %s, which is no file of this step", s.note, f.Path)
		}
	}
	for _, f := range n.Files {
		found, err := os.ReadFile(f.Path)
		if missing := errors.Is(err, fs.ErrNotExist) && f.Old == nil; !missing && (err != nil || !f.mayHaveLeft(found)) {
			if err := errors.Join(s.restoreFiles(n), s.disk.remove(s.note)); err != nil {
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

// mayHaveLeft reports whether a text can be what a step left: the old text, the new one, or
// what a process or a disk has on it that died between the two.
func (f *noteFile) mayHaveLeft(found []byte) bool {
	if f.Aside != "" {
		return bytes.Equal(found, f.New) || f.Old != nil && bytes.Equal(found, f.Old)
	}
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
