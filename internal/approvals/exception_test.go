package approvals_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

// giveAlways holds a call and gives the exception for it.
func (d *desk) giveAlways(a *sallyport.Approval, span time.Duration) {
	d.t.Helper()
	d.hold(a)
	if err := d.GiveException(d.t.Context(), *approvals.ProposeException(a), approvals.DeciderNamed("boss"), " as agreed ", span); err != nil {
		d.t.Fatal(err)
	}
}

// wantAlways asks whether an exception covers a call.
func (d *desk) wantAlways(a *sallyport.Approval, want bool) {
	d.t.Helper()
	said, ok, err := d.Use(d.t.Context(), a)
	if ok != want || err != nil || ok && said != "allowed for always by boss (exception first-call): as agreed" {
		d.t.Errorf("Use(%s) = %q, %v, %v, want %v", a.Digest, said, ok, err, want)
	}
}

// shapeless is a call without a session, held as often as the test likes.
func (d *desk) shapeless(id, digest string) *sallyport.Approval {
	a := d.newCall(id, nil)
	a.Digest, a.Shape, a.Session = digest, nil, ""
	return a
}

func TestAnExceptionIsForExactlyOneCall(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	a := d.shapeless("first-call", "digest")
	d.wantAlways(a, false)
	d.giveAlways(a, 0)
	if held, err := d.held.Get(t.Context(), a.ID); err != nil || held.State != sallyport.ApprovalUsed || held.Rule != a.ID || held.DecidedBy != "boss" {
		t.Errorf("the held call = %+v, %v, want it closed by the exception", held, err)
	}
	for range 3 {
		d.wantAlways(d.shapeless("later", "digest"), true)
		d.wait(400 * 24 * time.Hour)
	}
	d.wantAlways(d.shapeless("later", "another"), false)
	d.wantAlways(d.shapeless("later", ""), false)
	list, err := d.Exceptions(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "first-call" || list[0].By != "boss" || !list[0].Expires.IsZero() {
		t.Errorf("Exceptions() = %+v, %v", list, err)
	}
	if gone, err := d.EndExceptions(t.Context(), func(e *approvals.Exception) bool { return e.ID == "first-call" }); err != nil || len(gone) != 1 {
		t.Fatalf("EndExceptions() = %v, %v", gone, err)
	}
	d.wantAlways(d.shapeless("later", "digest"), false)
}

func TestAnExceptionEndsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.giveAlways(d.shapeless("first-call", "digest"), 24*time.Hour)
	d.wait(24*time.Hour - 1)
	d.wantAlways(d.shapeless("later", "digest"), true)
	d.wait(1)
	d.wantAlways(d.shapeless("later", "digest"), false)
	d.wait(-48 * time.Hour)
	d.wantAlways(d.shapeless("later", "digest"), false)
}

// TestANoBeatsAnException that was given before.
func TestANoBeatsAnException(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.hold(d.shapeless("denied", "digest"))
	if err := d.held.Decide(t.Context(), "denied", "other", false, ""); err != nil {
		t.Fatal(err)
	}
	const text = `[{"id":"first-call","digest":"digest","tool":"send","principal":"agent","args":"{}","given":"2020-01-01T00:00:00Z"}]`
	if _, _, err := d.settings.PutIfAbsent(t.Context(), "approvals.always", text); err != nil {
		t.Fatal(err)
	}
	d.wantAlways(d.shapeless("later", "digest"), false)
}

func TestAnExceptionEndsWithItsPrincipal(t *testing.T) {
	t.Parallel()
	stands := true
	d := newDesk(t, func(_ *desk, o *approvals.RulesOptions) {
		o.Stands = func(context.Context, string, time.Time) (bool, error) { return stands, nil }
	})
	d.giveAlways(d.shapeless("first-call", "digest"), 0)
	d.wantAlways(d.shapeless("later", "digest"), true)
	stands = false
	d.wantAlways(d.shapeless("later", "digest"), false)
	stands = true
	d.wantAlways(d.shapeless("later", "digest"), false)
}

func TestWhoMayNotDecideGivesNoException(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	own, decided, changed := d.hold(d.shapeless("own", "1")), d.hold(d.shapeless("decided", "2")), d.hold(d.shapeless("changed", "3"))
	if err := d.held.Decide(t.Context(), decided.ID, "boss", false, ""); err != nil {
		t.Fatal(err)
	}
	other := *changed
	other.Digest = "4"
	for _, tt := range []struct {
		a    *sallyport.Approval
		by   string
		want error
	}{
		{own, "agent", sallyport.ErrApprovalOwn},
		{decided, "boss", sallyport.ErrApprovalClosed},
		{d.shapeless("unknown", "5"), "boss", sallyport.ErrApprovalUnknown},
		{&other, "boss", nil},
	} {
		err := d.GiveException(t.Context(), *approvals.ProposeException(tt.a), approvals.DeciderNamed(tt.by), "", 0)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("GiveException(%s) = %v, want %v", tt.a.ID, err, tt.want)
		}
	}
	if list, err := d.Exceptions(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("Exceptions() = %v, %v, want none", list, err)
	}
}

func TestExceptionsThatCannotBeReadAllowNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	const text = `[{"id":"first-call","digest":"digest","tool":"send","principal":"agent","args":"{}","given":"2020-01-01T00:00:00Z","only_at_night":true}]`
	if _, _, err := d.settings.PutIfAbsent(t.Context(), "approvals.always", text); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := d.Use(t.Context(), d.shapeless("later", "digest")); ok || !errors.Is(err, approvals.ErrExceptionsUnreadable) {
		t.Errorf("Use() = %v, %v, want %v", ok, err, approvals.ErrExceptionsUnreadable)
	}
	if _, err := d.EndExceptions(t.Context(), func(*approvals.Exception) bool { return true }); err != nil {
		t.Fatal(err)
	}
	d.wantAlways(d.shapeless("later", "digest"), false)
}

func TestExceptionsAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	one := `{"id":"x","digest":"y","tool":"send","principal":"agent","args":"{}","given":"2020-01-01T00:00:00Z"}`
	if _, _, err := d.settings.PutIfAbsent(t.Context(), "approvals.always", "["+strings.Repeat(one+",", 199)+one+"]"); err != nil {
		t.Fatal(err)
	}
	a := d.hold(d.shapeless("first-call", "digest"))
	if err := d.GiveException(t.Context(), *approvals.ProposeException(a), approvals.DeciderNamed("boss"), "", 0); err == nil || !strings.Contains(err.Error(), "the most") {
		t.Errorf("GiveException() = %v, want that there are too many", err)
	}
	if held, err := d.held.Get(t.Context(), a.ID); err != nil || held.State != sallyport.ApprovalPending {
		t.Errorf("the held call = %+v, %v, want it pending", held, err)
	}
}
