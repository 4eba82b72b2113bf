package registry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// register says who still stands; the rest are gone.
type register struct {
	names map[string]bool
	err   error
}

func (r *register) Stands(_ context.Context, principal string, since time.Time) (bool, error) {
	if since.IsZero() {
		return false, errors.New("since when is not said")
	}
	return r.names[principal], r.err
}

// An approval that comes after the caller was revoked runs nothing, and is not
// spent.
func TestAHeldCallOfACallerWhoIsGoneDoesNotRun(t *testing.T) {
	t.Parallel()
	store, still := memory.NewApprovals(nil), &register{}
	g := &gate{t: t, recorder: &recorder{}, role: "role"}
	var err error
	g.Registry, err = registry.New(&sallyport.Backends{Personalities: one{asking(nil)}},
		&registry.Options{Recorder: g.recorder, Approvals: store, Standing: still})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	g.add(sallyport.Tool{Name: "held", Schema: open, Run: echo})
	res := call(g, "held", "")
	if err := store.Decide(t.Context(), res.ApprovalID, "boss", true, ""); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		register
		code sallyport.Code
		text string
	}{
		{"gone", register{}, sallyport.CodePermissionDenied, "Permission denied: principal tester may not call any more"},
		{"it is not known", register{err: errors.New("driver: password=hunter2")}, sallyport.CodeNotAvailable, "Tool held is not currently available"},
		{"there", register{names: map[string]bool{"tester": true}}, "", ""},
	} {
		*still = tt.register
		if res := call(g, "held", ""); res.Code != tt.code || res.Error != tt.text {
			t.Errorf("%s: Call() = %+v, want code %q, text %q", tt.name, res, tt.code, tt.text)
		}
	}
}
