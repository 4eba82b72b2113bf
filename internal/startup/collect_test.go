package startup

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestASmallHeapIsCollectedRarely(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 400},
		{1 << 20, 400},
		{8 << 20, 300},
		{16 << 20, 100},
		{24 << 20, 100},
		{1 << 30, 100},
		{1 << 40, 100},
	} {
		if got := percentFor(c.live, 100); got != c.want {
			t.Errorf("percentFor(%d) = %d, want %d", c.live, got, c.want)
		}
	}
}

// The percentage is the usual one while much lives, and grows again when that is gone.
func TestThePercentageFollowsWhatLives(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	(&collector{usual: 100}).followHeap()
	awaitPercent(t, func(percent uint64) bool { return percent > 100 })
	much := make([]*[1 << 10]byte, 40<<10)
	for i := range much {
		much[i] = new([1 << 10]byte)
	}
	awaitPercent(t, func(percent uint64) bool { return percent == 100 })
	runtime.KeepAlive(much)
	much = nil
	awaitPercent(t, func(percent uint64) bool { return percent > 100 })
}

// awaitPercent collects until the percentage is one that is wanted.
func awaitPercent(t *testing.T, wanted func(percent uint64) bool) {
	t.Helper()
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	for range 1000 {
		runtime.GC()
		metrics.Read(percent)
		if wanted(percent[0].Value.Uint64()) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("the percentage stays %d", percent[0].Value.Uint64())
}
