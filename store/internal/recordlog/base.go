package recordlog

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/store"
)

const (
	baseName    = "base"
	baseVersion = 1
	// maxBase bounds the file; a checkpoint has some hundred bytes.
	maxBase = 64 << 10
)

// base is where the log begins.
type base struct {
	Version int `json:"version"`
	// ID names the log.
	ID ID `json:"id"`
	// First is where the first record stands, or will.
	First Position `json:"first"`
	// Clean is false while what was pruned may still be there.
	Clean bool `json:"clean"`
	// Checkpoint stands for what was pruned; nil before the first pruning.
	Checkpoint *baseCheckpoint `json:"checkpoint,omitempty"`
}

// baseCheckpoint is a checkpoint's record.
type baseCheckpoint struct {
	Seq       int64      `json:"seq"`
	Time      int64      `json:"time"`
	Kind      audit.Kind `json:"kind"`
	Call      string     `json:"call,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Principal string     `json:"principal,omitempty"`
	Denied    bool       `json:"denied,omitempty"`
	Hash      audit.Hash `json:"hash"`
	Body      []byte     `json:"body"`
}

func (b *base) setCheckpoint(r *audit.Record) {
	b.Checkpoint = &baseCheckpoint{r.Seq, r.Time, r.Kind, r.Call, r.Tool, r.Principal, r.Denied, r.Hash, r.Body}
}

// checkpoint returns the checkpoint as a record, the zero one when there is none.
func (b *base) checkpoint() audit.Record {
	c := b.Checkpoint
	if c == nil {
		return audit.Record{}
	}
	return audit.Record{
		Seq: c.Seq, Time: c.Time, Kind: c.Kind, Call: c.Call, Tool: c.Tool, Principal: c.Principal, Denied: c.Denied, Body: c.Body, Hash: c.Hash,
	}
}

// readBase reads where the log of a folder begins.
func readBase(dir string) (b base, err error) {
	f, err := os.Open(filepath.Join(dir, baseName))
	if err != nil {
		return b, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBase+1))
	if err != nil {
		return b, err
	}
	if len(text) > maxBase {
		return b, damaged("the base of its record is too long")
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, damaged("the base of its record cannot be read")
	}
	if b.Version > baseVersion {
		return b, &store.Error{Reason: store.ErrNewer, Err: fmt.Errorf("its record has version %d, this program knows %d", b.Version, baseVersion)}
	}
	if b.Version < 1 || b.First.segment() < 1 || b.First.offset()%frameAlign != 0 {
		return b, damaged("the base of its record names no place")
	}
	return b, nil
}

// writeBase replaces the base and waits for the disk.
func writeBase(dir string, b *base) error {
	text, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("recordlog: base: %w", err)
	}
	if err := fsx.ReplaceFileMode(filepath.Join(dir, baseName), text, 0o600); err != nil {
		return err
	}
	return fsx.SyncDir(dir)
}

// Damage is the cause of an error that matches store.ErrDamaged. Its text is for
// the operator.
type Damage struct {
	// Why says what is wrong with the log.
	Why string
}

// Error returns what is wrong.
func (d *Damage) Error() string { return d.Why }

func damaged(why string) error {
	return &store.Error{Reason: store.ErrDamaged, Err: &Damage{why}}
}
