package sandbox

import "testing"

// A share is given back, and none is more than half of what is left.
func TestA3_A11_SharesAddUpToNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	c := &counters{left: counts{1000, 32, 5000, 100000}}
	before := c.left
	var given []counts
	var sum counts
	for range 50 {
		share := c.acquire()
		given = append(given, share)
		for i, n := range share {
			sum[i] += n
		}
	}
	for i, n := range sum {
		if n > before[i] || given[0][i] == 0 || given[0][i] > wantedCounts[i] {
			t.Errorf("counter %d: 50 children have %d of %d, the first %d", i, n, before[i], given[0][i])
		}
	}
	for _, share := range given {
		c.release(share)
	}
	if c.left != before {
		t.Errorf("after all have ended %v are left, want %v", c.left, before)
	}
}
