package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxUnknown bounds the calls that a report lists by id.
const maxUnknown = 100

// VerifyOptions refine a verification. nil means the defaults.
type VerifyOptions struct {
	// Head is a head that was remembered elsewhere; nil means that there is
	// none and that the tail stays unproven.
	Head *Head
}

// Fault is the first record that does not fit into the chain.
type Fault struct {
	// Seq is the number of the record: of the missing one for a gap.
	Seq int64 `json:"seq"`
	// Why says what is wrong with it, to be read after "record N".
	Why string `json:"why"`
}

// Report is what a verification found.
type Report struct {
	// Records is the number of records that verified.
	Records int64 `json:"records"`
	// Pruned is the number of records for which a checkpoint stands.
	Pruned int64 `json:"pruned,omitempty"`
	// Head is the newest record that verified.
	Head Head `json:"-"`
	// Bad is the first bad record; nil when the chain holds.
	Bad *Fault `json:"bad,omitempty"`
	// TailProven is true when the remembered head is part of the chain.
	// Without one, the newest records may have been cut off.
	TailProven bool `json:"tail_proven"`
	// Unknown lists the calls whose intent has no outcome, by the order of
	// their intents, at most 100: they still run, or their process died.
	Unknown []string `json:"unknown,omitempty"`
	// UnknownCount is how many there are.
	UnknownCount int `json:"unknown_count"`
}

// OK reports whether no record is bad.
func (r *Report) OK() bool { return r.Bad == nil }

// String describes the report in a few lines for a terminal.
func (r *Report) String() string {
	var b strings.Builder
	if r.Bad != nil {
		fmt.Fprintf(&b, "record %d %s; %d records before it are good", r.Bad.Seq, r.Bad.Why, r.Records)
	} else {
		fmt.Fprintf(&b, "%d records, chain good, head %s", r.Records, r.Head)
	}
	if r.Pruned > 0 {
		fmt.Fprintf(&b, "\n%d older records were pruned, checkpoint good", r.Pruned)
	}
	switch {
	case r.Bad != nil:
	case r.TailProven:
		b.WriteString("\ntail proven by the given head")
	default:
		b.WriteString("\ntail not proven: compare with a head that was kept elsewhere")
	}
	if r.UnknownCount > 0 {
		fmt.Fprintf(&b, "\n%d with unknown outcome: %s", r.UnknownCount, strings.Join(r.Unknown, ", "))
		if r.UnknownCount > len(r.Unknown) {
			b.WriteString(", …")
		}
	}
	return b.String()
}

// Verify walks the whole chain and names the first bad record. The error is
// about reading; a bad chain is no error but a report with a fault. The
// report is meaningful up to the error.
func Verify(ctx context.Context, r Reader, key Key, o *VerifyOptions) (Report, error) {
	if key.IsZero() {
		return Report{}, errors.New("audit: verify needs a key")
	}
	var head *Head
	if o != nil {
		head = o.Head
	}
	v := newChainVerifier(key, head)
	for rec, err := range r.Read(ctx, Query{}) {
		if err != nil {
			return v.finishReport(), fmt.Errorf("audit: verify: %w", err)
		}
		if v.addRecord(&rec) != nil {
			return v.finishReport(), nil
		}
	}
	v.checkEnd()
	return v.finishReport(), nil
}

// chainVerifier holds the state of one walk.
type chainVerifier struct {
	sealer *recordSealer
	keyID  string
	want   *Head
	report Report
	// next is the number expected, prev the hash that it follows.
	next int64
	prev Hash
	// open maps the calls without an outcome to the number of their intent.
	open map[string]int64
}

func newChainVerifier(key Key, want *Head) *chainVerifier {
	return &chainVerifier{sealer: newSealer(key), keyID: key.ID(), want: want, next: 1, open: make(map[string]int64)}
}

// addRecord verifies the next record and returns the fault it shows.
func (v *chainVerifier) addRecord(r *Record) *Fault {
	if r.Kind == KindCheckpoint {
		return v.addCheckpoint(r)
	}
	switch {
	case r.Seq > v.next && v.next == 1:
		return v.setFault(1, fmt.Sprintf("is missing: the chain begins at %d and no checkpoint stands for what was before", r.Seq))
	case r.Seq > v.next:
		return v.setFault(v.next, fmt.Sprintf("is missing: %d follows %d", r.Seq, v.next-1))
	case r.Seq < v.next:
		return v.setFault(r.Seq, fmt.Sprintf("is repeated or out of order: %d was expected", v.next))
	}
	if v.sealer.sealRecord(v.prev, r) != r.Hash {
		return v.setFault(r.Seq, v.mismatchReason(r))
	}
	switch r.Kind {
	case KindIntent:
		v.open[r.Call] = r.Seq
	case KindOutcome:
		delete(v.open, r.Call)
	}
	v.report.Records++
	return v.advanceTo(r)
}

// advanceTo makes r the newest record and compares it with the given head.
func (v *chainVerifier) advanceTo(r *Record) *Fault {
	if v.want != nil && v.want.Seq == r.Seq {
		if v.want.Hash != r.Hash {
			return v.setFault(r.Seq, "is not the one of the given head: the chain was cut and continued")
		}
		v.report.TailProven = true
	}
	v.next, v.prev, v.report.Head = r.Seq+1, r.Hash, r.Head()
	return nil
}

// mismatchReason says what a wrong hash may mean.
func (v *chainVerifier) mismatchReason(r *Record) string {
	if id := r.keyID(); id != "" && id != v.keyID {
		return fmt.Sprintf("was sealed with another key: it names key %s, not %s", id, v.keyID)
	}
	if v.next == 1 {
		return "was altered, or sealed with another key"
	}
	return "was altered, or does not belong after the record before it"
}

func (v *chainVerifier) addCheckpoint(r *Record) *Fault {
	if v.next != 1 {
		return v.setFault(r.Seq, "is a checkpoint in the middle of the chain")
	}
	c, err := r.Checkpoint()
	switch {
	case err == nil && c.isGenuine(r, v.sealer, v.keyID):
	case err == nil && c.KeyID != v.keyID:
		return v.setFault(r.Seq, fmt.Sprintf("is a checkpoint signed with another key: it names key %s, not %s", c.KeyID, v.keyID))
	default:
		return v.setFault(r.Seq, "is a checkpoint that was altered, or signed with another key")
	}
	v.report.Pruned = c.Count
	return v.advanceTo(r)
}

// setFault sets the fault at which the chain is bad, and returns it.
func (v *chainVerifier) setFault(seq int64, why string) *Fault {
	v.report.Bad = &Fault{Seq: seq, Why: why}
	v.report.TailProven = false
	return v.report.Bad
}

func (v *chainVerifier) checkEnd() {
	if v.want != nil && v.want.Seq >= v.next {
		v.setFault(v.next, fmt.Sprintf("is missing: the given head is %d", v.want.Seq))
	}
	if v.want != nil && v.want.Seq == 0 && v.want.Hash == (Hash{}) {
		// The head of an empty chain is part of every chain.
		v.report.TailProven = v.report.Bad == nil
	}
}

func (v *chainVerifier) finishReport() Report {
	if v.report.Bad != nil {
		return v.report // Outcomes may stand behind it.
	}
	v.report.UnknownCount = len(v.open)
	calls := slices.SortedFunc(maps.Keys(v.open), func(a, b string) int { return int(v.open[a] - v.open[b]) })
	v.report.Unknown = calls[:min(len(calls), maxUnknown)]
	if len(calls) == 0 {
		v.report.Unknown = nil
	}
	return v.report
}
