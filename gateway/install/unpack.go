package install

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// fileMode, programMode and dirMode are what installed files have:
	// read-only for everybody. Whether a file is executable is part of the
	// digest, the rest of what an archive says of modes is left out.
	fileMode, programMode, dirMode = 0o444, 0o555, 0o555
	// maxDepth bounds how deep folders lie in one another; deeper ones could
	// not be opened by name.
	maxDepth = 64
	// maxPath bounds a name in an archive.
	maxPath = 1024
)

type unpackedItem struct {
	path string // with slashes, relative
	dir  bool
	exec bool
	sum  [sha256.Size]byte
}

// digestItems returns the digest of an installation. Lengths stand before
// texts, so that no two lists read alike.
func digestItems(items []unpackedItem) string {
	slices.SortFunc(items, func(a, b unpackedItem) int { return strings.Compare(a.path, b.path) })
	h := sha256.New()
	fmt.Fprintf(h, "sallyport package 1 %d\n", len(items))
	for _, i := range items {
		fmt.Fprintf(h, "%d %s %t %t %x\n", len(i.path), i.path, i.dir, i.exec, i.sum)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// unpackBudget counts down what an installation may hold.
type unpackBudget struct {
	files int
	bytes int64
}

func (b *unpackBudget) spendFile(size int64) error {
	b.files--
	b.bytes -= max(size, 0)
	switch {
	case b.files < 0:
		return errors.New("it has too many files")
	case b.bytes < 0:
		return errors.New("it is too large")
	default:
		return nil
	}
}

// unpackArchive writes the files of an archive into a new folder and returns its
// digest. The archive comes from a child that has read what strangers wrote:
// what is neither a file nor a folder is refused, and so is a name that leads
// out, a repeated one, and a file that changes its user.
func (s *Store) unpackArchive(archive io.Reader, dir string) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	left := unpackBudget{s.o.MaxFiles, s.o.MaxBytes}
	var items []unpackedItem
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", fmt.Errorf("the archive cannot be read: %w", err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(h.Name, "./"), "/")
		if name == "" || name == "." {
			continue
		}
		i, err := unpackEntry(root, r, h, name, &left)
		if err != nil {
			return "", err
		}
		items = append(items, i)
	}
	return digestItems(items), makeReadOnly(root, items)
}

func unpackEntry(root *os.Root, r io.Reader, h *tar.Header, name string, left *unpackBudget) (unpackedItem, error) {
	i := unpackedItem{path: name, exec: h.Mode&0o111 != 0}
	if err := left.spendFile(h.Size); err != nil {
		return i, err
	}
	local := filepath.FromSlash(name)
	switch {
	case len(name) > maxPath || strings.Count(name, "/") >= maxDepth || strings.ContainsRune(name, 0):
		return i, fmt.Errorf("the name %.80q… is too long or too deep", name)
	case !filepath.IsLocal(local) || filepath.Clean(local) != local:
		return i, fmt.Errorf("the name %.200q leads out of the package", name)
	case h.Mode&0o7000 != 0:
		return i, fmt.Errorf("%.200q changes its user or group when it is started", name)
	case h.Typeflag == tar.TypeDir:
		i.dir, i.exec = true, false
		return i, root.Mkdir(local, 0o700)
	case h.Typeflag != tar.TypeReg:
		return i, fmt.Errorf("%.200q is neither a file nor a folder", name)
	}
	f, err := root.OpenFile(local, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return i, err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), r)
	i.sum = [sha256.Size]byte(sum.Sum(nil))
	return i, errors.Join(err, f.Close())
}

func makeReadOnly(root *os.Root, items []unpackedItem) error {
	for _, i := range slices.Backward(items) {
		mode := fs.FileMode(fileMode)
		switch {
		case i.dir:
			mode = dirMode
		case i.exec:
			mode = programMode
		}
		if err := root.Chmod(filepath.FromSlash(i.path), mode); err != nil {
			return err
		}
	}
	return root.Chmod(".", dirMode)
}
