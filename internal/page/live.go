package page

import (
	"cmp"
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxRecent is how many of the newest records the page looks at.
	maxRecent = 10_000
	// perPage is how many calls one page shows.
	perPage = 200
	// shownArgs bounds the arguments of a row, in code points.
	shownArgs = 120
)

// recorded is a record as a row: a change, a call that ended, or one that still runs. Its
// texts are as they were recorded.
type recorded struct {
	Seq                                  int64
	At                                   time.Time
	Call, Tool, Who, Role, Outcome, Says string
	Took                                 time.Duration
}

// keptRow is a row that does not change any more.
type keptRow struct {
	recorded
	over bool // an intent whose outcome is a row of its own
}

// recentRecords is the newest records, each read once.
type recentRecords struct {
	mu   sync.Mutex
	rows []*keptRow          // the oldest first
	open map[string]*keptRow // intents without an outcome, by call
	last int64
}

// updateRecords reads what was recorded since the last look, and returns all rows, the oldest
// first. The slice is the caller's, and the rows are there to be read.
func (r *recentRecords) updateRecords(ctx context.Context, from audit.Reader) ([]*recorded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := audit.Query{After: r.last, Last: maxRecent} // more may have come since
	if r.open == nil {
		r.open = map[string]*keptRow{}
	}
	for e, err := range audit.Events(ctx, from, q) {
		if err != nil {
			return nil, err
		}
		r.add(&e)
	}
	if over := len(r.rows) - maxRecent; over > 0 {
		for _, row := range r.rows[:over] {
			delete(r.open, row.Call)
		}
		r.rows = slices.Delete(r.rows, 0, over)
	}
	list := make([]*recorded, 0, len(r.rows))
	for _, row := range r.rows {
		if !row.over {
			list = append(list, &row.recorded)
		}
	}
	return list, nil
}

func (r *recentRecords) add(e *audit.Event) {
	r.last = max(r.last, e.Seq)
	row := &keptRow{recorded: recorded{
		Seq: e.Seq, At: e.Time, Call: e.CallID, Tool: string(e.Tool), Who: e.Principal, Role: string(e.Personality),
		Outcome: outcomeOf(e), Says: text.Clip(string(e.Args), shownArgs), Took: e.Duration,
	}}
	switch {
	case e.Kind == audit.KindIntent:
		r.open[e.CallID] = row
	case e.Change != nil:
		row.Says = string(e.Change.Action) + " " + string(e.Change.Target)
		if e.Change.Detail != "" {
			row.Says += ": " + text.Clip(string(e.Change.Detail), shownLine)
		}
	default:
		if begun := r.open[e.CallID]; begun != nil {
			begun.over = true
			delete(r.open, e.CallID)
		}
		if e.Error != "" {
			row.Says = text.Clip(string(e.Error), shownLine)
		}
	}
	r.rows = append(r.rows, row)
}

// outcomeOf returns one word for a record.
func outcomeOf(e *audit.Event) string {
	switch {
	case e.Kind == audit.KindIntent:
		return "running"
	case e.Kind == audit.KindChange && e.Error != "":
		return "undone"
	case e.Kind == audit.KindChange:
		return "change"
	case e.DryRun:
		return "described"
	case e.OK && e.Cached:
		return "cached"
	case e.OK:
		return "ok"
	case e.Denied() && e.Code == sallyport.CodeApprovalRequired:
		return "held"
	case e.Denied():
		return "denied"
	default:
		return "failed"
	}
}

// filter is what a person wants to see of the record. It lives in the address.
type filter struct {
	Tool, Who, Role, Outcome, Since string
	First                           bool // denials first
	Before                          int64
}

// outcomes are the words that a filter may ask for.
var outcomes = []string{"denied", "held", "failed", "ok", "cached", "running", "change", "undone", "described"}

func filterOf(q url.Values) filter {
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64) // 0 for what is no number
	return filter{
		Tool: q.Get("tool"), Who: q.Get("who"), Role: q.Get("role"), Outcome: q.Get("outcome"), Since: q.Get("since"),
		First: q.Get("first") == "denied", Before: before,
	}
}

// countFrom returns the earliest time of a filter, the zero time for any.
func (f *filter) countFrom(now time.Time) time.Time {
	if d, err := config.ParseDuration(f.Since); err == nil && d > 0 {
		return now.Add(-d)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, f.Since, time.Local); err == nil {
			return at
		}
	}
	return time.Time{}
}

// hasFilter reports whether a row is selected.
func (f *filter) hasFilter(r *recorded, since time.Time) bool {
	return (f.Before == 0 || r.Seq < f.Before) && (f.Tool == "" || strings.Contains(r.Tool, f.Tool)) && (f.Who == "" || r.Who == f.Who) &&
		(f.Role == "" || r.Role == f.Role) && (f.Outcome == "" || r.Outcome == f.Outcome) && !r.At.Before(since)
}

// liveBody is what the page of the decisions shows.
type liveBody struct {
	Filter   filter
	Outcomes []string
	Rows     []recorded
	Found    int // how many of the rows that were looked at are selected
	Looked   int
	Older    template.URL // the query of the next page, encoded; empty for none
}

// showLive shows the decisions as they fall, the newest first.
func (s *Site) showLive(w http.ResponseWriter, r *http.Request) {
	all, err := s.recent.updateRecords(r.Context(), s.rt.State)
	if err != nil {
		s.rt.Logger.Error("the page cannot read the record", "error", err)
		s.refuseRequest(w, r, http.StatusServiceUnavailable, "The record cannot be read now.")
		return
	}
	b := liveBody{Filter: filterOf(r.URL.Query()), Outcomes: outcomes, Looked: len(all)}
	since := b.Filter.countFrom(time.Now())
	slices.Reverse(all)
	found := slices.DeleteFunc(all, func(r *recorded) bool { return !b.Filter.hasFilter(r, since) })
	b.Found = len(found)
	if b.Filter.First {
		refused := func(r *recorded) int {
			if r.Outcome == "denied" || r.Outcome == "held" {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(found, func(a, b *recorded) int { return cmp.Compare(refused(a), refused(b)) })
	}
	if len(found) > perPage {
		found = found[:perPage]
		if !b.Filter.First {
			q := r.URL.Query()
			q.Set("before", strconv.FormatInt(found[perPage-1].Seq, 10))
			b.Older = template.URL(q.Encode())
		}
	}
	b.Rows = make([]recorded, len(found))
	for i, row := range found {
		shown := *row
		shown.Tool, shown.Who, shown.Role, shown.Says = cleanText(row.Tool), cleanText(row.Who), cleanText(row.Role), cleanText(row.Says)
		b.Rows[i] = shown
	}
	s.showPart(w, r, http.StatusOK, "live", frame{Title: "Live", Body: &b})
}
