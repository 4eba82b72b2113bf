package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/attached"
)

// keptBody describes an upload that is kept.
type keptBody struct {
	// URI names the upload in a link of the Model Context Protocol.
	URI       string                   `json:"uri"`
	Name      string                   `json:"name"`
	Kind      sallyport.AttachmentKind `json:"kind"`
	MediaType string                   `json:"media_type"`
	Bytes     int64                    `json:"bytes"`
	ExpiresAt time.Time                `json:"expires_at"`
}

// keepUpload keeps the one file of a multipart body for the calls that its
// principal makes for a while.
func (s *Server) keepUpload(w http.ResponseWriter, r *http.Request) {
	c, done := s.beginFiles(w, r)
	if c == nil {
		return
	}
	defer done()
	owner := attached.OwnerOf(&c.caller.Principal)
	f := multipartForm{most: 1, alone: true, store: func(_ context.Context, name string, _ sallyport.AttachmentKind, in io.Reader) (sallyport.Attachment, func(), error) {
		a, err := s.o.Shelf.KeepUpload(owner, name, in)
		return a, nil, err
	}}
	if err := c.readParts(&f); err != nil {
		writeUnkept(w, err)
		return
	}
	if len(f.files) == 0 {
		writeUnkept(w, &brokenForm{"a part file is needed"})
		return
	}
	a := f.files[0]
	writeJSON(w, http.StatusCreated, keptBody{
		URI: attached.Scheme + a.Ref, Name: a.Name, Kind: a.Kind, MediaType: a.MediaType, Bytes: a.Bytes,
		ExpiresAt: time.Now().Add(attached.Lifetime).UTC().Truncate(time.Second),
	})
}

// writeUnkept answers an upload that is not kept.
func writeUnkept(w http.ResponseWriter, err error) {
	status, why := http.StatusBadRequest, "the body did not arrive whole"
	if broken, ok := errors.AsType[*brokenForm](err); ok {
		why = broken.why
	} else if cut := (*http.MaxBytesError)(nil); errors.As(err, &cut) {
		status, why = http.StatusRequestEntityTooLarge, errTooLong.Error()
	} else if errors.Is(err, auth.ErrWithdrawn) {
		status, why = http.StatusUnauthorized, "the token does not count any more"
	}
	writeRefusal(w, status, sallyport.CodeInputInvalid, why)
}

// dropUpload deletes an upload of the caller. It answers the same for what is not
// there, and for what is another's and stays.
func (s *Server) dropUpload(w http.ResponseWriter, r *http.Request) {
	caller := s.callerOf(r, "")
	s.o.Shelf.DropUpload(attached.OwnerOf(&caller.Principal), r.PathValue("ref"))
	w.WriteHeader(http.StatusNoContent)
}

// findUploads returns the uploads of a principal for a call. Call release when
// the call is over, also after an error.
func (s *Server) findUploads(p *sallyport.Principal, uris []string) (found []sallyport.Attachment, release func(), err error) {
	var releases []func()
	release = func() {
		for _, one := range releases {
			one()
		}
	}
	for i, uri := range uris {
		ref, ok := strings.CutPrefix(uri, attached.Scheme)
		if !ok || s.o.Shelf == nil {
			return nil, release, fmt.Errorf("attachments: %d: expected the URI of an upload", i)
		}
		a, one, err := s.o.Shelf.FindUpload(attached.OwnerOf(p), ref)
		if err != nil {
			return nil, release, fmt.Errorf("attachments: %d: %w", i, err)
		}
		found, releases = append(found, a), append(releases, one)
	}
	return found, release, nil
}
