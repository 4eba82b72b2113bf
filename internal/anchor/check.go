package anchor

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/audit"
)

// sameMoment is how far two processes that anchor at once may be apart: the one that
// looked first may write last.
const sameMoment = time.Minute

// clockLeeway is how far the clocks of the gate and an authority may be apart, with the time
// that the answer takes.
const clockLeeway = 5 * time.Minute

// Fault is the first anchor with which the record does not agree.
type Fault struct {
	// Line is the number of the anchor in its file.
	Line int `json:"line"`
	// Seq is the number of the record that was anchored.
	Seq int64 `json:"seq"`
	// Why says what is wrong, to be read after "anchor N".
	Why string `json:"why"`
}

// Result is what a comparison found.
type Result struct {
	// Anchors is how many there are.
	Anchors int `json:"anchors"`
	// Proven is how many are the hash of their record.
	Proven int `json:"proven"`
	// Pruned is how many cannot be compared any more.
	Pruned int `json:"pruned,omitempty"`
	// Stamps is how many proven ones have the time of an authority.
	Stamps int `json:"timestamps,omitempty"`
	// Origin and Signed are of a signed checkpoint: the name of the log, and how many of
	// the anchors it is over.
	Origin string `json:"origin,omitempty"`
	// Signed counts from the first anchor.
	Signed int64 `json:"signed,omitempty"`
	// Bad is the first one that the record does not contain; nil when there is none.
	Bad *Fault `json:"bad,omitempty"`
}

// OK reports whether the record contains every anchor that can be compared.
func (r *Result) OK() bool { return r.Bad == nil }

// String describes the result in a few lines for a terminal.
func (r *Result) String() string {
	var b strings.Builder
	if r.Bad != nil {
		fmt.Fprintf(&b, "anchor %d %s; ", r.Bad.Line, r.Bad.Why)
	}
	fmt.Fprintf(&b, "%d of %d anchors are in the record", r.Proven, r.Anchors)
	if r.Stamps > 0 {
		fmt.Fprintf(&b, ", %d with the time of an authority", r.Stamps)
	}
	if r.Signed > 0 {
		fmt.Fprintf(&b, "\nthe first %d are those of the checkpoint of %s", r.Signed, r.Origin)
	}
	if r.Pruned > 0 {
		fmt.Fprintf(&b, "\n%d anchors stand for records that were pruned, and prove nothing any more", r.Pruned)
	}
	return b.String()
}

// Check compares the records that pass a verification with anchors. It is for one
// verification.
type Check struct {
	entries []Entry
	keyID   string
	wanted  map[int64]audit.Hash // the hash of each record that an anchor names, once it passed
	next    map[int64]time.Time  // the time of the record behind each of these
	stamps  map[int]time.Time    // the time of an authority, by entry
	broken  map[int]error        // what is wrong with its answer
	origin  string               // of a signed checkpoint; empty without one
	signed  Tree                 // what it says
	forged  string               // why the entries are not those of it
	pruned  int64                // the number up to which records were pruned
	last    int64
}

// NewCheck returns a check of a record whose key has an id.
func NewCheck(entries []Entry, keyID string) *Check {
	c := &Check{entries: entries, keyID: keyID, wanted: map[int64]audit.Hash{}, next: map[int64]time.Time{}, stamps: map[int]time.Time{}, broken: map[int]error{}}
	for i := range entries {
		c.wanted[entries[i].Seq] = audit.Hash{}
	}
	return c
}

// AddStamps reads the answers of authorities beside a file. The pool says which are believed.
func (c *Check) AddStamps(path string, roots *x509.CertPool) error {
	found := 0
	for i := range c.entries {
		answer, err := readStampOf(path, &c.entries[i])
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		found++
		if at, err := checkStamp(answer, &c.entries[i], roots); err != nil {
			c.broken[i] = err
		} else {
			c.stamps[i] = at
		}
	}
	if found == 0 {
		return fmt.Errorf("%s: no answer of an authority is beside it", path)
	}
	return nil
}

