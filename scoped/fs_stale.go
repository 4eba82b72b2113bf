package scoped

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// rememberRead stores what the session saw, when there is a memory and a session.
func (b *boundFiles) rememberRead(f *os.File, real string, data []byte) error {
	if b.f.reads == nil || b.session == "" {
		return nil
	}
	return b.f.reads.Remember(b.ctx, b.session, sallyport.ReadRecord{
		Path: memoryKey(real), Identity: fileIdentity(f), Digest: sha256.Sum256(data), Time: time.Now(),
	})
}

// memoryKey is what the memory knows a path by: a digest, because a path may hold
// a secret and the memory is on the disk.
func memoryKey(real string) string {
	sum := sha256.Sum256([]byte(real))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkStale compares the file that is about to be replaced with what this
// session last saw of it, found by path or by identity, so that neither a link
// nor another name hides a change. old is nil when the file is missing. It
// must be called under the lock of the file. A file that this session never
// read is not stale, and neither is one that was only touched.
func (b *boundFiles) checkStale(p, real string, old *os.File) error {
	if b.f.reads == nil || b.session == "" {
		return nil
	}
	var id string
	if old != nil {
		id = fileIdentity(old)
	}
	rec, ok, err := b.f.reads.Recall(b.ctx, b.session, memoryKey(real), id)
	if err != nil {
		return newPathError(opWrite, p, err)
	}
	if !ok {
		return nil
	}
	if old == nil {
		return b.refuseStale(p, rec.Time, "but no longer exists; read it again before writing")
	}
	sum, err := hashFile(b.ctx, old)
	if err != nil {
		return newPathError(opWrite, p, err)
	}
	if sum != rec.Digest {
		return b.refuseStale(p, rec.Time, "but has changed since; read it again before writing")
	}
	return nil
}

func (b *boundFiles) refuseStale(p string, read time.Time, what string) error {
	sendDecision(b.note, sallyport.Decision{
		Step: sallyport.StepAccess, Capability: group.Files + "." + opWrite, Resource: p,
		Why: "write " + p + ": not what this session read", Fix: "read " + p + " again",
	})
	return &sallyport.Error{
		Code: sallyport.CodeStaleWrite, Resource: p, Operation: opWrite,
		Detail: p + " was read at " + read.UTC().Format(time.RFC3339) + " " + what,
	}
}

func hashFile(ctx context.Context, f *os.File) (sum [sha256.Size]byte, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return sum, err
	}
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		_, err := io.CopyN(h, f, readStep)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return sum, err
		}
	}
	h.Sum(sum[:0])
	_, err = f.Seek(0, io.SeekStart)
	return sum, err
}
