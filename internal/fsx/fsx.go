// Package fsx writes files so that a reader finds the old text or the new one,
// and never a part.
package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ReplaceFile gives a file another text. The mode of the file stays; a new file
// is for its owner alone.
func ReplaceFile(path string, text []byte) error {
	return ReplaceFileMode(path, text, modeOf(path))
}

// modeOf returns the mode of a file, or that of a new one.
func modeOf(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o600
}

// ReplaceFileMode gives a file another text and mode. It writes a temporary
// file beside the file and renames it.
func ReplaceFileMode(path string, text []byte, mode fs.FileMode) error {
	aside := NameAside(path)
	if err := writeAside(aside, text, mode); err != nil {
		return err
	}
	if err := os.Rename(aside, path); err != nil {
		return errors.Join(err, os.Remove(aside))
	}
	// The file is replaced whether or not its directory can be synced.
	_ = SyncDir(filepath.Dir(path))
	return nil
}

// NameAside returns a name beside a file for the text that the file is to get. It
// begins with a dot and the name of the file, cut where the whole would be too long for
// a file system: the deny floor keeps tools from the temporary file of a lock or
// configuration by it.
func NameAside(path string) string {
	const most = 200 // of 255 bytes; the rest is for the dots and the number
	base := filepath.Base(path)
	if len(base) > most {
		base = strings.ToValidUTF8(base[:most], "")
	}
	return filepath.Join(filepath.Dir(path), "."+base+"."+strconv.FormatUint(rand.Uint64(), 10))
}

// WriteAside writes the text that a file is to get durably into a new file under a
// name that [NameAside] returned, with the mode of the file.
func WriteAside(path, aside string, text []byte) error { return writeAside(aside, text, modeOf(path)) }

func writeAside(aside string, text []byte, mode fs.FileMode) error {
	tmp, err := os.OpenFile(aside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return errors.Join(err, os.Remove(aside))
	}
	return nil
}

// WriteNew writes a file that does not exist yet. It is an error when it does. It
// replaces a placeholder.
func WriteNew(path string, text []byte) error {
	if info, err := os.Lstat(path); err == nil && IsPlaceholder(info) {
		return ReplaceFileMode(path, text, 0o644)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: it was left as it is", path)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// PlaceholderTime is the time of the last change of a placeholder's contents, in
// seconds since 1970, by which it is known again: no program of today leaves that
// of 2001.
const PlaceholderTime = 1_000_000_007

// IsPlaceholder reports whether what lies at a path is a placeholder: an empty file or
// a folder that only keeps a name free while a confined child runs. For a reader there
// is nothing at the path.
func IsPlaceholder(info fs.FileInfo) bool {
	return info.ModTime().Unix() == PlaceholderTime && (info.IsDir() || info.Mode().IsRegular() && info.Size() == 0)
}

// Exists reports whether something lies at a path, which may be a link that leads
// nowhere. What cannot be looked at exists; a placeholder does not.
func Exists(path string) bool {
	info, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || !IsPlaceholder(info))
}

// Cause returns a system error without its path, which the caller names in its
// own words.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Reason returns the message of a system error without its path.
func Reason(err error) string { return Cause(err).Error() }

// Absolute returns the absolute path of a file that a user named from a folder.
func Absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}
