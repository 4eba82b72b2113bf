package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrBadChain matches the error of [Prune] when what would be removed does
// not verify: removing it would remove the evidence.
var ErrBadChain = errors.New("the chain does not verify")

// Checkpoint stands for the records that were pruned. It is signed with the
// key of the chain.
type Checkpoint struct {
	// Version is the format.
	Version int `json:"version"`
	// Seq and Hash are those of the last record removed.
	Seq int64 `json:"seq"`
	// Hash is the hash that the next record follows.
	Hash Hash `json:"hash"`
	// Time is the time of the last record removed.
	Time time.Time `json:"time"`
	// Count is the number of records removed, all prunings together.
	Count int64 `json:"count"`
	// Pruned is when the last pruning happened.
	Pruned time.Time `json:"pruned"`
	// KeyID is the [Key.ID] of the key that signed.
	KeyID string `json:"key_id"`
	// MAC is the signature.
	MAC Hash `json:"mac"`
}

const checkpointDomain = "sallyport/audit/checkpoint/1\n"

// computeMAC returns the MAC over the fields of fixed width, so that no two
// checkpoints give the same input. The key's id follows from the key.
func (c *Checkpoint) computeMAC(s *recordSealer) Hash {
	b := append(make([]byte, 0, 128), checkpointDomain...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Version))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Seq))
	b = append(b, c.Hash[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Time.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Count))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Pruned.UnixNano()))
	return s.computeMAC(b)
}

// toRecord returns the form in which a store keeps the checkpoint.
func (c *Checkpoint) toRecord() (Record, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return Record{}, fmt.Errorf("audit: encode checkpoint: %w", err)
	}
	return Record{Seq: c.Seq, Time: c.Time.UnixNano(), Kind: KindCheckpoint, Body: body, Hash: c.Hash}, nil
}

// Checkpoint decodes the body of a checkpoint. It proves nothing: [Verify]
// does.
func (r *Record) Checkpoint() (Checkpoint, error) {
	var c Checkpoint
	if r.Kind != KindCheckpoint {
		return c, fmt.Errorf("audit: record %d is no checkpoint", r.Seq)
	}
	if err := json.Unmarshal(r.Body, &c); err != nil {
		return c, fmt.Errorf("audit: checkpoint %d is not readable: %w", r.Seq, err)
	}
	return c, nil
}

// isGenuine reports whether c is the checkpoint that the key signed and r is
// the record that holds it, to the byte.
func (c *Checkpoint) isGenuine(r *Record, s *recordSealer, keyID string) bool {
	want, err := c.toRecord()
	return err == nil && c.KeyID == keyID && c.computeMAC(s) == c.MAC &&
		want.Seq == r.Seq && want.Time == r.Time && want.Hash == r.Hash && bytes.Equal(want.Body, r.Body) &&
		r.Call == "" && r.Tool == "" && r.Principal == "" && !r.Denied
}

// keyID returns the id of the key that the record names, empty when the body
// cannot be read.
func (r *Record) keyID() string {
	var named struct {
		KeyID string `json:"key_id"`
	}
	if json.Unmarshal(r.Body, &named) != nil {
		return ""
	}
	return named.KeyID
}

// PrunableStore is a store that can forget.
type PrunableStore interface {
	Reader
	Pruner
}

// pruneStep is how many records one transaction removes, so that no call that
// is recorded waits for more than a moment.
const pruneStep = 10_000

// Prune removes the records at the old end of the chain that are older than
// before, up to the first that is not, and leaves a signed checkpoint in
// their place. It returns how many it removed, also beside an error: it
// works in steps, each of which leaves a whole chain. What is removed is
// verified first: the error matches [ErrBadChain] when that fails, and
// neither the bad record nor what follows it is removed. Records that are
// appended during the removal stay.
func Prune(ctx context.Context, s PrunableStore, key Key, before time.Time) (int64, error) {
	if key.IsZero() {
		return 0, errors.New("audit: prune needs a key")
	}
	p := pruneState{s: s, v: newChainVerifier(key, nil)}
	for rec, err := range s.Read(ctx, Query{}) {
		if err != nil {
			return p.removed, fmt.Errorf("audit: prune: %w", err)
		}
		if rec.Kind != KindCheckpoint && rec.Time >= before.UnixNano() {
			break
		}
		if fault := p.v.addRecord(&rec); fault != nil {
			return p.removed, fmt.Errorf("audit: prune: %w: record %d %s", ErrBadChain, fault.Seq, fault.Why)
		}
		if rec.Kind == KindCheckpoint {
			continue
		}
		p.waiting, p.cut = p.waiting+1, rec
		if p.waiting == pruneStep {
			if err := p.removeWaiting(ctx); err != nil {
				return p.removed, err
			}
		}
	}
	return p.removed, p.removeWaiting(ctx)
}

// newCheckpoint returns a signed checkpoint for the records up to one, of which so
// many were removed.
func newCheckpoint(s *recordSealer, keyID string, cut *Record, count int64) (Record, error) {
	c := Checkpoint{
		Version: version, Seq: cut.Seq, Hash: cut.Hash, Time: unixTime(cut.Time),
		Count: count, Pruned: time.Now().UTC().Round(0), KeyID: keyID,
	}
	c.MAC = c.computeMAC(s)
	return c.toRecord()
}

type pruneState struct {
	s PrunableStore
	v *chainVerifier
	// cut is the newest record that verified and may go, waiting the number
	// of records since the last step.
	cut              Record
	waiting, removed int64
}

func (p *pruneState) removeWaiting(ctx context.Context) error {
	if p.waiting == 0 {
		return nil
	}
	rec, err := newCheckpoint(p.v.sealer, p.v.keyID, &p.cut, p.v.report.Pruned+p.removed+p.waiting)
	if err != nil {
		return err
	}
	if err := p.s.Prune(ctx, rec); err != nil {
		return fmt.Errorf("audit: prune: %w", err)
	}
	p.removed, p.waiting = p.removed+p.waiting, 0
	return nil
}
