package install

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// digestFolder returns the digest of a folder as it is now. What an
// installation never holds is an error that names it.
func (s *Store) digestFolder(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	d := folderDigest{left: unpackBudget{s.o.MaxFiles, s.o.MaxBytes}, buf: make([]byte, 32<<10)}
	if err := d.addFolder(root, "", 0); err != nil {
		return "", err
	}
	return digestItems(d.items), nil
}

// folderDigest collects the items of a folder.
type folderDigest struct {
	left  unpackBudget
	items []unpackedItem
	buf   []byte
}

// addFolder adds what is in a folder. Each folder is opened once, and what is in it by
// its name there: a long path would be walked for every file.
func (d *folderDigest) addFolder(root *os.Root, path string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%.200q is too deep", path)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := d.addEntry(root, path+e.Name(), e, depth); err != nil {
			return err
		}
	}
	return nil
}

func (d *folderDigest) addEntry(root *os.Root, path string, e fs.DirEntry, depth int) error {
	i := unpackedItem{path: path, dir: e.IsDir()}
	info, err := e.Info()
	if err != nil {
		return err
	}
	mode := info.Mode()
	if mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 || !i.dir && !mode.IsRegular() {
		return fmt.Errorf("%.200q is no plain file or folder", path)
	}
	size := info.Size()
	if i.dir {
		size = 0
	}
	if err := d.left.spendFile(size); err != nil {
		return err
	}
	if i.dir {
		d.items = append(d.items, i)
		inner, err := root.OpenRoot(e.Name())
		if err != nil {
			return err
		}
		defer inner.Close()
		return d.addFolder(inner, path+"/", depth+1)
	}
	i.exec = mode.Perm()&0o111 != 0
	i.sum, err = d.sumFile(root, e.Name(), size)
	d.items = append(d.items, i)
	if err != nil {
		return fmt.Errorf("%.200q: %w", path, err)
	}
	return nil
}

// sumFile computes the digest of a file of a size.
func (d *folderDigest) sumFile(root *os.Root, name string, size int64) (sum [sha256.Size]byte, err error) {
	f, err := root.Open(name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	// One byte more than it had shows that it grows.
	n, err := io.CopyBuffer(onlyWriter{h}, io.LimitReader(f, size+1), d.buf)
	if err == nil && n != size {
		err = errors.New("it changes")
	}
	return [sha256.Size]byte(h.Sum(nil)), err
}

// onlyWriter hides what else a writer can do, so that io.CopyBuffer uses its buffer.
type onlyWriter struct{ io.Writer }
