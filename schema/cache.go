package schema

import (
	"encoding/json"
	"sync"
)

// maxCached bounds a cache. Beyond it the cache starts anew: a holder of a
// schema keeps it, and a server that never stops sending new ones does not
// fill the memory.
const maxCached = 4096

// Cache compiles each distinct schema text once, so that a hundred thousand
// tools over a hundred schemas share a hundred compiled ones. It is safe for
// concurrent use. The zero Cache is empty and ready.
type Cache struct {
	mu      sync.RWMutex
	entries map[cacheKey]*cacheEntry
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
}

// NewCache returns an empty cache.
func NewCache() *Cache { return new(Cache) }

// Compile is the function [Compile], remembered.
func (c *Cache) Compile(raw json.RawMessage) (*Schema, error) {
	return c.getOrCompile(raw, true, Compile)
}

// CompileAny is the function [CompileAny], remembered.
func (c *Cache) CompileAny(raw json.RawMessage) (*Schema, error) {
	return c.getOrCompile(raw, false, CompileAny)
}

// getOrCompile returns the compiled schema of a text, compiling it the first
// time.
func (c *Cache) getOrCompile(raw json.RawMessage, arguments bool, compile func(json.RawMessage) (*Schema, error)) (*Schema, error) {
	if len(raw) > maxSchemaBytes {
		return compile(raw)
	}
	c.mu.RLock()
	e := c.entries[cacheKey{arguments, string(raw)}]
	c.mu.RUnlock()
	if e == nil {
		e = c.entryFor(cacheKey{arguments, string(raw)})
	}
	e.once.Do(func() { e.schema, e.err = compile(raw) })
	return e.schema, e.err
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
