package scoped

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// The two directions of file reach, as refusals name them.
const (
	opRead  = "read"
	opWrite = "write"
)

// defaultMaxFileBytes bounds a file that is read whole. It is far above any
// text a model can use and far below what would hurt the process.
const defaultMaxFileBytes = 64 << 20

// maxTouches bounds the allowed accesses that one call records; a search over
// a large folder must not fill the audit log.
const maxTouches = 64

// fileReach is the file reach of one grant, compiled once and shared by all its
// calls. It is safe for concurrent use.
type fileReach struct {
	read, write []*grantedEntry
	// names is where paths lead that the operator spells through links.
	names map[string]string
	// places says why a granted place is withheld; nil knows no reasons.
	places   sallyport.Places
	floor    *denyfloor.Floor
	maxBytes int64
	reads    sallyport.ReadMemory
}

// newFileReach compiles a grant. Entries are opened on first use. An empty entry
// grants nothing; one that is not an absolute path is an error.
func newFileReach(g sallyport.FSGrant, b *sallyport.FileBackend) (*fileReach, error) {
	if b == nil {
		b = &sallyport.FileBackend{}
	}
	if b.MaxFileBytes < 0 {
		return nil, fmt.Errorf("file backend: MaxFileBytes is %d, want 0 or more", b.MaxFileBytes)
	}
	f := &fileReach{
		names: g.Names, floor: denyfloor.New(b), maxBytes: cmp.Or(b.MaxFileBytes, defaultMaxFileBytes), reads: b.Reads,
	}
	byPath := make(map[string]*grantedEntry)
	var errs []error
	for _, list := range []struct {
		paths []string
		to    *[]*grantedEntry
	}{{g.Read, &f.read}, {g.Write, &f.write}} {
		for _, p := range list.paths {
			if p == "" {
				continue
			}
			clean, err := reach.CleanPath(p)
			if err != nil {
				errs = append(errs, fmt.Errorf("file grant: %w", err))
				continue
			}
			if byPath[clean] == nil {
				byPath[clean] = &grantedEntry{path: clean}
			}
			*list.to = append(*list.to, byPath[clean])
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, e := range byPath {
		e.parent = nearestParent(byPath, e.path)
	}
	return f, nil
}

// nearestParent returns the narrowest entry of either direction that strictly
// contains p, nil when there is none.
func nearestParent(entries map[string]*grantedEntry, p string) *grantedEntry {
	for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
		if e := entries[dir]; e != nil && dir != p {
			return e
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// closeEntries releases the open directories. Accessors that are still around then
// fail with fs.ErrClosed.
func (f *fileReach) closeEntries() {
	for _, e := range slices.Concat(f.read, f.write) {
		e.closeForGood()
	}
}

// bindCall returns the accessor of one call. The accessor lives for one call,
// which is why it may keep the context: the methods of fs.FS have no parameter
// for one. The session is the key of the stale-write memory; note receives the
// decisions, from several goroutines when the tool uses several; it may be nil.
func (f *fileReach) bindCall(ctx context.Context, workspace, session string, note func(sallyport.Decision)) sallyport.FS {
	return &boundFiles{f: f, ctx: ctx, workspace: workspace, session: session, note: note}
}

// boundFiles implements sallyport.FS for one call.
type boundFiles struct {
	f                  *fileReach
	ctx                context.Context // The call's; see bindCall.
	workspace, session string
	note               func(sallyport.Decision)

	mu      sync.Mutex
	touched map[touchedPath]bool
}

// touchedPath is one access that was recorded already.
type touchedPath struct{ op, path string }

// Abs returns the absolute, cleaned form of a name. A relative name without a
// workspace to anchor it stays relative, and every other method refuses it.
func (b *boundFiles) Abs(name string) string {
	return anchorName(b.workspace, name)
}

// anchorName returns the cleaned form of a name in a folder, which may be empty.
func anchorName(folder, name string) string {
	if folder == "" || filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(folder, name)
}

// checkName is the lexical gate that every name passes before the disk is
// touched: the reach first, so that a path outside it is refused in the same
// words whether or not it exists, then the floor.
func (b *boundFiles) checkName(op, name string) (string, error) {
	if err := b.ctx.Err(); err != nil {
		return "", err
	}
	if name == "" {
		return "", b.refusePath(op, `""`, "the path is empty")
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		// First of all: cleaning would take it away, and the text about the
		// file would name another one.
		return "", b.refusePath(op, fmt.Sprintf("%+q", name), "the path holds a control character")
	}
	p, err := reach.CleanPath(b.Abs(name))
	if err != nil {
		return "", b.refusePath(op, fmt.Sprintf("%q", name), err.Error())
	}
	reason, denied := b.f.floor.Check(op, p)
	switch covered := b.f.findEntry(op, b.f.followNames(p)) != nil; {
	case !covered && denied:
		// The text is that of any path outside the grant; the operator
		// learns that a wider grant would change nothing.
		b.recordDecision(op, p, false, ": outside the granted "+op+" reach, and on the always-deny floor: "+reason, reach.FloorSource)
		return "", sallyport.PathError(op, p)
	case !covered:
		return "", b.refusePath(op, p, "outside the granted "+op+" reach")
	case denied:
		return "", b.refuseFloor(op, p, reason)
	}
	return p, nil
}

// entriesFor returns the entries of a direction. An unknown operation has none.
func (f *fileReach) entriesFor(op string) []*grantedEntry {
	switch op {
	case opRead:
		return f.read
	case opWrite:
		return f.write
	default:
		return nil
	}
}

// followNames returns where a path leads through the operator's links: that of
// the longest name that it begins with.
func (f *fileReach) followNames(p string) string {
	return reach.FollowNames(f.names, p)
}

// refuseWithheld records and returns a refusal of an entry that is withheld at
// this moment, with the reason.
func (b *boundFiles) refuseWithheld(op, asked string, e *grantedEntry) error {
	sendDecision(b.note, newWithheldDecision(b.f.places, op, asked, e.path, ": "))
	return sallyport.PathError(op, asked)
}

// findEntry returns the narrowest entry of a direction that holds p, which leads
// through no link of the operator any more.
func (f *fileReach) findEntry(op, p string) *grantedEntry {
	var best *grantedEntry
	for _, e := range f.entriesFor(op) {
		if (best == nil || len(e.path) > len(best.path)) && e.coversPath(p) {
			best = e
		}
	}
	return best
}

func (b *boundFiles) recordDecision(op, path string, allowed bool, why, source string) {
	sendDecision(b.note, sallyport.Decision{
		Step: sallyport.StepAccess, Allowed: allowed, Capability: group.Files + "." + op, Resource: path,
		Why: op + " " + path + why, Source: source,
	})
}

// refusePath records and returns a refusal by the grant.
func (b *boundFiles) refusePath(op, path, why string) error {
	b.recordDecision(op, path, false, ": "+why, "")
	return sallyport.PathError(op, path)
}

// refuseFloor records and returns a refusal by the floor, which no
// configuration turns around.
func (b *boundFiles) refuseFloor(op, path, reason string) error {
	b.recordDecision(op, path, false, ": always-deny floor: "+reason, reach.FloorSource)
	return sallyport.PathFloorError(op, path)
}

// refuseKind records and returns the refusal of what is not a regular file.
func (b *boundFiles) refuseKind(op, path string, mode fs.FileMode) error {
	if mode.IsDir() {
		return newPathError(op, path, syscall.EISDIR)
	}
	b.recordDecision(op, path, false, ": not a regular file", reach.FloorSource)
	err := sallyport.PathError(op, path)
	err.Detail += ": not a regular file"
	return err
}

// Probe decides whether a name may be read or written, links included, without
// opening what it names. explain asks it.
func (b *boundFiles) Probe(op, name string) error {
	p, err := b.checkName(op, name)
	if err != nil {
		return err
	}
	place, err := b.resolveLinks(op, p)
	if err != nil {
		return err
	}
	place.release()
	return nil
}

func (b *boundFiles) recordTouch(op, path string) {
	b.mu.Lock()
	known := b.touched[touchedPath{op, path}] || len(b.touched) >= maxTouches
	if !known {
		if b.touched == nil {
			b.touched = map[touchedPath]bool{}
		}
		b.touched[touchedPath{op, path}] = true
	}
	b.mu.Unlock()
	if !known {
		b.recordDecision(op, path, true, "", "")
	}
}

// newPathError turns an error of the operating system into one whose text names the
// path that the caller used and no other. Errors that already are the
// accessor's own, and the context's, stay what they are.
func newPathError(op, path string, err error) error {
	if _, ok := errors.AsType[*sallyport.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.EOF):
		return err
	case op == opRead && isMissing(err):
		return sallyport.FileNotFound(path)
	}
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: path, Operation: op,
		Detail: "cannot " + op + " " + path + ": " + innermostText(err), Err: err,
	}
}

// isMissing reports whether a path does not exist, which includes a path below
// something that is a file.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// innermostText returns the innermost text of an error, which holds no path.
func innermostText(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return strings.TrimSpace(err.Error())
		}
		err = inner
	}
}