// AddCheckpoint reads a signed checkpoint, of which the entries have to be the lines.
func (c *Check) AddCheckpoint(text []byte, key audit.Key) error {
	origin, tree, err := ReadCheckpoint(text, key)
	if err != nil {
		return err
	}
	var edge treeEdge
	for i := range c.entries[:min(tree.Size, int64(len(c.entries)))] {
		line, err := c.entries[i].encodeLine()
		if err != nil {
			return err
		}
		edge.addLine(bytes.TrimSuffix(line, []byte("\n")))
	}
	c.origin, c.signed = origin, tree
	if err := tree.checkLines(&edge); err != nil {
		c.forged = err.Error()
	} else if slices.ContainsFunc(c.entries, func(e Entry) bool { return e.reworded }) {
		c.forged = "a line " + rewordedText
	}
	return nil
}

// Watch returns the records of a reader and looks at each that passes.
func (c *Check) Watch(r audit.Reader) audit.Reader { return watchedReader{r, c} }

type watchedReader struct {
	audit.Reader
	c *Check
}

func (w watchedReader) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for rec, err := range w.Reader.Read(ctx, q) {
			if err == nil {
				w.c.noteRecord(&rec)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (c *Check) noteRecord(r *audit.Record) {
	if r.Kind == audit.KindCheckpoint {
		c.pruned = r.Seq
	}
	if _, ok := c.wanted[r.Seq]; ok {
		c.wanted[r.Seq] = r.Hash
	}
	if _, ok := c.wanted[r.Seq-1]; ok && r.Kind != audit.KindCheckpoint {
		c.next[r.Seq-1] = time.Unix(0, r.Time)
	}
}

// Compare returns what the anchors say of the records that verified.
func (c *Check) Compare(verified *audit.Report) Result {
	r := Result{Anchors: len(c.entries)}
	c.last = verified.Head.Seq
	for i := range c.entries {
		e := &c.entries[i]
		why := c.describeFaultOf(i)
		switch {
		case why != "" && r.Bad == nil:
			r.Bad = &Fault{Line: i + 1, Seq: e.Seq, Why: why}
		case why != "":
		case e.Seq < c.pruned:
			r.Pruned++
		default:
			r.Proven++
			if _, ok := c.stamps[i]; ok {
				r.Stamps++
			}
		}
	}
	if c.forged != "" && r.Bad == nil {
		last := int(min(c.signed.Size, int64(len(c.entries))))
		r.Bad = &Fault{Line: last, Seq: c.entries[last-1].Seq, Why: "does not fit: " + c.forged}
	} else if c.forged == "" {
		r.Origin, r.Signed = c.origin, c.signed.Size
	}
	if r.Bad == nil && r.Proven == 0 {
		r.Bad = &Fault{Line: len(c.entries), Why: "cannot be compared: everything that was anchored is pruned, so that no anchor proves the record"}
	}
	return r
}

// describeFaultOf says what is wrong with an anchor, or nothing.
func (c *Check) describeFaultOf(i int) string {
	e := &c.entries[i]
	at := e.Time.Format(time.RFC3339)
	switch {
	case c.signed.Size > 0 && e.reworded:
		return rewordedText
	case e.KeyID != c.keyID:
		return fmt.Sprintf("names key %s, and the record has key %s: it is of another record, or this one was begun anew", e.KeyID, c.keyID)
	case i > 0 && e.Seq < c.entries[i-1].Seq && e.Time.Sub(c.entries[i-1].Time) > sameMoment:
		return fmt.Sprintf("is of record %d at %s, after one of record %d: the record was set back in between", e.Seq, at, c.entries[i-1].Seq)
	case e.Seq < c.pruned:
		return ""
	case e.Seq > c.last:
		return fmt.Sprintf("is of record %d, which was there at %s and is missing: the good chain ends at %d", e.Seq, at, c.last)
	case c.wanted[e.Seq] != e.Hash:
		return fmt.Sprintf("is not the hash of record %d: what the record said at %s was rewritten", e.Seq, at)
	case c.broken[i] != nil:
		return fmt.Sprintf("has no good time of an authority: %v", c.broken[i])
	}
	// What follows a head cannot be older than the moment at which an authority saw the head.
	stamp, stamped := c.stamps[i]
	if next, ok := c.next[e.Seq]; ok && stamped && next.Before(stamp.Add(-clockLeeway)) {
		return fmt.Sprintf("was seen by the authority at %s, and record %d behind it says %s: it was written later than it says", stamp.UTC().Format(time.RFC3339), e.Seq+1, next.UTC().Format(time.RFC3339))
	}
	return ""
}
