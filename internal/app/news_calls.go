package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// newsLife is how long earlier calls are remembered after the last question about them.
	newsLife = 10 * time.Minute
	// newsBytes bounds what is remembered of all of them.
	newsBytes = 16 << 20
)

// newsBook remembers the earlier calls of tools by principals, so that the record is read
// once for all held calls, and afterwards as far as it has grown. The zero value is empty.
type newsBook struct {
	mu  sync.Mutex
	all map[toolUse]*pastCalls
}

// toolUse is a tool that a principal uses.
type toolUse struct{ tool, principal string }

// describeNews says what is new about a held call.
func (b *newsBook) describeNews(ctx context.Context, from audit.Reader, a *sallyport.Approval, destinations []string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	use, now := toolUse{a.Tool, a.Principal}, time.Now()
	maps.DeleteFunc(b.all, func(_ toolUse, p *pastCalls) bool { return now.Sub(p.asked) > newsLife })
	p := b.all[use]
	if p == nil || p.read > 2*newsRecords || p.calls[a.CallID] {
		p = &pastCalls{whole: true}
	}
	delete(b.all, use) // when reading fails, the next question begins anew
	p.asked = now
	if err := p.readOn(ctx, from, use, a.CallID); err != nil {
		return nil, err
	}
	if p.gap || p.unknown && p.read > newsRecords {
		p = &pastCalls{whole: true, asked: now}
		if err := p.readOn(ctx, from, use, a.CallID); err != nil {
			return nil, err
		}
	}
	if !p.skipped {
		b.rememberCalls(use, p)
	}
	return p.describeNews(a, destinations), nil
}

// rememberCalls remembers calls, and forgets those about which no question came for longest
// where all of them take too much.
func (b *newsBook) rememberCalls(use toolUse, p *pastCalls) {
	if b.all == nil {
		b.all = map[toolUse]*pastCalls{}
	}
	b.all[use] = p
	size := 0
	for _, one := range b.all {
		size += one.bytes
	}
	byAge := func(x, y toolUse) int { return b.all[x].asked.Compare(b.all[y].asked) }
	for size > newsBytes {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(b.all)), byAge)
		size -= b.all[oldest].bytes
		delete(b.all, oldest)
	}
}

// pastCalls are the calls of a tool by a principal that were let run.
type pastCalls struct {
	asked   time.Time // when the last question came
	last    int64     // the newest record that was read
	read    int       // how many were
	whole   bool      // the record has no other ones
	gap     bool      // more may have come between two questions than was read
	skipped bool      // the call of the question is among them, and is left out
	bytes   int       // about what they take

	ran     int
	roles   map[string]int             // of ran
	seen    map[string]map[string]bool // values by their places
	calls   map[string]bool
	unknown bool // the arguments of one are not recorded whole
}

// readOn reads the records that have come since the last time, without those of one call.
func (p *pastCalls) readOn(ctx context.Context, from audit.Reader, use toolUse, without string) error {
	n := 0
	for e, err := range audit.Events(ctx, from, audit.Query{Tool: use.tool, Principal: use.principal, After: p.last, Last: newsRecords}) {
		if err != nil {
			return err
		}
		n++
		p.last = e.Seq
		switch {
		case !wasLetRun(&e):
		case e.CallID == without:
			p.skipped = true
		default:
			p.addCall(&e)
		}
	}
	p.gap = p.read > 0 && n == newsRecords
	p.read += n
	p.whole = p.whole && n < newsRecords
	return nil
}

// wasLetRun reports whether a record is of a call that nothing refused.
func wasLetRun(e *audit.Event) bool {
	return !e.DryRun && (e.Kind == audit.KindIntent || e.Kind == audit.KindOutcome && (e.OK || e.Stage == ""))
}

func (p *pastCalls) addCall(e *audit.Event) {
	if p.calls == nil {
		p.calls, p.roles, p.seen = map[string]bool{}, map[string]int{}, map[string]map[string]bool{}
	}
	if p.calls[e.CallID] {
		return
	}
	p.calls[e.CallID] = true
	p.bytes += len(e.CallID) + mapEntry
	p.ran++
	p.roles[string(e.Personality)]++
	values, ok := splitArguments(string(e.Args))
	p.unknown = p.unknown || !ok
	for place, list := range values {
		if p.seen[place] == nil {
			p.seen[place] = map[string]bool{}
			p.bytes += len(place) + mapEntry
		}
		for _, v := range list {
			if isCompared(v) && !p.seen[place][v] {
				p.seen[place][v] = true
				p.bytes += len(v) + mapEntry
			}
		}
	}
}

// mapEntry is about what an entry of a map takes beside its text, in bytes.
const mapEntry = 64

// isCompared reports whether a value is compared with earlier ones: text of several lines
// and long values are hardly ever written twice.
func isCompared(v string) bool { return len(v) <= newsValue && !strings.Contains(v, `\n`) }

// describeNews says what is new about a held call.
func (p *pastCalls) describeNews(a *sallyport.Approval, destinations []string) (news []string) {
	who := a.Tool + " by " + a.Principal
	switch {
	case p.ran == 0 && p.whole:
		return []string{"the record has no earlier call of " + who + " that ran"}
	case p.ran == 0:
		return nil
	case p.roles[a.Personality] == 0 && p.whole && a.Personality != "":
		news = append(news, "the record has no earlier call of "+who+" in the role "+a.Personality+" that ran")
	}
	return append(news, p.compareValues(a, destinations)...)
}

// compareValues says which values of a held call none of the calls had.
func (p *pastCalls) compareValues(a *sallyport.Approval, destinations []string) (news []string) {
	values, ok := splitArguments(a.Args)
	if p.unknown || !ok || a.Hidden > 0 {
		return nil
	}
	for _, place := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[place] {
			if p.seen[place][v] || !isCompared(v) {
				continue
			}
			what := "argument"
			if slices.ContainsFunc(destinations, func(d string) bool { return place == d || strings.HasPrefix(place, d+"/") }) {
				what = "destination"
			}
			news = append(news, fmt.Sprintf("%s %s: none of the last %s that ran had %s", what, place, text.CountOf(p.ran, "call"), text.PrintableLine(v)))
		}
	}
	if over := len(news) - maxNews; over > 0 {
		news = append(news[:maxNews:maxNews], fmt.Sprintf("and %d values more", over))
	}
	return news
}
