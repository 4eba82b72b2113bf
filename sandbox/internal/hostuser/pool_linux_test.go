package hostuser

import "testing"

func TestSwapCoversEveryUserOnce(t *testing.T) {
	t.Parallel()
	var inside, outside, size int
	for i, m := range Swap(First) {
		if m.ContainerID != inside {
			t.Errorf("line %d begins at %d, want %d", i, m.ContainerID, inside)
		}
		inside += m.Size
		outside += m.HostID
		size += m.Size
	}
	if size != maxID || outside != First+1+First+1 {
		t.Errorf("the lines have %d users, want %d", size, maxID)
	}
}
