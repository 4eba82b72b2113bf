// Package budget bounds the bytes that many hold in memory at once and shares
// them fairly: when there is no room, the largest share gives way to a smaller
// one, so that nothing that takes much keeps others from taking little.
package budget

import (
	"errors"
	"sync"
)

// ErrFull is the error of a holding that is itself the largest share when there
// is no room, or that had to give way to a smaller one.
var ErrFull = errors.New("budget: there is no room")

// Budget is a number of bytes that holdings share. It is safe for concurrent
// use.
type Budget struct {
	most int64

	mu       sync.Mutex
	held     int64
	holdings map[*Holding]struct{}
}

// New returns a budget of so many bytes.
func New(most int64) *Budget {
	return &Budget{most: most, holdings: map[*Holding]struct{}{}}
}

// Held is how many bytes are held now.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Holding is a part of a budget: bytes that one owner in a group holds. Shares
// are compared by group first, and within a group by owner. A nil Holding holds
// nothing; releasing it does nothing.
type Holding struct {
	b            *Budget
	group, owner string
	giveWay      func()
	bytes        int64
	// stays says that it never gives way, over that it takes no more.
	stays, over bool
}

// Hold returns a holding without bytes. The function giveWay is called, on a
// goroutine of its own, when the holding has lost its bytes to a smaller share:
// what they stand for has to be let go. Without it the holding never gives way,
// and takes no more than makes its owner hold as much as is left: however much
// some hold, there is room for one who holds nothing yet. The owner calls
// [Holding.Release].
func (b *Budget) Hold(group, owner string, giveWay func()) *Holding {
	return &Holding{b: b, group: group, owner: owner, giveWay: giveWay, stays: giveWay == nil}
}

// Grow takes n bytes more. The error is [ErrFull].
func (h *Holding) Grow(n int64) error {
	b := h.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.over || n > b.most || h.stays && b.bytesOfOwner(h)+2*n > b.most-b.held {
		return ErrFull
	}
	for b.held+n > b.most {
		larger := b.findLarger(h, n)
		if larger == nil {
			return ErrFull
		}
		b.dropHolding(larger)
		go larger.giveWay()
	}
	h.bytes += n
	b.held += n
	b.holdings[h] = struct{}{}
	return nil
}

// Pin says that the bytes do not give way any more: what they stand for is
// about to be used.
func (h *Holding) Pin() {
	if h == nil {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.giveWay = nil
}

// Release gives the bytes back. The holding takes none afterwards.
func (h *Holding) Release() {
	if h == nil {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.b.dropHolding(h)
}

// bytesOfOwner returns how many bytes the owner of a holding holds. The
// caller holds the lock.
func (b *Budget) bytesOfOwner(h *Holding) (n int64) {
	for other := range b.holdings {
		if other.group == h.group && other.owner == h.owner {
			n += other.bytes
		}
	}
	return n
}

// dropHolding ends a holding. The caller holds the lock.
func (b *Budget) dropHolding(h *Holding) {
	b.held -= h.bytes
	h.bytes, h.over = 0, true
	delete(b.holdings, h)
}

// ownerShare says whose bytes are counted together.
type ownerShare struct{ group, owner string }

// findLarger finds what gives way to a holding that wants n bytes more: the
// largest holding of the largest share, when that is larger than the share
// that wants them would be. It is nil when there is none. The caller holds
// the lock.
func (b *Budget) findLarger(wants *Holding, n int64) *Holding {
	groups, owners := map[string]int64{}, map[ownerShare]int64{}
	for h := range b.holdings {
		groups[h.group] += h.bytes
		owners[ownerShare{h.group, h.owner}] += h.bytes
	}
	var largest *Holding
	for h := range b.holdings {
		if h.giveWay == nil || !exceedsShare(groups, owners, h, wants, n) {
			continue
		}
		if largest == nil || exceedsShare(groups, owners, h, largest, 0) ||
			h.group == largest.group && h.owner == largest.owner && h.bytes > largest.bytes {
			largest = h
		}
	}
	return largest
}

// exceedsShare reports whether the share of a holding is larger than that of
// another with n bytes more.
func exceedsShare(groups map[string]int64, owners map[ownerShare]int64, h, than *Holding, n int64) bool {
	if h.group != than.group {
		return groups[h.group] > groups[than.group]+n
	}
	return h.owner != than.owner && owners[ownerShare{h.group, h.owner}] > owners[ownerShare{than.group, than.owner}]+n
}
