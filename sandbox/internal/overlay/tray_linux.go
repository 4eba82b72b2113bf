package overlay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/internal/tray"
)

// Why a name of a tray is not carried back.
const (
	whyNotFile    = "only a file is carried back: this is a link, a folder, or a device"
	whySecondName = "it has a second name: a hard link is not carried back"
	whyNotGranted = "not granted: of a new file's folder only the granted name is carried back"
)

// maxLeft bounds the names that are reported beside the granted ones.
const maxLeft = 64

// Trays are the folders of one child in which it creates granted files that do
// not exist yet. They are carried back while the child lives, too: a child that
// writes in folders of the host has its files there at once. Its methods may be
// called at the same time.
type Trays struct {
	mu    sync.Mutex
	root  *os.File // nil before Attach, and after Discard
	floor *denyfloor.Floor
	// names are other names of paths of the reach, by which the floor may know them.
	names []writePath
	list  []*layer
	files []*trayFile
	// shown are the entries of the host in each tray, which are mounts.
	shown map[*layer]map[string]bool
}

// trayFile is one granted name.
type trayFile struct {
	layer *layer
	name  string
	// seen is what was in the tray when it was carried back or refused last, and
	// settled is true when what is written from then on has another time.
	seen    lowerState
	settled bool
	// base is what was put on the host; lost is true once the host has changed it.
	base lowerState
	lost bool
	// change is what became of it, nil as long as the child made nothing.
	change *sallyport.Change
}

// NewTrays opens the folders of a plan. Given maps other names of paths to where
// these lead.
func NewTrays(plan []tray.Tray, floor *denyfloor.Floor, given map[string]string) (*Trays, error) {
	t := &Trays{floor: floor, shown: map[*layer]map[string]bool{}}
	for name, real := range given {
		t.names = append(t.names, writePath{name, real})
	}
	for _, p := range plan {
		l := &layer{lower: p.Dir, closed: map[string]fs.FileMode{}}
		t.list = append(t.list, l)
		var err error
		if l.base, err = place.Open(p.Dir); err == nil {
			err = unix.Fstat(int(l.base.Fd()), &l.root)
		}
		if err != nil {
			t.Discard()
			return nil, fmt.Errorf("folder of a new file: %w", err)
		}
		for _, name := range p.Names {
			t.files = append(t.files, &trayFile{layer: l, name: name})
		}
	}
	return t, nil
}

// Show records that an entry of a folder is shown in its tray.
func (t *Trays) Show(dir, name string) {
	for _, l := range t.list {
		if l.lower != dir {
			continue
		}
		if t.shown[l] == nil {
			t.shown[l] = map[string]bool{}
		}
		t.shown[l][name] = true
	}
}

// Mounts returns what is to be mounted, as [Overlay.Mounts] does.
func (t *Trays) Mounts() []Mount {
	v := Overlay{layers: t.list}
	out := v.Mounts()
	for i := range out {
		// What is in the folder is the child's: its owner is, too.
		out[i].Mode = 0o700
	}
	return out
}

// Attach takes over the folder of memory with the trays, before the child runs.
func (t *Trays) Attach(root *os.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.root = root
	for i, l := range t.list {
		l.upper = "/proc/self/fd/" + strconv.Itoa(int(root.Fd())) + "/" + strconv.Itoa(i) + "/upper"
	}
}

// UsedUp is [Overlay.UsedUp].
func (t *Trays) UsedUp() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return usedUp(t.root)
}

// Discard lets go of the trays.
func (t *Trays) Discard() {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := Overlay{layers: t.list, root: t.root}
	v.Discard()
	t.root = nil
}

// Carry carries back what the child has changed since the last time. It is for
// the time at which the child lives.
func (t *Trays) Carry(ctx context.Context) { t.carryFiles(ctx, false) }

