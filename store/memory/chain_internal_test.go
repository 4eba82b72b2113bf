package memory

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sallyport/sallyport/audit"
)

// TestChainIsAList: a chain in blocks holds what a list would, and a clone of its blocks
// stays as it was.
func TestChainIsAList(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var c, old recordChain
	var want, wantOld []int64
	list := func(c *recordChain) (all []int64, bytes int) {
		for r := range c.oldestFirst() {
			all, bytes = append(all, r.Seq), bytes+r.countBytes()
		}
		return all, bytes
	}
	for round, seq := 0, int64(0); round < 60; round++ {
		for range random.IntN(700) {
			seq++
			c.appendRecord(keptRecord{Record: audit.Record{Seq: seq, Body: make([]byte, random.IntN(9))}})
			want = append(want, seq)
		}
		if random.IntN(3) == 0 && len(want) > 0 {
			i := random.IntN(len(want))
			block, at, ok := c.findRecord(want[i])
			if !ok || c.blocks[block][at].Seq != want[i] {
				t.Fatalf("record %d is not found: %d, %d, %t", want[i], block, at, ok)
			}
			c.replaceTo(block, at, keptRecord{Record: audit.Record{Seq: want[i]}})
			want = want[i:]
		}
		got, bytes := list(&c)
		if !slices.Equal(got, want) || bytes != c.bytes || c.newestHead().Seq != seq {
			t.Fatalf("round %d: %d records of %d bytes, head %d; want %d, %d, %d", round, len(got), bytes, c.newestHead().Seq, len(want), c.bytes, seq)
		}
		if _, _, ok := c.findRecord(seq + 1); ok || len(want) > 0 && want[0] > 1 && hasRecord(&c, want[0]-1) {
			t.Fatalf("round %d: a record is found that is not there", round)
		}
		if got, _ := list(&old); !slices.Equal(got, wantOld) {
			t.Fatalf("round %d: an older copy has changed", round)
		}
		old, wantOld = recordChain{blocks: slices.Clone(c.blocks)}, slices.Clone(want)
		if n := len(want); n > 0 {
			last := 1 + random.IntN(n)
			newest := recordChain{blocks: slices.Clone(c.blocks)}
			newest.skipOlder(&audit.Query{Last: last})
			if got, _ := list(&newest); !slices.Equal(got, want[n-last:]) {
				t.Fatalf("round %d: the newest %d are %d", round, last, len(got))
			}
		}
	}
}

func hasRecord(c *recordChain, seq int64) bool {
	_, _, ok := c.findRecord(seq)
	return ok
}
