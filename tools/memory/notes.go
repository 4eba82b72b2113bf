package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/internal/text"
)

type writeInput struct {
	Action string `json:"action,omitempty" jsonschema:"keep a note, or forget that of the key."`
	Key    string `json:"key" jsonschema:"Name of the note, one line, such as deploy-steps."`
	Text   string `json:"text,omitempty" jsonschema:"The note; needed to keep one."`
	Reach  string `json:"reach,omitempty" jsonschema:"Who finds it: this session alone, your own sessions in this role, or everyone in this role."`
	Days   int    `json:"days,omitempty" jsonschema:"Days to keep it: a year unless given, of a session 30 at most."`
}

type readInput struct {
	Query            string `json:"query,omitempty" jsonschema:"Words to search for. Leave out for the newest notes."`
	Key              string `json:"key,omitempty" jsonschema:"Exact key of a note."`
	Reach            string `json:"reach,omitempty" jsonschema:"Only notes of this reach. Leave out for all."`
	MaxResults       int    `json:"max_results,omitempty" jsonschema:"Most notes to return."`
	IncludeUntrusted bool   `json:"include_untrusted,omitempty" jsonschema:"Also return notes that were written after untrusted content was read."`
}

// writeMemory runs a call of memory_write.
func writeMemory(ctx context.Context, c *sallyport.Call, in writeInput) (sallyport.Result, error) {
	m, err := memoryOf(c)
	if err != nil {
		return sallyport.Result{}, err
	}
	reach := recall.Reach(in.Reach)
	if reach == "" {
		reach = recall.Own
	}
	if in.Action == actionForget {
		return forgetNote(ctx, c, m, reach, in)
	}
	n, err := m.Keep(ctx, recall.Note{Reach: reach, Key: in.Key, Text: in.Text}, time.Duration(in.Days)*24*time.Hour)
	if err != nil {
		return sallyport.Result{}, err
	}
	said := fmt.Sprintf("Kept %q until %s.", n.Key, n.Expires.Format(time.DateOnly))
	if n.Untrusted {
		said += " It counts as untrusted, because this session has read untrusted content: memory_read shows it with include_untrusted alone."
	}
	r := sallyport.OK(said)
	r.Structured = map[string]any{"key": n.Key, "reach": string(n.Reach), "untrusted": n.Untrusted, "expires": n.Expires.Format(time.RFC3339)}
	return r, nil
}

func forgetNote(ctx context.Context, c *sallyport.Call, m recall.Memory, reach recall.Reach, in writeInput) (sallyport.Result, error) {
	if in.Text != "" || in.Days != 0 {
		return sallyport.Result{}, sallyport.InputInvalid("to forget a note takes its key and reach alone")
	}
	n, err := m.Forget(ctx, reach, in.Key)
	switch {
	case err != nil:
		return sallyport.Result{}, err
	case n == 0 && c.Tainted:
		return sallyport.Result{}, sallyport.InputInvalid(fmt.Sprintf(
			"nothing was forgotten: there is no untrusted note %q, and a session that has read untrusted content forgets no other", in.Key))
	case n == 0:
		return sallyport.Result{}, sallyport.InputInvalid(fmt.Sprintf("there is no note %q of this reach", in.Key))
	}
	r := sallyport.OK(fmt.Sprintf("Forgot %q.", in.Key))
	r.Structured = map[string]any{"key": in.Key, "forgotten": n}
	return r, nil
}

// readMemory runs a call of memory_read.
func readMemory(ctx context.Context, c *sallyport.Call, in readInput) (sallyport.Result, error) {
	m, err := memoryOf(c)
	if err != nil {
		return sallyport.Result{}, err
	}
	q := recall.Query{Key: in.Key, Words: in.Query, Most: in.MaxResults, Untrusted: in.IncludeUntrusted}
	if q.Most == 0 {
		q.Most = defaultNotes
	}
	if in.Reach != "" {
		q.Reaches = []recall.Reach{recall.Reach(in.Reach)}
	}
	found, err := m.Find(ctx, q)
	if err != nil {
		return sallyport.Result{}, err
	}
	return newNotesResult(&found), nil
}

// newNotesResult shows notes. Their lines are indented, so that none can pass for the
// head of another one.
func newNotesResult(found *recall.Found) sallyport.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.", text.CountOf(len(found.Notes), "note"))
	if found.Withheld > 0 {
		fmt.Fprintf(&b, " %d more match that were written after untrusted content was read: include_untrusted shows them.", found.Withheld)
	}
	r := sallyport.Result{OK: true}
	list := []map[string]any{}
	for _, n := range found.Notes {
		mark := ""
		if n.Untrusted {
			mark, r.Untrusted = ", untrusted", true
		}
		fmt.Fprintf(&b, "\n\n[%s] %s (%s%s)\n  %s", n.Reach, text.PrintableLine(n.Key), n.Written.Format(time.DateOnly), mark,
			strings.ReplaceAll(text.BreakLines(strings.TrimSpace(n.Text)), "\n", "\n  "))
		list = append(list, map[string]any{
			"key": n.Key, "text": n.Text, "reach": string(n.Reach), "untrusted": n.Untrusted,
			"written": n.Written.Format(time.RFC3339), "expires": n.Expires.Format(time.RFC3339), "call_id": n.Call,
		})
	}
	r.Value = b.String()
	r.Structured = map[string]any{"notes": list, "withheld": found.Withheld}
	return r
}
