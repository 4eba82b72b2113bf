package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/anchor"
)

// errNoRecord: there is nothing to anchor.
var errNoRecord = errors.New("the record is empty: there is no head to anchor")

// AnchorTo keeps the head of the record at a place.
func (rt *Runtime) AnchorTo(ctx context.Context, place string) (anchor.Entry, error) {
	if rt.Passing {
		return anchor.Entry{}, errNoRecord // it ends with the command
	}
	key, err := audit.ReadKey(rt.KeyPath())
	if err != nil {
		return anchor.Entry{}, err
	}
	return anchor.AppendTo(place, func() (anchor.Entry, error) { return rt.lookAtHead(ctx, key.ID()) })
}

// lookAtHead returns the head once everything up to it is on the disk.
func (rt *Runtime) lookAtHead(ctx context.Context, keyID string) (anchor.Entry, error) {
	head, err := audit.Settled(ctx, rt.State)
	if err == nil && head.Seq == 0 {
		err = errNoRecord
	}
	return anchor.NewEntry(head, keyID, time.Now()), err
}

// CheckAnchorFile refuses a file of anchors that a tool may write, and returns a warning
// about one that lies where the gate itself works.
func (rt *Runtime) CheckAnchorFile(path string) (warning string, err error) {
	c := rt.InForce().Config
	real := resolveLinks(path)
	if !isBelow(rt.ownFiles(rt.Env.Dir), real) {
		for _, w := range c.WritePlaces() {
			if isBelow([]string{asFolder(resolveLinks(w.Path)), resolveLinks(w.Path)}, real) {
				return "", fmt.Errorf("%s: tools may write there as personality %s (%s): choose another place", path, w.Role, c.Source(w.Key))
			}
		}
	}
	if isBelow([]string{asFolder(resolveLinks(c.Workspace)), asFolder(resolveLinks(filepath.Dir(rt.KeyPath())))}, real) {
		return fmt.Sprintf("%s lies beside the record: who can rewrite the record can rewrite it too; keep anchors where this user can only append", path), nil
	}
	return "", nil
}

// isBelow reports whether a path is one of those, or in one that ends with a separator.
func isBelow(list []string, path string) bool {
	for _, p := range list {
		if path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}
