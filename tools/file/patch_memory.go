package file

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// maxRememberedPatches bounds the patches that are remembered for all
// sessions together. An agent repeats a patch within a few calls; a patch
// that was forgotten answers with the diagnosis, which is never wrong.
const maxRememberedPatches = 4096

// patchKey names one patch: session, file, old and new text.
type patchKey [sha256.Size]byte

// newPatchKey hashes the parts, each after its length.
func newPatchKey(session, path, old, new string) patchKey {
	h := sha256.New()
	for _, part := range []string{session, path, old, new} {
		// A hash does not fail.
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return patchKey(h.Sum(nil))
}

// patchMemory remembers the newest patches that calls of this process made,
// so that the repeat of one can be told from a patch whose old_text was never
// there. The zero value is empty. It is safe for concurrent use.
type patchMemory struct {
	mu    sync.Mutex
	known map[patchKey]bool
	ring  []patchKey // the oldest at next once it is full
	next  int
}

// rememberPatch adds a patch and forgets the oldest one when there are too many.
func (m *patchMemory) rememberPatch(k patchKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[k] {
		return
	}
	if m.known == nil {
		m.known = map[patchKey]bool{}
	}
	if len(m.ring) < maxRememberedPatches {
		m.ring = append(m.ring, k)
	} else {
		delete(m.known, m.ring[m.next])
		m.ring[m.next] = k
		m.next = (m.next + 1) % maxRememberedPatches
	}
	m.known[k] = true
}

// hasPatch reports whether a patch was made and is still remembered.
func (m *patchMemory) hasPatch(k patchKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[k]
}
