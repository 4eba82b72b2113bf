package command

import (
	"context"
	"crypto/rand"
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

// maxUpload bounds one attachment, in bytes.
const maxUpload = 32 << 20

// uploadStore keeps attachments in a private folder until the program ends. It is
// the gate's attachment store.
type uploadStore struct {
	mu    sync.Mutex
	dir   string // made with the first attachment
	known map[string]bool
	// scratch holds dir. The next start of the program removes what a killed
	// process left there.
	scratch *scratch.Space
}

func newUploads() (*uploadStore, error) {
	return &uploadStore{known: map[string]bool{}, scratch: scratch.New("")}, nil
}

// addFile copies a file of the user, so that the tool sees what was attached
// even if the file changes.
func (u *uploadStore) addFile(path string) (a sallyport.Attachment, err error) {
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
	return u.storeContent(filepath.Base(path), in)
}

// addUpload keeps an attachment of a request until it is released. It derives the
// kind from the content, whatever the request says.
func (u *uploadStore) addUpload(_ context.Context, name string, _ sallyport.AttachmentKind, r io.Reader) (a sallyport.Attachment, release func(), err error) {
	a, err = u.storeContent(name, r)
	return a, func() { u.removeRef(a.Ref) }, err
}

// storeContent copies content to a file with a new ref.
func (u *uploadStore) storeContent(name string, in io.Reader) (a sallyport.Attachment, err error) {
	out, ref, err := u.createFile()
	if err != nil {
		return a, err
	}
	defer func() {
		if err != nil {
			u.removeRef(ref)
		}
	}()
	n, err := io.Copy(out, io.LimitReader(in, maxUpload+1))
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return a, err
	}
	if n > maxUpload {
		return a, fmt.Errorf("%s: more than %d MiB", name, maxUpload>>20)
	}
	a = sallyport.Attachment{Ref: ref, Kind: sallyport.KindFile, Name: name, Bytes: n}
	if a.MediaType, err = detectType(filepath.Join(u.dir, ref)); err != nil {
		return a, err
	}
	if strings.HasPrefix(a.MediaType, "image/") {
		a.Kind = sallyport.KindImage
	}
	return a, nil
}

// removeRef deletes a ref and its file.
func (u *uploadStore) removeRef(ref string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known[ref] {
		delete(u.known, ref)
		_ = os.Remove(filepath.Join(u.dir, ref))
	}
}

// createFile creates the file of a new ref.
func (u *uploadStore) createFile() (*os.File, string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dir == "" {
		dir, err := u.scratch.Dir("attachments")
		if err != nil {
			return nil, "", err
		}
		u.dir = dir
	}
	ref := "att-" + rand.Text()
	f, err := os.OpenFile(filepath.Join(u.dir, ref), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		u.known[ref] = true
	}
	return f, ref, err
}

// detectType returns the media type of the content.
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

// Open opens an attachment by its ref. It accepts only refs that it has issued,
// and never uses a ref as a path.
func (u *uploadStore) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	u.mu.Lock()
	known, dir := u.known[ref], u.dir
	u.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("no attachment with ref %q", ref)
	}
	return os.Open(filepath.Join(dir, ref))
}

// Close removes every attachment.
func (u *uploadStore) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dir, u.known = "", map[string]bool{}
	return u.scratch.Close()
}
