package guest

import (
	"bytes"
	"io"
	"io/fs"
	"time"

	"github.com/sallyport/sallyport/internal/plugin/wire"
)

// fileInfo describes a file, as information and as an entry of its folder.
type fileInfo struct{ w wire.FileInfo }

func (i fileInfo) Name() string               { return i.w.Name }
func (i fileInfo) Size() int64                { return i.w.Size }
func (i fileInfo) Mode() fs.FileMode          { return fs.FileMode(i.w.Mode) }
func (i fileInfo) ModTime() time.Time         { return time.Unix(i.w.Modified, 0) }
func (i fileInfo) IsDir() bool                { return i.Mode().IsDir() }
func (i fileInfo) Sys() any                   { return nil }
func (i fileInfo) Type() fs.FileMode          { return i.Mode().Type() }
func (i fileInfo) Info() (fs.FileInfo, error) { return i, nil }

// openFile is a file that was read whole.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// openFolder is a folder that was read whole.
type openFolder struct {
	info    fs.FileInfo
	entries []fs.DirEntry
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.Name(), Err: fs.ErrInvalid}
}

func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(f.entries)
	} else if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	list := f.entries[:n]
	f.entries = f.entries[n:]
	return list, nil
}
