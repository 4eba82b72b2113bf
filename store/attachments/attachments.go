// Package attachments stores the attachments of calls in a private folder: the
// files that a person adds to a turn, or that a request brings.
//
// Start with [New]. A program that gives a [Folder] to the gate as
// sallyport.Backends.Attachments, and lists what it added in
// sallyport.Caller.Attachments, lets tools open these files by their refs. A
// ref is the digest of the content, so that what is recorded, approved or kept
// for a ref is about that content, and is never used as a path. Nothing survives [Folder.Close]; what
// a killed process left is removed by the next program that adds an attachment.
package attachments

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/scratch"
)

// defaultMaxBytes bounds one attachment, in bytes, unless the options do.
const defaultMaxBytes = 32 << 20

// refPrefix begins every ref.
const refPrefix = "att-"

// Options refine a Folder. nil means the defaults.
type Options struct {
	// Dir is the folder in which the private folder is made; empty means the
	// system's folder for temporary files.
	Dir string
	// MaxBytes bounds one attachment, in bytes; 0 means 32 MiB.
	MaxBytes int64
}

// Folder stores attachments in a private folder until it is closed. It
// implements sallyport.AttachmentStore and is safe for concurrent use.
type Folder struct {
	maxBytes int64

	mu    sync.Mutex
	dir   string         // made with the first attachment
	known map[string]int // how often a ref was added and not yet removed
	// scratch holds dir. The next start of the program removes what a killed
	// process left there.
	scratch *scratch.Space
}

var _ sallyport.AttachmentStore = (*Folder)(nil)

// New returns an empty store. It makes its folder with the first attachment.
// The caller closes it.
func New(o *Options) (*Folder, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.MaxBytes < 0 {
		return nil, errors.New("attachments: options: max bytes must not be negative")
	}
	return &Folder{maxBytes: cmp.Or(opts.MaxBytes, defaultMaxBytes), known: map[string]int{}, scratch: scratch.New(opts.Dir)}, nil
}

// AddFile copies a regular file, so that tools see what was attached even if
// the file changes later.
func (d *Folder) AddFile(path string) (a sallyport.Attachment, err error) {
	// Opening a pipe would wait for its other end.
	if st, err := os.Stat(path); err != nil {
		return a, err
	} else if !st.Mode().IsRegular() {
		return a, fmt.Errorf("%s: expected a regular file", path)
	}
	in, err := os.Open(path)
	if err != nil {
		return a, err
	}
	defer in.Close()
	return d.Add(filepath.Base(path), in)
}

// AddUpload stores the file of a request and returns a function that removes it
// again. It ignores the kind that the request names; see [Folder.Add]. It has
// the form of httpapi.Uploads.
func (d *Folder) AddUpload(_ context.Context, name string, _ sallyport.AttachmentKind, r io.Reader) (a sallyport.Attachment, release func(), err error) {
	a, err = d.Add(name, r)
	return a, func() { d.Remove(a.Ref) }, err
}

// Add reads content to its end and stores it under its ref: att- and the
// SHA-256 of the content in hexadecimal. The name is for display only. The media
// type and the kind follow from the content. An attachment of more than the
// bound is an error and is not stored. Content that is added twice is kept until
// it was removed twice.
func (d *Folder) Add(name string, in io.Reader) (a sallyport.Attachment, err error) {
	out, err := d.createFile()
	if err != nil {
		return a, err
	}
	defer func() { _ = os.Remove(out.Name()) }() // It is there only after a failure, or when the content was known.
	digest := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, digest), io.LimitReader(in, d.maxBytes+1))
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return a, err
	}
	if n > d.maxBytes {
		return a, fmt.Errorf("%s: more than %s", name, formatBytes(d.maxBytes))
	}
	ref := refPrefix + hex.EncodeToString(digest.Sum(nil))
	a = sallyport.Attachment{Ref: ref, Kind: sallyport.KindFile, Name: name, Bytes: n}
	if a.MediaType, err = detectType(out.Name()); err != nil {
		return a, err
	}
	if strings.HasPrefix(a.MediaType, "image/") {
		a.Kind = sallyport.KindImage
	}
	return a, d.keepFile(ref, out.Name())
}

// keepFile puts a written file in its place, unless its content is there already.
func (d *Folder) keepFile(ref, written string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[ref] == 0 {
		if err := os.Rename(written, filepath.Join(d.dir, ref)); err != nil {
			return err
		}
	}
	d.known[ref]++
	return nil
}

// Remove takes an attachment back once. It is deleted when it was removed as
// often as it was added. An unknown ref is no error.
func (d *Folder) Remove(ref string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch d.known[ref] {
	case 0:
	case 1:
		delete(d.known, ref)
		_ = os.Remove(filepath.Join(d.dir, ref))
	default:
		d.known[ref]--
	}
}

// createFile makes a file with another name than any ref.
func (d *Folder) createFile() (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dir == "" {
		dir, err := d.scratch.Dir("attachments")
		if err != nil {
			return nil, err
		}
		d.dir = dir
	}
	return os.OpenFile(filepath.Join(d.dir, "new-"+rand.Text()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func formatBytes(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

func detectType(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 512) // the number of bytes that DetectContentType reads
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return "", err
	}
	return http.DetectContentType(head[:n]), nil
}

// Open opens an attachment by its ref. A ref that the store has not issued, or
// has removed, is an error. The caller closes the reader.
func (d *Folder) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	d.mu.Lock()
	known, dir := d.known[ref] > 0, d.dir
	d.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("no attachment with ref %q", ref)
	}
	return os.Open(filepath.Join(dir, ref))
}

// Close removes every attachment. Closing twice is safe.
func (d *Folder) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dir, d.known = "", map[string]int{}
	return d.scratch.Close()
}
