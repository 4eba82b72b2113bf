package survey

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// words are the elements of random trees: those of rules, and others.
var words = []string{".git", "hooks", "config", ".config", "gh", "git", "credentials", ".aws", "sso", "a", "modules", ".vscode"}

// TestEveryNameOnTheFloorIsCovered compares with the slow way: follow every
// name, through every link, and ask the floor about it.
func TestEveryNameOnTheFloorIsCovered(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		top := randomTree(t, r)
		write := seed%2 == 0
		floor := denyfloor.New(&sallyport.FileBackend{Home: filepath.Join(top, "home")})
		roots := []string{filepath.Join(top, "home"), filepath.Join(top, "ws")}
		read, writes, ops := roots, []string(nil), []string{opRead}
		if write {
			read, writes, ops = nil, roots, []string{opRead, opWrite}
		}
		masks, err := New().Floor(t.Context(), floor, read, writes)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		n := &namer{t: t, floor: floor, roots: roots, masks: masks, left: 4_000}
		for _, root := range roots {
			n.visit(root, 0, ops...)
		}
		if t.Failed() {
			t.Fatalf("seed %d: masks %v", seed, summarizeMasks(top, masks))
		}
	}
}

func randomTree(t *testing.T, r *rand.Rand) string {
	top := plant(t, "home/", "ws/", "out/")
	dirs := []string{"home", "ws", "ws", "out"}
	for range 25 {
		path := filepath.Join(dirs[r.IntN(len(dirs))], words[r.IntN(len(words))])
		if _, err := os.Lstat(filepath.Join(top, path)); err == nil {
			continue
		}
		switch k := r.IntN(10); {
		case k < 5:
			plantOne(t, top, path+"/")
			dirs = append(dirs, path)
		case k < 8:
			plantOne(t, top, path+" -> TOP/"+dirs[r.IntN(len(dirs))])
		default:
			plantOne(t, top, path)
		}
	}
	return top
}

// namer follows names up to seven elements below a root.
type namer struct {
	t     *testing.T
	floor *denyfloor.Floor
	roots []string
	masks []Mask
	left  int
}

// visit checks a name for the operations that are not denied above it: what a
// masked directory leads to is judged by its own name.
func (n *namer) visit(name string, depth int, ops ...string) {
	if n.left--; n.left < 0 || depth > 7 {
		return
	}
	if ops = n.check(name, ops); len(ops) == 0 {
		return
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return
	}
	for _, e := range entries {
		n.visit(filepath.Join(name, e.Name()), depth+1, ops...)
	}
}

// check returns the operations that the floor leaves open.
func (n *namer) check(name string, ops []string) (open []string) {
	real, err := filepath.EvalSymlinks(name)
	around := func(r string) bool { return reach.Within(real, r) }
	if err != nil || !isInside(n.roots, real) && !slices.ContainsFunc(n.roots, around) {
		// What lies outside the reach is no part of a name within it.
		return nil
	}
	for _, op := range ops {
		_, denied := n.floor.Check(op, name)
		if denied && isInside(n.roots, real) && !n.covered(op, real) {
			n.t.Errorf("%s of %s, which is %s, is open", op, name, real)
		}
		if !denied {
			open = append(open, op)
		}
	}
	return open
}

func (n *namer) covered(op, real string) bool {
	return slices.ContainsFunc(n.masks, func(m Mask) bool {
		return !m.Link && reach.Within(m.Path, real) && (op == opWrite || !m.WriteOnly)
	})
}

func TestPrefixesOfRules(t *testing.T) {
	w := &walker{Surveyor: New(), floor: denyfloor.New(&sallyport.FileBackend{Home: "/srv/me", Deny: []string{"/opt/gate/state/x"}})}
	tests := []struct {
		path string
		want bool
	}{
		{"/ws/.git", true},
		{"/ws/.GIT", true},
		{"/ws/.git/modules", true},
		{"/ws/.git/modules/any", true},
		{"/ws/.git/objects", true},
		{"/ws/.git/logs", false},
		{"/ws/git", false},
		{"/srv/me", true},
		{"/srv/you", false},
		{"/home/you", true},
		{"/opt/gate", true},
		{"/opt/gate/state", true},
		{"/opt/other", false},
		{"/ws/.anything", true},
	}
	for _, tt := range tests {
		if got := w.mayHold(tt.path); got != tt.want {
			t.Errorf("mayHold(%q) = %v, want %v", tt.path, got, tt.want)
		}
	}
	if a, b := w.sameName("/ws/.git/.git/.git/.git/.git/.git/.git/.git"), w.sameName("/ws/.git/.git/.git/.git/.git/.git/.git/.git/.git"); a != b {
		t.Errorf("ever longer names: %q and %q", a, b)
	}
	if a, b := w.sameName("/srv/me/.config"), w.sameName("/srv/you/.config"); a == b {
		t.Errorf("a home and another directory have the same name %q", a)
	}
}
