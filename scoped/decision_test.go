package scoped_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestDecisionsAreBoundedByKind(t *testing.T) {
	t.Parallel()
	g, b := allBackends()
	c, _, j := bind(t, g, b)
	for range 200 {
		_, _ = c.Process.Spawn(t.Context(), "git", nil, nil)
	}
	_, _ = c.Process.Spawn(t.Context(), strings.Repeat("x", 10_000), nil, nil)
	for range 200 {
		_, _ = c.Process.Spawn(t.Context(), "rm", nil, nil)
	}
	allowed, refused := 0, 0
	for _, d := range j.list {
		if len(d.Why) > 5000 {
			t.Errorf("a decision has %d bytes, want a name clipped", len(d.Why))
		}
		if d.Allowed {
			allowed++
		} else {
			refused++
		}
	}
	if allowed != 42 || refused != 42 {
		t.Errorf("decisions = %d allowed, %d refused, want 42 of each", allowed, refused)
	}
	if last := j.list[len(j.list)-1].Why; !strings.Contains(last, "not listed") {
		t.Errorf("the last decision is %q, want it to say that more follow", last)
	}
}

func TestBackendErrorsAreHidden(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial tcp 10.0.0.5:5432: password=hunter2hunter2")
	g, b := allBackends()
	b.Secrets, b.KV, b.Attachments = failing{secret}, failing{secret}, failing{secret}
	b.Process = &scopedtest.Runner{Play: func(_ context.Context, _ scopedtest.Spawned) (sallyport.ProcessResult, error) {
		return sallyport.ProcessResult{}, secret
	}}
	b.Databases = &scopedtest.Databases{Play: func(scopedtest.Queried) (sallyport.Table, error) {
		return sallyport.Table{}, secret
	}}
	b.Mail = failing{secret}
	c, _, _ := bind(t, g, b, sallyport.Attachment{Ref: "att-0", Kind: sallyport.KindFile})
	ctx, got := t.Context(), map[string]error{}
	_, got["secret providers/exa/apiKey could not be read"] = c.Secrets.Get(ctx, "providers/exa/apiKey")
	_, got["the key-value store could not be opened"] = c.KV.List(ctx, "")
	_, got["git could not be run"] = c.Process.Spawn(ctx, "git", nil, nil)
	_, got["attachment att-0 could not be opened"] = c.Attachments.Open(ctx, "att-0")
	_, got["the query on analytics failed"] = c.Databases.Query(ctx, "analytics", "select 1", nil)
	got["the mail could not be sent"] = c.Mail.Send(ctx, sallyport.Message{To: []string{"a@example.com"}})
	for want, err := range got {
		if err == nil || err.Error() != want || !errors.Is(err, secret) {
			t.Errorf("error %q, want %q with the cause in the chain", err, want)
		}
	}
}

func TestCodedBackendErrorsReachTheCaller(t *testing.T) {
	t.Parallel()
	coded := &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: "the state is locked"}
	g, b := allBackends()
	b.KV = failing{errors.Join(errors.New("sqlite: /var/lib/state.db"), coded)}
	c, _, _ := bind(t, g, b)
	if _, err := c.KV.List(t.Context(), ""); err == nil || err.Error() != "the state is locked" {
		t.Errorf("KV.List = %v, want the coded error alone", err)
	}
}

// failing is a backend that fails.
type failing struct{ err error }

func (f failing) Secret(context.Context, string) (sallyport.Secret, bool, error) {
	return sallyport.NewSecret("never handed out"), true, f.err
}
func (f failing) Known(context.Context) ([]sallyport.Secret, error)     { return nil, f.err }
func (f failing) KV(context.Context, string) (sallyport.KV, error)      { return nil, f.err }
func (f failing) Open(context.Context, string) (io.ReadCloser, error)   { return nil, f.err }
func (f failing) Send(context.Context, string, sallyport.Message) error { return f.err }

func TestBackendErrorsSayWhenTheTimeIsUp(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]string{
		context.Canceled:         "the mail could not be sent: the call was cancelled",
		context.DeadlineExceeded: "the mail could not be sent: the time is up",
	} {
		g, b := allBackends()
		b.Mail = failing{fmt.Errorf("smtp 10.0.0.5: %w", cause)}
		c, _, _ := bind(t, g, b)
		err := c.Mail.Send(t.Context(), sallyport.Message{To: []string{"a@example.com"}})
		if !errors.Is(err, cause) || err.Error() != want {
			t.Errorf("Send = %v, want %q", err, want)
		}
	}
}

func TestNamesInDecisionsAreCutAtACharacter(t *testing.T) {
	t.Parallel()
	g, b := allBackends()
	c, _, j := bind(t, g, b)
	_, _ = c.Secrets.Get(t.Context(), "x"+strings.Repeat("ü", 5000))
	if len(j.list) != 1 || len(j.list[0].Resource) > 4100 || !utf8.ValidString(j.list[0].Resource) {
		t.Errorf("decisions = %+v, want one with a short valid name", j.list)
	}
}
