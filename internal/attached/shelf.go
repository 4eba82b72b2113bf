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

// The bounds of what is kept, together and of one owner.
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
	owners map[string]*share
}

// share is what is kept together, or of one owner.
type share struct {
	files int
	bytes int64
	kept  map[string]*upload // by ref; nil for all together
}

// upload is a file that is kept for a while.
type upload struct {
	file    sallyport.Attachment
	holders int  // calls that use it, and the time that it is kept for
	over    bool // its time is over
	end     *time.Timer
	release func()
}

// NewShelf returns an empty shelf over a folder.
func NewShelf(f Folder) *Shelf { return &Shelf{folder: f, owners: map[string]*share{}} }

// OwnerOf returns whose files those of a principal are: a sub-agent has its own.
func OwnerOf(p *sallyport.Principal) string { return sallyport.SessionKey(p.Name, p.Delegation) }

var (
	errFull    = fmt.Errorf("too many files are kept: %d of %d MiB of a principal, %d of %d MiB in all", maxOwnKept, maxOwnBytes>>20, maxKept, maxBytes>>20)
	errUnknown = errors.New("no attachment of this name is kept")
)

// TakeFile stores a file for a call. The caller calls release when the call is over.
func (s *Shelf) TakeFile(owner, name string, in io.Reader) (a sallyport.Attachment, release func(), err error) {
	counted := &countedReader{s: s, owner: owner, in: in}
	if !s.countFiles(owner, 1, 0) {
		return a, nil, errFull
	}
	if a, err = s.folder.Add(name, counted); err != nil {
		s.countFiles(owner, -1, -counted.n)
		return a, nil, err
	}
	return a, sync.OnceFunc(func() {
		s.folder.Remove(a.Ref)
		s.countFiles(owner, -1, -counted.n)
	}), nil
}

// countFiles adds to what is kept, unless that is too much. It always takes away.
func (s *Shelf) countFiles(owner string, files int, bytes int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.owners[owner]
	if own == nil {
		own = &share{kept: map[string]*upload{}}
		s.owners[owner] = own
	}
	more := files > 0 || bytes > 0
	if more && (s.all.files+files > maxKept || own.files+files > maxOwnKept || s.all.bytes+bytes > maxBytes || own.bytes+bytes > maxOwnBytes) {
		return false
	}
	s.all.files, s.all.bytes = s.all.files+files, s.all.bytes+bytes
	own.files, own.bytes = own.files+files, own.bytes+bytes
	if own.files == 0 {
		delete(s.owners, owner)
	}
	return true
}

// countedReader counts what it reads as kept.
type countedReader struct {
	s     *Shelf
	owner string
	in    io.Reader
	n     int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if n > 0 && !c.s.countFiles(c.owner, 0, int64(n)) {
		return 0, errFull
	}
	c.n += int64(n)
	return n, err
}

// KeepUpload stores an upload for a while, for its owner alone. The same content begins
// its time again.
func (s *Shelf) KeepUpload(owner, name string, in io.Reader) (sallyport.Attachment, error) {
	a, release, err := s.TakeFile(owner, name, in)
	if err != nil {
		return a, err
	}
	u := &upload{file: a, holders: 1, release: release}
	u.end = time.AfterFunc(Lifetime, func() { s.endUpload(owner, u) })
	s.mu.Lock()
	own := s.owners[owner] // is there: it counts the file
	before := own.kept[a.Ref]
	own.kept[a.Ref] = u
	s.mu.Unlock()
	if before != nil {
		s.endUpload(owner, before)
	}
	return a, nil
}

// FindUpload returns an upload of an owner for a call. The caller calls release when
// the call is over. The refs of other owners are as unknown as any.
func (s *Shelf) FindUpload(owner, ref string) (a sallyport.Attachment, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.owners[owner]
	if own == nil || own.kept[ref] == nil {
		return a, nil, errUnknown
	}
	u := own.kept[ref]
	u.holders++
	return u.file, sync.OnceFunc(func() { s.releaseUpload(u) }), nil
}

// DropUpload ends the time of an upload. It reports whether there was one.
func (s *Shelf) DropUpload(owner, ref string) bool {
	s.mu.Lock()
	var u *upload
	if own := s.owners[owner]; own != nil {
		u = own.kept[ref]
	}
	s.mu.Unlock()
	return u != nil && s.endUpload(owner, u)
}

// endUpload takes an upload from its owner. Calls that have it keep it. It
// reports whether it was there.
func (s *Shelf) endUpload(owner string, u *upload) bool {
	u.end.Stop()
	s.mu.Lock()
	if u.over {
		s.mu.Unlock()
		return false
	}
	u.over = true
	if own := s.owners[owner]; own.kept[u.file.Ref] == u {
		delete(own.kept, u.file.Ref)
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
