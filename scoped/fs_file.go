package scoped

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// Open implements fs.FS for regular files and directories. Unlike ReadFile it
// does not count as having seen the content.
func (b *boundFiles) Open(name string) (fs.File, error) {
	o, err := b.openFile(name)
	if err == nil {
		b.recordTouch(opRead, o.path)
		return &openFile{ctx: b.ctx, o: o}, nil
	}
	if !errors.Is(err, syscall.EISDIR) {
		return nil, err
	}
	info, err := b.Stat(name)
	if err != nil {
		return nil, err
	}
	entries, err := b.ReadDir(name)
	if err != nil {
		return nil, err
	}
	return &openDirectory{info: info, path: b.Abs(name), rest: entries}, nil
}

// openFile is a regular file that can be read and nothing else.
type openFile struct {
	ctx context.Context // The call's; see bindCall.
	o   *openedFile
}

func (f *openFile) Stat() (fs.FileInfo, error) {
	return infoUnder(f.o.path, f.o.info), nil
}

// Read implements io.Reader and ends with the call.
func (f *openFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.o.f.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = newPathError(opRead, f.o.path, err)
	}
	return n, err
}

func (f *openFile) Seek(offset int64, whence int) (int64, error) {
	n, err := f.o.f.Seek(offset, whence)
	if err != nil {
		err = newPathError(opRead, f.o.path, err)
	}
	return n, err
}

func (f *openFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.o.f.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = newPathError(opRead, f.o.path, err)
	}
	return n, err
}

func (f *openFile) Close() error { return f.o.f.Close() }

// openDirectory is a directory whose listing was taken when it was opened.
type openDirectory struct {
	info fs.FileInfo
	path string
	rest []fs.DirEntry
}

func (d *openDirectory) Stat() (fs.FileInfo, error) { return d.info, nil }

func (d *openDirectory) Read([]byte) (int, error) {
	return 0, newPathError(opRead, d.path, syscall.EISDIR)
}

func (d *openDirectory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.rest) {
		if n > 0 && len(d.rest) == 0 {
			return nil, io.EOF
		}
		n = len(d.rest)
	}
	out := d.rest[:n:n]
	d.rest = d.rest[n:]
	return out, nil
}

func (d *openDirectory) Close() error { return nil }
