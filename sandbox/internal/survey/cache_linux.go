package survey

import (
	"container/list"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/denyfloor"
)

// cacheBytes holds about 200,000 directories of a usual tree.
const cacheBytes = 64 << 20

// dirKey names a directory and the name that counts for it. The verdict on a name depends
// on the whole path, so a directory that was moved is another one.
type dirKey struct {
	floor *denyfloor.Floor
	place surveyedDir
	write bool
}

// dirState changes whenever an entry of a directory is made, removed or
// renamed. The change time cannot be set by a program without privileges
// (utimensat(2)), unlike the modification time.
type dirState struct {
	dev, ino     uint64
	mtime, ctime unix.Timespec
}

func stateOf(st *unix.Stat_t) dirState {
	return dirState{uint64(st.Dev), st.Ino, st.Mtim, st.Ctim}
}

// cache remembers listings, the most recently used of them. It is safe for
// concurrent use; a listing is never changed once it is in.
type cache struct {
	mu    sync.Mutex
	limit int64
	size  int64
	byKey map[dirKey]*list.Element
	order *list.List // The most recently used one is at the front.
}

type cacheEntry struct {
	key  dirKey
	l    *dirListing
	size int64
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, byKey: make(map[dirKey]*list.Element), order: list.New()}
}

// get returns the listing of a directory in this state, nil when there is
// none.
func (c *cache) get(key dirKey, s dirState, linkedKey string) *dirListing {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil
	}
	entry := e.Value.(*cacheEntry)
	if entry.l.state != s || entry.l.linkedKey != linkedKey {
		c.remove(e)
		return nil
	}
	c.order.MoveToFront(e)
	return entry.l
}

func (c *cache) store(key dirKey, l *dirListing) {
	// The list element, the map's slot and the key take about as much again.
	size := l.size() + int64(len(key.place.real)) + 200
	if key.place.isAlias() {
		size += int64(len(key.place.named))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.remove(e)
	}
	if size > c.limit {
		return
	}
	c.byKey[key] = c.order.PushFront(&cacheEntry{key, l, size})
	c.size += size
	for c.size > c.limit {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(e *list.Element) {
	entry := e.Value.(*cacheEntry)
	c.order.Remove(e)
	delete(c.byKey, entry.key)
	c.size -= entry.size
}
