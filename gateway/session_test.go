package gateway

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
)

func TestConversationEndsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conversationSet{idle: map[string]*currentConversation{}}
		first := c.currentSession("a")
		if other := c.currentSession("b"); other == first {
			t.Errorf("two callers share the conversation %s", first)
		}
		time.Sleep(sessionIdle)
		if got := c.currentSession("a"); got != first {
			t.Errorf("after %v the conversation is %s, want %s", sessionIdle, got, first)
		}
		time.Sleep(sessionIdle + 1)
		if got := c.currentSession("a"); got == first {
			t.Errorf("after more than %v the conversation is still %s", sessionIdle, got)
		}
		if len(c.idle) != 1 {
			t.Errorf("%d conversations are kept, want the live one", len(c.idle))
		}
	})
}

func TestNamedSession(t *testing.T) {
	tests := []struct {
		name string
		meta string
		want string
		ok   bool
	}{
		{name: "none", meta: `{}`, ok: true},
		{name: "text", meta: `{"sallyport/session":"talk 1"}`, want: "talk 1", ok: true},
		{name: "longest", meta: `{"sallyport/session":"` + strings.Repeat("x", 256) + `"}`, want: strings.Repeat("x", 256), ok: true},
		{name: "too long", meta: `{"sallyport/session":"` + strings.Repeat("x", 257) + `"}`},
		{name: "empty", meta: `{"sallyport/session":""}`},
		{name: "number", meta: `{"sallyport/session":1}`},
		{name: "null", meta: `{"sallyport/session":null}`},
		{name: "control character", meta: `{"sallyport/session":"a\u001bb"}`},
		{name: "another case", meta: `{"Sallyport/Session":"talk 1"}`, ok: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			meta, err := wire.ReadObject([]byte(tt.meta))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := namedSession(meta); got != tt.want || (err == nil) != tt.ok {
				t.Errorf("namedSession() = %q, %v, want %q, ok %v", got, err, tt.want, tt.ok)
			}
		})
	}
}

func TestProgressSteps(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	l := &progressRelay{}
	last := 0.0
	for _, p := range []*float64{nil, at(0), at(50), at(50), at(49), nil, at(100), at(100), nil} {
		progress, total := l.nextStep(p)
		if progress <= last {
			t.Errorf("step(%v) = %v after %v, want it to grow", p, progress, last)
		}
		if total != 0 && progress > total {
			t.Errorf("step(%v) = %v of %v, want at most the total", p, progress, total)
		}
		last = progress
	}
}

// No progress follows the result: a relay without a request would panic if it
// sent any.
func TestProgressEndsWithTheCallAndIsBounded(t *testing.T) {
	event := sallyport.Progress{Message: "late", Audience: sallyport.AudienceUser}
	over := &progressRelay{}
	over.closeRelay()
	over.sendProgress(event)
	full := &progressRelay{count: maxProgress}
	full.sendProgress(event)
}

func TestCodedText(t *testing.T) {
	tests := []struct {
		name string
		in   sallyport.Result
		want string
	}{
		{name: "code in front", in: sallyport.Err("Unknown tool: x", sallyport.CodeNotAvailable), want: "not_available: Unknown tool: x"},
		{name: "accessor", in: sallyport.Err("PATH_NOT_REACHABLE: no", sallyport.CodeExecutionFailed), want: "PATH_NOT_REACHABLE: no"},
		{name: "failure", in: sallyport.Err("it broke", ""), want: "it broke"},
		{name: "code is there", in: sallyport.Err("STALE_WRITE: changed", sallyport.CodeStaleWrite), want: "STALE_WRITE: changed"},
		{name: "id", in: sallyport.Result{Error: "it broke", Code: sallyport.CodeExecutionFailed, CallID: "06e2"}, want: "it broke\nCall ID: 06e2"},
		{name: "code is part of a word", in: sallyport.Err("input_invalidly", sallyport.CodeInputInvalid), want: "input_invalid: input_invalidly"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := codedText(&tt.in); got != tt.want {
				t.Errorf("coded() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestResultCarriesWhatTheProtocolHasNoPlaceFor(t *testing.T) {
	for _, tt := range []struct {
		res  sallyport.Result
		want string
	}{
		{
			sallyport.Result{Code: sallyport.CodeRateLimited, Error: "Rate limit exceeded", RetryAfter: 1500 * time.Millisecond, CallID: "c"},
			`"sallyport/call":"c","sallyport/code":"rate_limited","sallyport/retry_after_ms":1500`,
		},
		{
			sallyport.Result{Code: sallyport.CodeApprovalRequired, ApprovalID: "a", ExpiresAt: time.Unix(0, 0).UTC(), CallID: "c"},
			`"sallyport/approval_id":"a","sallyport/call":"c","sallyport/code":"approval_required","sallyport/expires_at":"1970-01-01T00:00:00Z"`,
		},
	} {
		if got, err := appendFacts(nil, &tt.res); err != nil || string(got) != tt.want {
			t.Errorf("appendFacts() = %s, %v, want %s", got, err, tt.want)
		}
	}
}
