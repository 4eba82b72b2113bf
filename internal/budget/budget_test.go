package budget

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

// holding is one that notes whether it had to give way.
func holding(b *Budget, group, owner string) (h *Holding, gave chan struct{}) {
	gave = make(chan struct{})
	return b.Hold(group, owner, func() { close(gave) }), gave
}

func TestTheLargestShareGivesWay(t *testing.T) {
	b := New(100)
	first, gone := holding(b, "greedy", "a")
	second, _ := holding(b, "greedy", "b")
	for h, n := range map[*Holding]int64{first: 60, second: 40} {
		if err := h.Grow(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Grow(1); err != nil {
		t.Errorf("a smaller share within the group: %v, want it to grow", err)
	}
	<-gone
	if err := first.Grow(1); !errors.Is(err, ErrFull) {
		t.Errorf("a holding that gave way grows: %v", err)
	}
	small, _ := holding(b, "modest", "a")
	if err := small.Grow(59); err != nil || b.Held() != 100 {
		t.Errorf("room that is free: %v, %d bytes held", err, b.Held())
	}
	if err := small.Grow(1); !errors.Is(err, ErrFull) {
		t.Errorf("the largest share itself grows: %v", err)
	}
	small.Release()
	second.Release()
	if b.Held() != 0 || len(b.holdings) != 0 {
		t.Errorf("%d bytes in %d holdings are held at the end", b.Held(), len(b.holdings))
	}
}

func TestWhatIsPinnedStays(t *testing.T) {
	b := New(100)
	first, gone := holding(b, "greedy", "a")
	if err := first.Grow(100); err != nil {
		t.Fatal(err)
	}
	first.Pin()
	small, _ := holding(b, "modest", "a")
	if err := small.Grow(1); !errors.Is(err, ErrFull) {
		t.Errorf("a pinned holding gave way: %v", err)
	}
	select {
	case <-gone:
		t.Error("it was told to give way")
	default:
	}
	first.Release()
	if err := small.Grow(1); err != nil {
		t.Error(err)
	}
}

// TestWhatStaysLeavesRoom: a principal that holds nothing yet finds room beside those who
// hold as much as they can.
func TestWhatStaysLeavesRoom(t *testing.T) {
	b := New(1000)
	var held []*Holding
	for owner := range 6 {
		for n := 0; ; n++ {
			h := b.Hold("", string(rune('a'+owner)), nil)
			if h.Grow(5) != nil {
				if n == 0 {
					t.Errorf("owner %d finds no room beside %d bytes", owner, b.Held())
				}
				break
			}
			held = append(held, h)
		}
	}
	for _, h := range held {
		h.Release()
	}
	if b.Held() != 0 {
		t.Errorf("%d bytes are held at the end", b.Held())
	}
}

func TestReadAllHoldsWhatItReads(t *testing.T) {
	b := New(8 << 20)
	h := b.Hold("", "a", nil)
	long := strings.Repeat("x", 1<<20)
	text, err := h.ReadAll(iotest.OneByteReader(strings.NewReader(long[:1000])), []byte("begin "))
	if err != nil || string(text) != "begin "+long[:1000] {
		t.Errorf("ReadAll = %.100q, %v", text, err)
	}
	if text, err = h.ReadAll(strings.NewReader(long), nil); err != nil || string(text) != long || b.Held() < 1<<20 {
		t.Errorf("ReadAll of 1 MiB = %d bytes, %v, and %d are held", len(text), err, b.Held())
	}
	if _, err = h.ReadAll(strings.NewReader(strings.Repeat(long, 8)), nil); !errors.Is(err, ErrFull) {
		t.Errorf("beyond the budget: %v", err)
	}
	h.Release()
	if _, err = b.Hold("", "b", nil).ReadAll(iotest.TimeoutReader(strings.NewReader(long)), nil); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a reader that fails: %v", err)
	}
}
