package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// defaultUpload bounds a multipart body, in bytes: two attachments of the
	// largest size that the command keeps.
	defaultUpload = 64 << 20

	// maxUploads bounds the multipart requests that are read and answered at
	// once, while their files are on the disk, maxOwnUploads those of one
	// principal, and maxFiles the files of one.
	maxUploads, maxOwnUploads = 32, 16
	maxFiles                  = 16

	requestPart = "request"
	filePart    = "file"
)

// executeWithFiles makes a call whose body is multipart: a part "request" with
// the JSON of execute, which may be absent and comes first, then files.
func (s *Server) executeWithFiles(w http.ResponseWriter, r *http.Request) {
	c, done := s.beginFiles(w, r)
	if c == nil {
		return
	}
	defer done()
	f := multipartForm{store: s.o.Uploads, most: maxFiles}
	defer f.release()
	if err := c.readParts(&f); err != nil {
		if broken, ok := errors.AsType[*brokenForm](err); ok {
			c.rejectCall(http.StatusBadRequest, broken.why)
			return
		}
		c.rejectUnread(tooLong(err))
		return
	}
	c.caller.Attachments = f.files
	c.makeCall(&f.request)
}

// beginFiles begins a request that brings files, and returns what ends it. It answers one
// that is too many, and returns nil.
func (s *Server) beginFiles(w http.ResponseWriter, r *http.Request) (*actionCall, func()) {
	c, done := s.beginCall(w, r)
	if c == nil {
		return nil, nil
	}
	_, read, ok := s.files.Begin(c.r.Context(), c.caller.Principal.Name)
	if !ok {
		writeBusy(w, fmt.Sprintf("Too many requests with files at once: %d of a principal, %d of all; try again", maxOwnUploads, maxUploads))
		done()
		return nil, nil
	}
	return c, func() { read(); done() }
}

// multipartForm is what a multipart body brings.
type multipartForm struct {
	store    Uploads // where its files go
	most     int     // files
	alone    bool    // it has files and no request
	request  executeRequest
	files    []sallyport.Attachment
	releases []func()
}

// release drops the files, the last one first.
func (f *multipartForm) release() {
	for _, release := range slices.Backward(f.releases) {
		release()
	}
}

// brokenForm is a body that arrived and is not what is expected.
type brokenForm struct{ why string }

func (b *brokenForm) Error() string { return b.why }

// readParts reads the parts in order. The error is a *brokenForm, or that of a
// body that did not arrive whole.
func (c *actionCall) readParts(f *multipartForm) error {
	defer boundArrival(c.r.Context(), c.w)()
	c.r.Body = boundBody(c.w, c.r, c.s.o.MaxUpload)
	reader, err := c.r.MultipartReader()
	if err != nil {
		return &brokenForm{"the body is not multipart/form-data with a boundary"}
	}
	for count := 0; ; count++ {
		// The raw part: no encoding of a part is undone.
		part, err := reader.NextRawPart()
		if err == io.EOF {
			// What follows the last part is nothing to anybody. The library
			// watches for a client that goes away only once all is read.
			_, err := io.Copy(io.Discard, c.r.Body)
			return err
		}
		if err != nil {
			return partsError(err)
		}
		if err := c.readPart(f, part, count); err != nil {
			return partsError(err)
		}
	}
}

// partsError tells a body that is not multipart from one that did not arrive:
// the reader's own errors have no type.
func partsError(err error) error {
	if strings.HasPrefix(err.Error(), "multipart: ") && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, auth.ErrWithdrawn) {
		if cut := (*http.MaxBytesError)(nil); !errors.As(err, &cut) {
			return &brokenForm{"the multipart body is malformed"}
		}
	}
	return err
}

func (c *actionCall) readPart(f *multipartForm, part *multipart.Part, count int) error {
	if part.Header.Get("Content-Transfer-Encoding") != "" {
		return &brokenForm{"a part must not have a Content-Transfer-Encoding"}
	}
	switch part.FormName() {
	case requestPart:
		if f.alone {
			return &brokenForm{"an upload has a part file and no request"}
		}
		if count != 0 {
			return &brokenForm{"the part request must come first, and once"}
		}
		body, err := io.ReadAll(io.LimitReader(part, smallBytes+1))
		if err != nil {
			return err
		}
		if len(body) > smallBytes {
			return &brokenForm{fmt.Sprintf("the part request is longer than %d bytes; send what is large as a file", smallBytes)}
		}
		if f.request, err = decodeRequest(body); err != nil {
			return &brokenForm{err.Error()}
		}
		return nil
	case filePart:
		return c.storeFile(f, part)
	default:
		return &brokenForm{fmt.Sprintf("unknown part %q; known are request and file", text.ClipBytes(part.FormName(), quotedBytes))}
	}
}

func (c *actionCall) storeFile(f *multipartForm, part *multipart.Part) error {
	name := part.FileName()
	switch {
	case name == "" || name == "." || name == ".." || !isUsableName(name) || strings.ContainsAny(name, `/\`):
		return &brokenForm{fmt.Sprintf("a file needs a name of at most %d bytes without separators and control characters", maxWord)}
	case len(f.files) == f.most:
		return &brokenForm{"more than " + text.CountOf(f.most, "file")}
	}
	kind := sallyport.KindFile
	if strings.HasPrefix(strings.ToLower(part.Header.Get("Content-Type")), "image/") {
		kind = sallyport.KindImage
	}
	watched := &readWatch{r: part}
	a, release, err := f.store(c.r.Context(), name, kind, watched)
	if release != nil {
		f.releases = append(f.releases, release)
	}
	switch {
	case watched.err != nil:
		return watched.err
	case err != nil:
		c.s.o.Logger.Warn("an attachment is refused", "tool", c.q.Tool, "error", err)
		return &brokenForm{fmt.Sprintf("the file %q cannot be taken: it is too large, or cannot be kept", name)}
	}
	f.files = append(f.files, a)
	return nil
}

// readWatch remembers why reading failed, so that a body that breaks off is not
// taken for a store that does.
type readWatch struct {
	r   io.Reader
	err error
}

func (w *readWatch) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}
