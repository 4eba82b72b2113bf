package registry

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// defaultTTL is how long a cached result may be used when the tool sets none.
const defaultTTL = 5 * time.Minute

// maxKept bounds the value and parts of a kept result, in bytes: several times
// the budget of a batch, which is all that a caller is ever given of its text.
const maxKept = 1 << 20

// resultCache keeps successful results, the least recently used go first.
type resultCache struct {
	most int

	mu    sync.Mutex
	items map[string]*list.Element
	order *list.List // of *cachedResult, most recent first
}

type cachedResult struct {
	key     string
	result  sallyport.Result // was clean when it was stored, not yet cut
	expires time.Time
}

func newResultCache(most int) *resultCache {
	return &resultCache{most: most, items: map[string]*list.Element{}, order: list.New()}
}

// findResult returns the result of a key, nil when there is none or it has
// expired.
func (k *resultCache) findResult(key string, now time.Time) *cachedResult {
	k.mu.Lock()
	defer k.mu.Unlock()
	el, ok := k.items[key]
	if !ok {
		return nil
	}
	hit := el.Value.(*cachedResult)
	if !now.Before(hit.expires) {
		k.order.Remove(el)
		delete(k.items, key)
		return nil
	}
	k.order.MoveToFront(el)
	return hit
}

// storeResult stores a result, and drops the least recently used one when
// there are too many.
func (k *resultCache) storeResult(item *cachedResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if el, ok := k.items[item.key]; ok {
		el.Value = item
		k.order.MoveToFront(el)
		return
	}
	k.items[item.key] = k.order.PushFront(item)
	if k.order.Len() > k.most {
		last := k.order.Back()
		k.order.Remove(last)
		delete(k.items, last.Value.(*cachedResult).key)
	}
}

// answerFromCache answers the call with a stored result, for a tool that
// allows it. The result is cleaned again, because there may be secrets that
// were not known when it was kept, and cut to the present budget afterwards.
func (c *call) answerFromCache() bool {
	if c.entry.tool.Cache == nil {
		return false
	}
	c.key = c.cacheKey()
	hit := c.r.cache.findResult(c.key, c.start)
	if hit == nil {
		return false
	}
	c.from = hit
	c.result = hit.result
	c.result.Structured = cloneObject(hit.result.Structured)
	c.result.Parts = cloneParts(hit.result.Parts)
	c.result.CallID = c.id
	c.cleanResult()
	c.addDecision(sallyport.Decision{Step: sallyport.StepCache, Allowed: true, Why: "a kept result was used"})
	return true
}

// cacheResult stores a success. Errors are never kept, nor is what is so long
// that a cache full of it would exhaust the memory.
func (c *call) cacheResult() {
	if c.key == "" || !c.cleaned.rest.OK {
		return
	}
	kept := c.cleaned.result()
	if _, size := partsSize(kept.Parts); int64(len(kept.Value))+size > maxKept {
		return
	}
	ttl := c.entry.tool.Cache.TTL
	if ttl <= 0 {
		ttl = defaultTTL
	}
	kept.CostUSD = 0 // Another call that is answered with it costs nothing.
	kept.Structured, kept.Parts = cloneObject(kept.Structured), cloneParts(kept.Parts)
	c.r.cache.storeResult(&cachedResult{key: c.key, result: kept, expires: c.start.Add(ttl)})
}

// cacheKey covers everything that could make two calls differ: what was
// reviewed, what was asked, who asked in which role, what it may touch, and
// what the turn brought along.
func (c *call) cacheKey() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	// Strings and plain data: encoding cannot fail, and a hash does not.
	_ = enc.Encode([]any{
		c.entry.definition, string(c.doc.Canonical()), c.sessionKey,
		c.caller.Personality, c.grant, c.workspace(), c.caller.MemoryScope, c.caller.Attachments,
	})
	return string(h.Sum(nil))
}