// Finish carries back what is left when the child is gone, and returns what
// became of all of it, sorted by path.
func (t *Trays) Finish(ctx context.Context) []sallyport.Change {
	t.carryFiles(ctx, true)
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []sallyport.Change
	for _, f := range t.files {
		if f.change != nil {
			out = append(out, *f.change)
		}
	}
	if t.root != nil {
		for _, l := range t.list {
			out = append(out, t.listLeft(l)...)
		}
	}
	slices.SortStableFunc(out, func(a, b sallyport.Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// listLeft lists what a child leaves in a tray beside the granted names.
func (t *Trays) listLeft(l *layer) (out []sallyport.Change) {
	entries, err := l.listUpper(".")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		granted := slices.ContainsFunc(t.files, func(f *trayFile) bool { return f.layer == l && f.name == e.Name() })
		if granted || t.shown[l][e.Name()] || len(out) == maxLeft {
			continue
		}
		ch := sallyport.Change{Path: filepath.Join(l.lower, e.Name()), Kind: sallyport.ChangeAdded, Why: whyNotGranted, NotGranted: true}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			ch.Bytes = info.Size()
		}
		out = append(out, ch)
	}
	return out
}

// carryFiles carries back each name that has changed.
func (t *Trays) carryFiles(ctx context.Context, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.root == nil {
		return
	}
	for _, l := range t.list {
		l.live = !last
	}
	for _, f := range t.files {
		if ctx.Err() != nil {
			return
		}
		t.carryFile(ctx, f, last)
	}
}

// carryFile carries back one name, when it has changed since it was looked at.
func (t *Trays) carryFile(ctx context.Context, f *trayFile, last bool) {
	before := coarseNow()
	now, err := f.statLower()
	if err != nil {
		return // It is looked at again, at the end with the child's access lifted.
	}
	same := now.exists == f.seen.exists && (!now.exists || sameState(&now.st, &f.seen.st))
	if same && !now.exists || same && f.settled && !last {
		return
	}
	s, why := f.newStep(now)
	switch {
	case same && f.change != nil && f.change.Kept != "":
		return
	case same && f.change != nil && f.change.Committed && (f.settled && f.isHostChanged() || f.holdsSame(s)):
		f.settled = isOlder(&now.st, before)
		return
	case s == nil:
		f.seen = now
		return
	case why == "":
		why = t.findReason(ctx, s)
	}
	if why == "" {
		why = f.compareHost(s, last)
	}
	if s.Why = why; why == "" {
		f.carryStep(s, last)
	}
	f.change = &s.Change
	f.seen, f.settled = now, now.exists && isOlder(&now.st, before)
	switch {
	case why == staleVanished:
		f.change = nil // It is gone from both.
	case why == "" && s.isStale():
		f.seen = lowerState{exists: !now.exists} // It is tried again.
	}
}

// statLower describes what is in the tray under the name.
func (f *trayFile) statLower() (lowerState, error) {
	var s lowerState
	err := unix.Lstat(filepath.Join(f.layer.upper, f.name), &s.st)
	if errors.Is(err, unix.EACCES) {
		if err = f.layer.reopen("."); err == nil {
			err = unix.Lstat(filepath.Join(f.layer.upper, f.name), &s.st)
		}
	}
	if err != nil {
		return s, ignoreMissing(err)
	}
	s.exists = true
	return s, nil
}

// newStep starts the step that a state of the tray asks for, nil when it asks
// for none, and says what is against it.
func (f *trayFile) newStep(now lowerState) (s *step, why string) {
	s = &step{layer: f.layer, rel: f.name, base: f.base}
	s.Path, s.Kind = filepath.Join(f.layer.lower, f.name), sallyport.ChangeAdded
	switch {
	case !now.exists && !f.base.exists:
		if f.change == nil {
			return nil, ""
		}
		f.change = nil // What was refused is gone again.
		return nil, ""
	case !now.exists:
		s.do, s.Kind = removeAny, sallyport.ChangeDeleted
	case now.fileType() != unix.S_IFREG:
		s.do, why = never, whyNotFile
	default:
		s.do, s.Bytes, s.mode = placeFile, now.st.Size, fs.FileMode(now.st.Mode).Perm()
		if now.st.Nlink > 1 {
			why = whySecondName
		}
	}
	return s, why
}

// findReason returns what the floor has against a name.
func (t *Trays) findReason(ctx context.Context, s *step) string {
	j := &commitChecker{Overlay: &Overlay{names: t.names}, ctx: ctx, floor: t.floor}
	if why := j.floorReason(s.layer, s.rel); why != "" {
		return why
	}
	for _, name := range j.namesOf(s.Path) {
		if why, denied := t.floor.CheckPlace("write", name); denied {
			return "on the always-deny floor: " + why
		}
	}
	return j.steeringReason(s)
}

// compareHost returns what the host has done to the name since it was looked at.
// What it removed it may get again. What it changed stays: at the end a copy of
// what the child wrote is put beside it.
func (f *trayFile) compareHost(s *step, last bool) string {
	host, err := f.layer.statLower(f.name)
	if err != nil {
		return failureReason(err)
	}
	switch {
	case !host.exists:
		f.base, f.lost = lowerState{}, false
		if s.do == removeAny {
			return staleVanished
		}
	case !f.base.exists || !f.base.isUnchanged(host):
		f.lost = true
	}
	s.base = f.base
	if f.lost && (!last || s.do == removeAny) {
		return staleChanged
	}
	if f.lost {
		s.base = lowerState{} // The name is taken, so that a copy is kept.
	}
	return ""
}

// isHostChanged reports whether the host has changed or removed what was put there.
func (f *trayFile) isHostChanged() bool {
	host, err := f.layer.statLower(f.name)
	return err == nil && !f.base.isUnchanged(host)
}

// carryTries is how often a step is tried, each time after a longer wait. A
// process that is being started holds what the gate wrote last for a moment.
const carryTries = 6

// carryStep carries one step over, and notes what stands on the host then.
func (f *trayFile) carryStep(s *step, last bool) {
	for try := range carryTries {
		c := &carrier{away: make(map[inode]bool), again: !last || try < carryTries-1 && !f.lost}
		s.Why = ""
		c.carryStep(s)
		c.removeOldest(0)
		if s.Kept != "" || !s.isStale() {
			break
		}
		time.Sleep(time.Millisecond << try)
	}
	if !s.Committed {
		return
	}
	f.base, f.lost = lowerState{}, false
	if s.do == removeAny {
		return
	}
	host, err := f.layer.statLower(f.name)
	if err == nil && host.exists && inodeOf(&host.st) == s.made && host.st.Size == s.Bytes {
		f.base = host
	} else {
		f.lost = err != nil || host.exists // The host was faster.
	}
}

// isStale reports whether the host was in the way of a step, as it may not be in a
// moment.
func (s *step) isStale() bool {
	return !s.Committed && s.Why != staleParent && strings.HasPrefix(s.Why, string(sallyport.CodeStaleWrite))
}

// holdsSame reports whether the host holds what is in the tray: a time tells no
// two writes of one moment apart, nor those through a mapping.
func (f *trayFile) holdsSame(s *step) bool {
	if s == nil || s.do != placeFile {
		return false
	}
	info, err := os.Lstat(s.upperPath())
	if err != nil {
		return false
	}
	host, err := f.layer.statLower(f.name)
	if err != nil || !host.exists {
		return false
	}
	s.base = host
	same, err := s.sameFile(info)
	return err == nil && same
}

// sameState reports whether nothing has changed a file between two looks.
func sameState(a, b *unix.Stat_t) bool {
	return inodeOf(a) == inodeOf(b) && a.Mode == b.Mode && a.Nlink == b.Nlink && a.Size == b.Size && a.Mtim == b.Mtim && a.Ctim == b.Ctim
}

// isOlder reports whether a file was changed before a moment, so that a change
// from then on shows in its time.
func isOlder(st *unix.Stat_t, moment time.Time) bool { return time.Unix(st.Ctim.Unix()).Before(moment) }
