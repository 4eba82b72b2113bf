package readlog

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// prefix begins the name of each file; so many random bytes in hex follow.
	prefix      = "reads-"
	randomBytes = 16
	// maxRead bounds what is read of a file of another process.
	maxRead = 2 * maxBytes
	// headSize is the size of a read without its texts: size, CRC-32C of what
	// follows, time in Unix nanoseconds, digest, lengths of session, path and
	// identity; integers are little-endian.
	headSize = 60
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ownFile is a file of this process.
type ownFile struct {
	file *os.File
	name string
	size int64
}

// createFile makes a file and locks it.
func createFile(dir string) (*ownFile, error) {
	for {
		var random [randomBytes]byte
		_, _ = rand.Read(random[:]) // which does not fail
		name := prefix + hex.EncodeToString(random[:])
		path := filepath.Join(dir, name)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		// Another process may take it for one of a dead process until it is locked.
		got, err := tryLock(f)
		if err == nil && got && leadsTo(path, f) {
			return &ownFile{file: f, name: name}, nil
		}
		if err != nil {
			return nil, errors.Join(err, f.Close(), os.Remove(path))
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

func leadsTo(path string, f *os.File) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return false
	}
	here, err := f.Stat()
	return err == nil && os.SameFile(there, here)
}

// lockFile opens a file of a dead process and locks it. It returns nil when its
// process lives, or another has removed it.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if got, err := tryLock(f); err != nil || !got || !leadsTo(path, f) {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *ownFile) append(b []byte) error {
	// What a failed write left is written over by the next.
	n, err := f.file.WriteAt(b, f.size)
	if err == nil {
		f.size += int64(n)
	}
	return err
}

func (f *ownFile) empty() error {
	f.size = 0
	return f.file.Truncate(0)
}

func (f *ownFile) remove(dir string) error { return removeLocked(f.file, filepath.Join(dir, f.name)) }

// isFileName reports whether a name is one that createFile gives.
func isFileName(name string) bool {
	random, ok := strings.CutPrefix(name, prefix)
	b, err := hex.DecodeString(random)
	return ok && err == nil && len(b) == randomBytes && random == hex.EncodeToString(b)
}

// listFiles returns the names of the files of all processes.
func listFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if isFileName(e.Name()) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// readFile reads a file of another process; one that is not there has nothing.
func readFile(path string) ([]Read, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return nil, err
	}
	var reads []Read
	for {
		r, rest, ok := cutRead(b)
		if !ok {
			return reads, nil
		}
		reads, b = append(reads, r), rest
	}
}

func appendRead(b []byte, r *Read) []byte {
	le, at := binary.LittleEndian, len(b)
	b = le.AppendUint32(b, uint32(headSize+len(r.Session)+len(r.Path)+len(r.Identity)))
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, uint64(r.Time.UnixNano()))
	b = append(b, r.Digest[:]...)
	b = le.AppendUint32(b, uint32(len(r.Session)))
	b = le.AppendUint32(b, uint32(len(r.Path)))
	b = le.AppendUint32(b, uint32(len(r.Identity)))
	b = append(append(append(b, r.Session...), r.Path...), r.Identity...)
	le.PutUint32(b[at+4:], crc32.Checksum(b[at+8:], castagnoli))
	return b
}

// cutRead takes the read at the beginning. What does not pass is the end: it is
// being written, or its process died while it wrote.
func cutRead(b []byte) (r Read, rest []byte, ok bool) {
	le := binary.LittleEndian
	if len(b) < headSize {
		return r, nil, false
	}
	size := int64(le.Uint32(b))
	session, path, identity := int64(le.Uint32(b[48:])), int64(le.Uint32(b[52:])), int64(le.Uint32(b[56:]))
	if size > int64(len(b)) || headSize+session+path+identity != size {
		return r, nil, false
	}
	b, rest = b[:size], b[size:]
	if crc32.Checksum(b[8:], castagnoli) != le.Uint32(b[4:]) {
		return r, nil, false
	}
	r.Time = time.Unix(0, int64(le.Uint64(b[8:])))
	copy(r.Digest[:], b[16:])
	texts := string(b[headSize:])
	r.Session, r.Path, r.Identity = texts[:session], texts[session:session+path], texts[session+path:]
	return r, rest, true
}
