package attached

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// The bounds of what is kept, together and of one principal.
const (
	// MaxFiles bounds the files of one call.
	MaxFiles = 16
	// Lifetime is how long an upload is kept.
	Lifetime = 15 * time.Minute

	maxKept, maxOwnKept   = 1000, 64
	maxBytes, maxOwnBytes = 512 << 20, 128 << 20
)

// Folder stores files. It must be safe for concurrent use.
type Folder interface {
	sallyport.AttachmentStore
	// Add stores content until it is removed.
	Add(name string, in io.Reader) (sallyport.Attachment, error)
	// Remove takes content back once.
	Remove(ref string)
}

// Shelf keeps files for principals: for the length of a call, or for a while
// after an upload. No principal sees, names or counts the files of another. It is
// safe for concurrent use.
type Shelf struct {
	folder Folder

	mu     sync.Mutex
	all    share
	shares map[string]*share // by the name of a principal
}

// Owner is whose files those of a call are. A sub-agent has its own, in the places of
// its principal.
type Owner struct{ principal, delegation string }

// share is what is kept together, or of one principal with its sub-agents.
type share struct {
	files int
	bytes int64
	kept  map[keptName]*upload // nil for all together
}

// keptName is the name under which an owner finds an upload.
type keptName struct{ delegation, ref string }

// upload is a file that is kept for a while.
type upload struct {
	file    sallyport.Attachment
	holders int  // calls that use it, and the time that it is kept for
	over    bool // its time is over
	end     *time.Timer
	release func()
}

// NewShelf returns an empty shelf over a folder.
func NewShelf(f Folder) *Shelf { return &Shelf{folder: f, shares: map[string]*share{}} }

// OwnerOf returns whose files those of a principal, or of a sub-agent of it, are.
func OwnerOf(p *sallyport.Principal) Owner { return Owner{p.Name, p.Delegation} }

func (o Owner) nameKept(ref string) keptName { return keptName{o.delegation, ref} }

var (
	errFull    = fmt.Errorf("too many files are kept: %d of %d MiB of a principal, %d of %d MiB in all", maxOwnKept, maxOwnBytes>>20, maxKept, maxBytes>>20)
	errUnknown = errors.New("no attachment of this name is kept")
)

// TakeFile stores a file for a call. The caller calls release when the call is over.
func (s *Shelf) TakeFile(owner Owner, name string, in io.Reader) (a sallyport.Attachment, release func(), err error) {
	counted := &countedReader{s: s, principal: owner.principal, in: in}
	if !s.countFiles(owner.principal, 1, 0) {
		return a, nil, errFull
	}
	if a, err = s.folder.Add(name, counted); err != nil {
		s.countFiles(owner.principal, -1, -counted.n)
		return a, nil, err
	}
	return a, sync.OnceFunc(func() {
		s.folder.Remove(a.Ref)
		s.countFiles(owner.principal, -1, -counted.n)
	}), nil
}

// countFiles adds to what is kept, unless that is too much. It always takes away.
func (s *Shelf) countFiles(principal string, files int, bytes int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.shares[principal]
	if own == nil {
		own = &share{kept: map[keptName]*upload{}}
		s.shares[principal] = own
	}
	more := files > 0 || bytes > 0
	if more && (s.all.files+files > maxKept || own.files+files > maxOwnKept || s.all.bytes+bytes > maxBytes || own.bytes+bytes > maxOwnBytes) {
		return false
	}
	s.all.files, s.all.bytes = s.all.files+files, s.all.bytes+bytes
	own.files, own.bytes = own.files+files, own.bytes+bytes
	if own.files == 0 {
		delete(s.shares, principal)
	}
	return true
}

// countedReader counts what it reads as kept.
type countedReader struct {
	s         *Shelf
	principal string
	in        io.Reader
	n         int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if n > 0 && !c.s.countFiles(c.principal, 0, int64(n)) {
		return 0, errFull
	}
	c.n += int64(n)
	return n, err
}

// KeepUpload stores an upload for a while, for its owner alone. The same content begins
// its time again.
func (s *Shelf) KeepUpload(owner Owner, name string, in io.Reader) (sallyport.Attachment, error) {
	a, release, err := s.TakeFile(owner, name, in)
	if err != nil {
		return a, err
	}
	u := &upload{file: a, holders: 1, release: release}
	u.end = time.AfterFunc(Lifetime, func() { s.endUpload(owner, u) })
	s.mu.Lock()
	own := s.shares[owner.principal] // is there: it counts the file
	before := own.kept[owner.nameKept(a.Ref)]
	own.kept[owner.nameKept(a.Ref)] = u
	s.mu.Unlock()
	if before != nil {
		s.endUpload(owner, before)
	}
	return a, nil
}

// FindUpload returns an upload of an owner for a call. The caller calls release when
// the call is over. The refs of other owners are as unknown as any.
func (s *Shelf) FindUpload(owner Owner, ref string) (a sallyport.Attachment, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.shares[owner.principal]
	if own == nil || own.kept[owner.nameKept(ref)] == nil {
		return a, nil, errUnknown
	}
	u := own.kept[owner.nameKept(ref)]
	u.holders++
	return u.file, sync.OnceFunc(func() { s.releaseUpload(u) }), nil
}

// DropUpload ends the time of an upload. It reports whether there was one.
func (s *Shelf) DropUpload(owner Owner, ref string) bool {
	s.mu.Lock()
	var u *upload
	if own := s.shares[owner.principal]; own != nil {
		u = own.kept[owner.nameKept(ref)]
	}
	s.mu.Unlock()
	return u != nil && s.endUpload(owner, u)
}

// endUpload takes an upload from its owner. Calls that have it keep it. It
// reports whether it was there.
func (s *Shelf) endUpload(owner Owner, u *upload) bool {
	u.end.Stop()
	s.mu.Lock()
	if u.over {
		s.mu.Unlock()
		return false
	}
	u.over = true
	if own := s.shares[owner.principal]; own.kept[owner.nameKept(u.file.Ref)] == u {
		delete(own.kept, owner.nameKept(u.file.Ref))
	}
	s.mu.Unlock()
	s.releaseUpload(u)
	return true
}

func (s *Shelf) releaseUpload(u *upload) {
	s.mu.Lock()
	u.holders--
	last := u.holders == 0
	s.mu.Unlock()
	if last {
		u.release()
	}
}

// LoadContent returns the content of a file that was taken or found, at most so many
// bytes.
func (s *Shelf) LoadContent(ctx context.Context, ref string, most int64) ([]byte, error) {
	r, err := s.folder.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("a file that a tool takes as a value has at most %d bytes", most)
	}
	return data, nil
}
