package memory

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
)

// TestLimitsAreBounded uses every key there may be. Those in use stay, and the
// room of the others is found when their windows are over.
func TestLimitsAreBounded(t *testing.T) {
	const most = 1000
	l := limitTable{keys: map[string]*limitCounter{}}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	short := sallyport.RateLimit{Requests: 1, Window: time.Second}
	long := sallyport.RateLimit{Requests: 1, Window: time.Hour}
	for i := range most {
		limit := short
		if i%2 == 0 {
			limit = long
		}
		if wait, err := l.stepLimit(fmt.Sprint(i), limit, most, now); wait != 0 || err != nil {
			t.Fatalf("admit(%d) = %v, %v", i, wait, err)
		}
	}
	if _, err := l.stepLimit("one more", short, most, now); !errors.Is(err, store.ErrFull) {
		t.Fatalf("admit of one key more = %v, want ErrFull", err)
	}
	now += int64(time.Second)
	if wait, err := l.stepLimit("one more", short, most, now); wait != 0 || err != nil {
		t.Errorf("admit after a second = %v, %v, want room", wait, err)
	}
	if len(l.keys) != most/2+1 {
		t.Errorf("%d keys are left, want those in use", len(l.keys))
	}
	if wait, err := l.stepLimit("0", long, most, now); wait != time.Hour-time.Second || err != nil {
		t.Errorf("admit(0) = %v, %v, want its admission to count still", wait, err)
	}
}

// TestLimitTimesAreBounded counts on when the other keys have used up the room
// of all times but a little.
func TestLimitTimesAreBounded(t *testing.T) {
	const most = 10
	l := limitTable{slots: maxLimitSlots - 1000, keys: map[string]*limitCounter{}}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	limit := sallyport.RateLimit{Requests: 1_000_000, Window: time.Hour}
	admitted := 0
	for {
		if _, err := l.stepLimit("k", limit, most, now); err != nil {
			if !errors.Is(err, store.ErrFull) {
				t.Fatal(err)
			}
			break
		}
		admitted++
	}
	if l.slots > maxLimitSlots+1000 || admitted < 500 || admitted > 2000 {
		t.Errorf("full after %d admissions with %d slots, want the bound to hold", admitted, l.slots)
	}
	now += int64(time.Hour)
	if wait, err := l.stepLimit("another", limit, most, now); wait != 0 || err != nil {
		t.Errorf("admit after an hour = %v, %v, want room", wait, err)
	}
	if used := l.slots - (maxLimitSlots - 1000); used != l.keys["another"].ring.Slots() {
		t.Errorf("%d slots are accounted for, want those of the key that is left", used)
	}
}

func BenchmarkAdmit(b *testing.B) {
	s, err := New(nil)
	if err != nil {
		b.Fatal(err)
	}
	limit := sallyport.RateLimit{Requests: 100, Window: time.Microsecond}
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprint("tool/principal-", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Admit(b.Context(), keys[i%len(keys)], limit); err != nil {
			b.Fatal(err)
		}
	}
}
