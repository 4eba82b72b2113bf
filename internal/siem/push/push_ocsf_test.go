package push

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/siem"
)

// keptLines is a sender that keeps the text of what it is handed.
type keptLines struct {
	Sender
	text string
}

func (k *keptLines) Send(_ context.Context, lines []siem.Line) (int, error) {
	for i := range lines {
		k.text += lines[i].Text + "\n"
	}
	return 0, nil
}
func (k *keptLines) Confirm(context.Context, bool) error { return nil }
func (k *keptLines) Close()                              {}

// An event says the same whether it is pushed or exported, also behind a restart.
func TestWhatIsPushedIsWhatIsExported(t *testing.T) {
	t.Parallel()
	r, k := newRecord(t, "before"), &keptLines{}
	for _, tool := range []string{"a", "b", "c"} {
		p := r.pusher(k, t.Output())
		p.o.Format = siem.OCSF
		if err := sendAll(t, p); err != nil {
			t.Fatal(err)
		}
		r.add(t, tool, tool)
		p.Finish(t.Context())
	}
	var exported bytes.Buffer
	if err := siem.Write(t.Context(), r.Store, &exported, audit.Query{After: 1}, siem.OCSF, "v1"); err != nil {
		t.Fatal(err)
	}
	if k.text != exported.String() || strings.Count(k.text, "prev_event") != 6 {
		t.Errorf("pushed:\n%s\nexported:\n%s", k.text, &exported)
	}
}

// gapped is a record of which one is gone.
type gapped struct {
	record
	gone int64
}

func (g gapped) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for rec, err := range g.record.Read(ctx, q) {
			if (err != nil || rec.Seq != g.gone) && !yield(rec, err) {
				return
			}
		}
	}
}

// An event names no other event than the one before as that.
func TestAGapIsNotTheEventBefore(t *testing.T) {
	t.Parallel()
	r, k := newRecord(t), &keptLines{}
	p := r.pusher(k, t.Output())
	p.o.Format, p.o.Records = siem.OCSF, gapped{r, 2}
	if err := sendAll(t, p); err != nil {
		t.Fatal(err)
	}
	r.add(t, "a", "b", "c", "d")
	p.Finish(t.Context())
	if s := p.Stats(); s.Sent != 3 || s.Lost != 1 || strings.Count(k.text, "prev_event") != 1 {
		t.Errorf("the counts are %+v, and these were pushed:\n%s", s, k.text)
	}
}
