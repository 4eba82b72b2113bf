package provenance

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport/internal/effect"
)

const (
	// minValue is the shortest folded value that is looked for, in bytes: shorter
	// ones are in every text.
	minValue = 8
	// minPlace is that of an address, a host or a URL, such as x.io.
	minPlace = 4
	// runLength is how much of a folded text has to be the same to count as taken
	// over, in bytes.
	runLength = 64
	// MaxBytes bounds what one memory takes, in bytes.
	MaxBytes = 256 << 10
	// maxSources bounds the calls that a memory tells apart. Further texts belong
	// to the last one.
	maxSources = 512
	// maxDecoded bounds how often a value is decoded: a base64 text of a base64 text.
	maxDecoded = 3
)

// A Source is the call whose result a text was in.
type Source struct {
	// Tool is the ID of the tool.
	Tool string
	// CallID is the id under which the call is recorded.
	CallID string
}

// A Memory holds the untrusted texts of one conversation. The zero value is
// empty. It is safe for concurrent use.
type Memory struct {
	mu      sync.RWMutex
	index   Index
	viewed  atomic.Bool // a view has the filter of the index
	sources []sourceStart
	flooded bool
	// past are the digests of the pieces that a record names; nil for a memory with
	// texts. See [Recall].
	past map[string]bool
}

// sourceStart is where the texts of a call begin.
type sourceStart struct {
	at int
	Source
}

// Add remembers the texts of a result. What was encoded in them is remembered as
// what it means, too, and numbers without the marks that group their digits.
func (m *Memory) Add(from Source, texts ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, text := range texts {
		if m.flooded || text == "" {
			continue
		}
		m.addFolded(from, Fold(text))
		m.addGrouped(from, text)
		decoded, all := decodePieces(text, maxPieces)
		for _, plain := range decoded {
			m.addFolded(from, Fold(plain))
			m.addGrouped(from, plain)
		}
		if !all {
			m.dropAll()
		}
	}
}

// addGrouped adds the numbers of a text whose digits are grouped by marks, without them.
func (m *Memory) addGrouped(from Source, text string) {
	visitGrouped(text, func(joined string) { m.addFolded(from, Canonical(effect.Account, joined)) })
}

// Flood makes the memory say of every value that it came out of untrusted content:
// something was read that the memory has not got.
func (m *Memory) Flood() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropAll()
}

// Flooded reports whether the memory lacks something that was read.
func (m *Memory) Flooded() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.flooded
}

// Bytes returns how much the memory takes, in bytes.
func (m *Memory) Bytes() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.index.Bytes()
}

func (m *Memory) addFolded(from Source, folded string) {
	if folded == "" || m.flooded || m.index.Contains(folded) {
		return
	}
	at := len(m.index.text)
	if n := len(m.sources); n == 0 || n < maxSources && m.sources[n-1].Source != from {
		m.sources = append(m.sources, sourceStart{at, from})
	}
	if at+len(folded) < MaxBytes {
		if m.viewed.CompareAndSwap(true, false) {
			m.index.keepFilter()
		}
		m.index.Add(folded)
	}
	if at+len(folded) >= MaxBytes || m.index.Bytes() > MaxBytes {
		m.dropAll()
	}
}

// dropAll floods the memory, which needs no texts then.
func (m *Memory) dropAll() { m.flooded, m.index, m.sources = true, Index{}, nil }

// A view is what a memory has at a moment, and stays as it is. A search takes no lock: it
// asks what is held, which may look into the same memories.
type view struct {
	corpus
	sources []sourceStart
	past    map[string]bool
}

// takeView returns what the memory has, and whether it lacks something that was read.
func (m *Memory) takeView() (v view, flooded bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.viewed.Load() {
		m.viewed.Store(true)
	}
	return view{m.index.corpus, m.sources, m.past}, m.flooded
}

// isEmpty reports whether nothing can be found.
func (v *view) isEmpty() bool { return v.text == "" && len(v.past) == 0 }

// mayHave reports whether a run that has the gram at a place may be in the view.
func (v *view) mayHave(folded string, at int) bool {
	return v.past != nil || v.mayContainGram(folded, at)
}

// sourceOf returns the first call that brought a text; the zero value when the view is of a
// past call.
func (v *view) sourceOf(folded string) (from Source) {
	at := strings.Index(v.text, folded)
	for i := range v.sources {
		if v.sources[i].at > at {
			break
		}
		from = v.sources[i].Source
	}
	return from
}
