package overlay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/denyfloor"
)

func TestNewRefusesWhatCannotBecomeALayer(t *testing.T) {
	ws, _ := workspace(t, "echo 1 >f")
	tests := []struct {
		name, write, want string
	}{
		{"a missing write path", filepath.Join(ws, "missing"), "no such file"},
		{"a file as write path", filepath.Join(ws, "f"), "not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := New([]string{tt.write}, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || v != nil {
				t.Errorf("New() = %v, %v; want %q", v, err, tt.want)
			}
		})
	}
}

func TestBoundsOfWhatAChildMayLeave(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{{Options{MaxEntries: 3}, "more than 3 files, folders and removals"}, {Options{MaxBytes: 100}, "more than 100 bytes"}, {Options{MaxEntries: 4, MaxBytes: 400}, ""}} {
		ws, scratch := workspace(t, "echo 1 >a")
		v, err := New([]string{ws}, &tt.o)
		must(t, err)
		attach(t, v, scratch)
		for _, n := range []string{"a", "b", "c", "d"} {
			must(t, os.WriteFile(filepath.Join(v.layers[0].upper, n), make([]byte, 100), 0o600))
		}
		_, err = v.Commit(t.Context(), denyfloor.New(nil))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("Commit with %+v = %v, want %q", tt.o, err, tt.want)
		}
		if _, err := os.Stat(filepath.Join(ws, "b")); (err == nil) != (tt.want == "") {
			t.Errorf("with %+v: committed in part: %v", tt.o, err)
		}
		v.Discard()
		v.Discard()
	}
}

func TestADeadContextCommitsNothing(t *testing.T) {
	ws, scratch := workspace(t, "echo 1 >a")
	v := begin(t, scratch, ws)
	must(t, os.WriteFile(filepath.Join(v.layers[0].upper, "b"), []byte("2"), 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Commit(ctx, denyfloor.New(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit() = %v", err)
	}
	if _, err := os.Stat(filepath.Join(ws, "b")); err == nil {
		t.Error("something was committed")
	}
}

func TestWhiteoutsWithoutADeviceNeedAMarkedDirectory(t *testing.T) {
	ws, scratch := workspace(t, "mkdir d e; echo 1 >d/x; echo 1 >e/x")
	v := begin(t, scratch, ws)
	for _, d := range []string{"d", "e"} {
		up := filepath.Join(v.layers[0].upper, d)
		must(t, os.Mkdir(up, 0o755))
		must(t, os.WriteFile(filepath.Join(up, "x"), nil, 0o644))
		must(t, unix.Setxattr(filepath.Join(up, "x"), "user.overlay.whiteout", []byte("y"), 0))
	}
	must(t, unix.Setxattr(filepath.Join(v.layers[0].upper, "d"), "user.overlay.opaque", []byte("x"), 0))
	got, err := v.Diff(t.Context())
	must(t, err)
	if diff := cmp.Diff([]string{"!- d/x", "!~ e/x"}, summarizeChanges(ws, got)); diff != "" {
		t.Errorf("Diff() (-want +got):\n%s", diff)
	}
}

func TestAChangeBetweenJudgingAndCarryingIsSeen(t *testing.T) {
	ws, scratch := workspace(t, "echo 1 >a")
	v := begin(t, scratch, ws)
	must(t, os.WriteFile(filepath.Join(v.layers[0].upper, "a"), []byte("2"), 0o644))
	must(t, os.WriteFile(filepath.Join(v.layers[0].upper, "b"), []byte("2"), 0o644))
	steps, err := v.planSteps(t.Context())
	must(t, err)
	shell(t, ws, "echo 33 >a; echo 33 >b")
	c := &carrier{start: v.start, away: map[inode]bool{}}
	for _, s := range steps {
		c.carryStep(s)
		if s.Committed || !strings.HasPrefix(s.Why, "STALE_WRITE") {
			t.Errorf("%s: committed %v, %q", s.rel, s.Committed, s.Why)
		}
	}
	shell(t, ws, `[ "$(cat a b)" = "33
33" ]`)
}

// TestA5_RepositoriesAreNotMadeOfWhatWasThere has a child make a repository around
// configuration that was committed before, and one of the layer's own folder.
func TestA5_RepositoriesAreNotMadeOfWhatWasThere(t *testing.T) {
	const floor = " on the always-deny floor"
	for name, tt := range map[string]struct {
		base, child string
		want        []string
	}{
		"around configuration": {
			"mkdir -p x/hooks; echo 1 >x/config", "cd x; mkdir objects refs; echo 1 >HEAD; echo 1 >y",
			[]string{"!+ x/HEAD" + floor, "!+ x/objects" + floor, "!+ x/refs" + floor, "+ x/y"},
		},
		"around commondir": {"mkdir x; echo . >x/commondir", "echo 1 >x/HEAD", []string{"!+ x/HEAD" + floor}},
		"of the layer": {
			"echo 1 >y", "mkdir objects refs; echo 1 >HEAD; echo 1 >config",
			[]string{"+ HEAD", "!+ config" + floor, "+ objects", "+ refs"},
		},
		"without configuration": {"mkdir x", "cd x; mkdir objects refs", []string{"+ x/objects", "+ x/refs"}},
	} {
		t.Run(name, func(t *testing.T) {
			ws, scratch := workspace(t, tt.base)
			v := begin(t, scratch, ws)
			child(t, v, ws, tt.child)
			got, err := v.Commit(t.Context(), denyfloor.New(nil))
			must(t, err)
			if d := cmp.Diff(tt.want, summarizeChanges(ws, got)); d != "" {
				t.Errorf("Commit() (-want +got):\n%s", d)
			}
		})
	}
}
