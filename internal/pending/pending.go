// Package pending keeps what children changed of a project's configuration that
// runs commands until a person has seen it.
//
// Start with [Store]. A child in overlay mode leaves a [Batch]; a person lists
// the batches, looks at the difference, and applies or drops one. Nothing here
// asks who calls: the folder of the store is on the always-deny floor, so no
// tool and no child reaches it.
package pending

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"time"
)

// Bounds of what waits: configuration is small, and what nobody looks at must
// not fill the disk.
const (
	MaxBatches = 100
	MaxFiles   = 200
	MaxBytes   = 1 << 20
)

// Store is a folder of batches. The zero value holds nothing and takes none.
type Store struct {
	// Dir is the folder; it is made when the first batch comes.
	Dir string
}

// Batch is what one child changed.
type Batch struct {
	// ID names the batch.
	ID string `json:"id"`
	// Time is when the child began.
	Time time.Time `json:"time"`
	// Binary is what was started.
	Binary string `json:"binary"`
	// Files are the changes, sorted by path.
	Files []File `json:"files"`
}

// File is one change.
type File struct {
	// Path is absolute and free of symbolic links.
	Path string `json:"path"`
	// Mode is the permission bits of the new file.
	Mode fs.FileMode `json:"mode"`
	// Content is the new content.
	Content []byte `json:"content,omitempty"`
	// Removed means that there is no file any more.
	Removed bool `json:"removed,omitempty"`
	// Was is the digest of what was there, empty for nothing.
	Was string `json:"was,omitempty"`
}

// Digest names the content of a file.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Digest names what a batch changes, for whoever has seen it and says so.
func (b *Batch) Digest() string {
	text, _ := json.Marshal(b.Files) // A slice of plain values always encodes.
	return Digest(text)[:16]
}
