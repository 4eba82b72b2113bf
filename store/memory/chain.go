package memory

import (
	"cmp"
	"iter"
	"slices"
	"time"
	"unsafe"

	"github.com/sallyport/sallyport/audit"
)

// A recordChain holds records by ascending number, in blocks: none is copied while it
// grows, and what is pruned goes a block at a time. Records are never changed in place,
// so that a clone of the blocks stays as it is.
type recordChain struct {
	blocks [][]keptRecord
	bytes  int // about what all records take
}

// keptRecord is a record and when it was added.
type keptRecord struct {
	audit.Record
	added time.Time
}

// A block has leastBlock records at least and mostBlock at most: a store of a few records
// stays small.
const leastBlock, mostBlock = 16, 1024

// countBytes returns about what a record takes.
func (r *keptRecord) countBytes() int {
	return int(unsafe.Sizeof(*r)) + len(r.Call) + len(r.Tool) + len(r.Principal) + len(r.Body)
}

// newestHead returns that of the newest record, the zero Head without one.
func (c *recordChain) newestHead() (head audit.Head) {
	if n := len(c.blocks); n > 0 {
		last := c.blocks[n-1]
		head = last[len(last)-1].Head()
	}
	return head
}

// appendRecord adds the newest record.
func (c *recordChain) appendRecord(r keptRecord) {
	n := len(c.blocks)
	if n == 0 || len(c.blocks[n-1]) == cap(c.blocks[n-1]) {
		size := leastBlock
		if n > 0 {
			size = min(max(2*cap(c.blocks[n-1]), leastBlock), mostBlock)
		}
		c.blocks, n = append(c.blocks, make([]keptRecord, 0, size)), n+1
	}
	c.blocks[n-1] = append(c.blocks[n-1], r)
	c.bytes += r.countBytes()
}

// findRecord returns where the record of a number is; ok is false when there is none.
func (c *recordChain) findRecord(seq int64) (block, at int, ok bool) {
	block, _ = slices.BinarySearchFunc(c.blocks, seq, func(b []keptRecord, seq int64) int {
		return cmp.Compare(b[len(b)-1].Seq, seq)
	})
	if block == len(c.blocks) {
		return 0, 0, false
	}
	at, ok = slices.BinarySearchFunc(c.blocks[block], seq, func(r keptRecord, seq int64) int { return cmp.Compare(r.Seq, seq) })
	return block, at, ok
}

// replaceTo puts a record in the place of all up to the one at a place.
func (c *recordChain) replaceTo(block, at int, first keptRecord) {
	first.added = c.blocks[block][at].added
	for _, b := range c.blocks[:block] {
		c.forgetRecords(b)
	}
	c.forgetRecords(c.blocks[block][:at+1])
	c.bytes += first.countBytes()
	left := [][]keptRecord{{first}}
	if rest := c.blocks[block][at+1:]; len(rest) > 0 {
		left = append(left, slices.Clone(rest)) // what goes is not kept by what stays
	}
	c.blocks = append(left, c.blocks[block+1:]...)
}

// forgetRecords counts records no more.
func (c *recordChain) forgetRecords(records []keptRecord) {
	for i := range records {
		c.bytes -= records[i].countBytes()
	}
}

// oldestFirst yields the records by ascending number.
func (c *recordChain) oldestFirst() iter.Seq[*keptRecord] {
	return func(yield func(*keptRecord) bool) {
		for _, b := range c.blocks {
			for i := range b {
				if !yield(&b[i]) {
					return
				}
			}
		}
	}
}

// skipOlder drops what is before the newest records of a number that a query matches.
func (c *recordChain) skipOlder(q *audit.Query) {
	left := q.Last
	for block, b := range slices.Backward(c.blocks) {
		for at := range slices.Backward(b) {
			if !q.Match(&b[at].Record) {
				continue
			}
			if left--; left == 0 {
				c.blocks = append([][]keptRecord{b[at:]}, c.blocks[block+1:]...)
				return
			}
		}
	}
}
