package app

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport/gateway/install"
)

func TestUnwrapTextRemovesTheWrapper(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain",
		"<untrusted source=\"unknown\" tool=\"a\">\nit failed\n</untrusted>": "it failed",
		"x: <untrusted tool=\"a\">\nit\nfailed\n</untrusted>":                "x: it\nfailed",
	} {
		if got := unwrapText(text); got != want {
			t.Errorf("unwrapText(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestANoteOfACopyIsYoung(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := &installedCopies{notes: t.TempDir()}
	for age, want := range map[time.Duration]bool{
		0: true, time.Hour: true, shareFor - time.Second: true, shareFor: false, -time.Second: false,
	} {
		is := installedCopy{Digest: "0123", Before: now.Add(-age)}
		c.writeNote("key", is)
		if got, ok := c.findNote("key", now); ok != want || got != is {
			t.Errorf("a note that is %s old = %+v, %v, want %+v, %v", age, got, ok, is, want)
		}
		if _, ok := c.findNote("other", now); ok {
			t.Error("another key has a note")
		}
	}
	none := &installedCopies{}
	none.writeNote("key", installedCopy{Before: now})
	if _, ok := none.findNote("key", now); ok {
		t.Error("a user without a home has a note")
	}
}

func TestAPackageIsInstalledOnce(t *testing.T) {
	t.Parallel()
	var c installedCopies
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ran := map[string]int{}
	run := func(p install.Package) (installedCopy, error) {
		ran[p.String()]++
		return installedCopy{Digest: p.Version, Before: p.Before}, nil
	}
	for _, tt := range []struct {
		version, bin string
		before       time.Time
		runs         int
	}{
		{"1.2.3", "", now, 1},
		{"1.2.3", "other", now, 1},
		{"1.2.4", "", now, 1},
		{"1.2.3", "", now.Add(time.Hour), 2},
	} {
		p := install.Package{Registry: install.NPM, Name: "notes", Version: tt.version, Bin: tt.bin}
		if got, err := c.installOnce(p, tt.before, run); err != nil || got.Digest != tt.version || !got.Before.Equal(tt.before) {
			t.Errorf("installOnce(%s %s) = %+v, %v", p, tt.bin, got, err)
		}
		if ran[p.String()] != tt.runs {
			t.Errorf("%s %s at %s: installed %d times, want %d", p, tt.bin, tt.before, ran[p.String()], tt.runs)
		}
	}
}

// TestPackagesAreInstalledTwoAtATime has each of two wait for the other, and counts how
// many run.
func TestPackagesAreInstalledTwoAtATime(t *testing.T) {
	t.Parallel()
	var turns installTurns
	var running, most, ran atomic.Int64
	met := make(chan struct{})
	for i := range 6 {
		turns.run(func() {
			n := running.Add(1)
			for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
			}
			switch i {
			case 0:
				met <- struct{}{}
			case 1:
				<-met
			}
			ran.Add(1)
			running.Add(-1)
		})
	}
	turns.wait()
	if most.Load() != installsAtOnce || ran.Load() != 6 {
		t.Errorf("%d of 6 ran, %d at once, want all, and %d", ran.Load(), most.Load(), installsAtOnce)
	}
}
