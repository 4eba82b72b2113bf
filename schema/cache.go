package schema

import (
	"encoding/json"
	"sync"
	"sync/atomic"
)

// maxCached bounds a cache. Beyond it the cache starts anew: a holder of a
// schema keeps it, and a server that never stops sending new ones does not
// fill the memory.
const maxCached = 4096

// Cache compiles each distinct schema text once, so that a hundred thousand
// tools over a hundred schemas share a hundred compiled ones. Of many schemas
// it keeps the compiled forms of a bounded number, and compiles another one
// again at its next use. It is safe for concurrent use. The zero Cache is empty and ready.
type Cache struct {
	mu      sync.RWMutex
	entries map[cacheKey]*cacheEntry
	kept    keptForms
}

// The bounds of the compiled forms that a cache keeps: how many, and the bytes
// of their texts. A form is some fifteen times as large as its text.
const (
	maxKeptForms = 1024
	maxKeptBytes = 4 << 20
)

// keptForms drops the oldest compiled forms beyond the bounds. What is dropped
// is compiled again when it is used: of many tools few are called.
type keptForms struct {
	mu    sync.Mutex
	order []*Schema // whose forms are kept, the oldest first
	bytes int       // of their texts
}

// keepForm gives a schema that has none its form, and drops the oldest.
func (k *keptForms) keepForm(s *Schema, f *compiledForm) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.compiled.Store(f)
	k.order = append(k.order, s)
	k.bytes += len(s.raw)
	for len(k.order) > maxKeptForms || k.bytes > maxKeptBytes {
		oldest := k.order[0]
		k.order[0], k.order = nil, k.order[1:]
		k.bytes -= len(oldest.raw)
		oldest.compiled.Store(nil)
	}
}

// cacheKey is the whole text, not a digest of it: the text is kept anyway,
// and two texts cannot be taken for one another.
type cacheKey struct {
	arguments bool
	text      string
}

type cacheEntry struct {
	once   sync.Once
	schema *Schema
	err    error
	made   atomic.Pointer[Schema] // is schema, for those who do not wait for it
}

// NewCache returns an empty cache.
func NewCache() *Cache { return new(Cache) }

// Compile is the function [Compile], remembered.
func (c *Cache) Compile(raw json.RawMessage) (*Schema, error) {
	return c.getOrMake(raw, true)
}

// CompileAny is the function [CompileAny], remembered.
func (c *Cache) CompileAny(raw json.RawMessage) (*Schema, error) {
	return c.getOrMake(raw, false)
}

// getOrMake returns the schema of a text, making it the first time.
func (c *Cache) getOrMake(raw json.RawMessage, arguments bool) (*Schema, error) {
	if len(raw) > maxSchemaBytes {
		return newSchema(raw, arguments, nil) // An error.
	}
	c.mu.RLock()
	e := c.entries[cacheKey{arguments, string(raw)}]
	c.mu.RUnlock()
	if e == nil {
		e = c.entryFor(cacheKey{arguments, string(raw)})
	}
	e.once.Do(func() {
		if e.schema = ofTools.find(cacheKey{arguments, string(raw)}); e.schema != nil {
			return
		}
		if e.schema, e.err = newSchema(raw, arguments, &c.kept); e.err == nil {
			e.made.Store(e.schema)
		}
	})
	return e.schema, e.err
}

// find returns the schema of a text that was compiled; nil for any other.
func (c *Cache) find(k cacheKey) *Schema {
	c.mu.RLock()
	e := c.entries[k]
	c.mu.RUnlock()
	if e == nil {
		return nil
	}
	return e.made.Load()
}

func (c *Cache) entryFor(k cacheKey) *cacheEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[k]
	if e == nil {
		if c.entries == nil || len(c.entries) >= maxCached {
			c.entries = map[cacheKey]*cacheEntry{}
		}
		e = new(cacheEntry)
		c.entries[k] = e
	}
	return e
}
