package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// wrapError turns an error of the driver or of the system into one whose text is
// safe to show. Other errors pass: they are the caller's own.
func wrapError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*store.Error](err); ok {
		return err
	}
	if reason := reasonOf(err); reason != nil {
		return &store.Error{Reason: reason, Err: err}
	}
	return err
}

// wrapError is the function wrapError for what failed on a connection under a
// context.
func (c *conn) wrapError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil && errors.Is(err, sqlite3.INTERRUPT) {
		return cause
	}
	// The engine cleans up before it reports a failed write, and the
	// driver forgets the system's error on the way: look again.
	if errors.Is(err, sqlite3.IOERR) && diskFull(c.path) {
		return &store.Error{Reason: store.ErrFull, Err: err}
	}
	return wrapError(err)
}

// reasonOf returns nil for an error that is neither the driver's nor the
// system's.
func reasonOf(err error) error {
	// The system's own word first: the driver reports a full disk as an
	// input/output error that wraps it.
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, errQuota), errors.Is(err, syscall.EFBIG):
		return store.ErrFull
	case errors.Is(err, syscall.EROFS):
		return store.ErrUnwritable
	}
	code, ok := errorCode(err)
	if !ok {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return store.ErrUnwritable
		case isPathError(err):
			return store.ErrFailed
		}
		return nil
	}
	if errors.Is(err, sqlite3.IOERR_WRITE) || errors.Is(err, sqlite3.IOERR_FSYNC) {
		return store.ErrUnwritable
	}
	switch code {
	case sqlite3.BUSY, sqlite3.LOCKED, sqlite3.PROTOCOL:
		return store.ErrLocked
	case sqlite3.FULL:
		return store.ErrFull
	case sqlite3.CORRUPT, sqlite3.NOTADB, sqlite3.FORMAT:
		return store.ErrDamaged
	case sqlite3.READONLY, sqlite3.PERM, sqlite3.AUTH:
		return store.ErrUnwritable
	default:
		return store.ErrFailed
	}
}

func errorCode(err error) (sqlite3.ErrorCode, bool) {
	if e, ok := errors.AsType[*sqlite3.Error](err); ok {
		return e.Code(), true
	}
	if e, ok := errors.AsType[sqlite3.ExtendedErrorCode](err); ok {
		return e.Code(), true
	}
	return errors.AsType[sqlite3.ErrorCode](err)
}

func isPathError(err error) bool {
	_, isPath := errors.AsType[*fs.PathError](err)
	_, isCall := errors.AsType[syscall.Errno](err)
	return isPath || isCall
}

// errorDetail returns what an operator who opens a file reads beside the
// reason.
func errorDetail(err error) string {
	e, ok := errors.AsType[*store.Error](err)
	switch {
	case !ok || e.Err == nil:
		return ""
	case errors.Is(err, store.ErrNewer):
		return " (" + e.Err.Error() + ")"
	case errors.Is(err, store.ErrDamaged):
		if d, ok := errors.AsType[*recordlog.Damage](err); ok {
			return " (" + d.Why + "; nothing was changed)"
		}
		return " (nothing was changed; put a copy back or move the file away)"
	case errors.Is(err, store.ErrLocked):
		return " (another process holds it)"
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return " (" + p.Err.Error() + ")"
	}
	return ""
}
