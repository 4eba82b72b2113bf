package gateway

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
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
		meta map[string]any
		want string
		ok   bool
	}{
		{name: "none", ok: true},
		{name: "text", meta: map[string]any{sessionMeta: "talk 1"}, want: "talk 1", ok: true},
		{name: "longest", meta: map[string]any{sessionMeta: strings.Repeat("x", 256)}, want: strings.Repeat("x", 256), ok: true},
		{name: "too long", meta: map[string]any{sessionMeta: strings.Repeat("x", 257)}},
		{name: "empty", meta: map[string]any{sessionMeta: ""}},
		{name: "number", meta: map[string]any{sessionMeta: 1.0}},
		{name: "null", meta: map[string]any{sessionMeta: nil}},
		{name: "control character", meta: map[string]any{sessionMeta: "a\x1bb"}},
		{name: "not UTF-8", meta: map[string]any{sessionMeta: "a\xff"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := namedSession(tt.meta); got != tt.want || (err == nil) != tt.ok {
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

// No progress follows the result: a relay without a session would panic if it
// sent any.
func TestProgressEndsWithTheCallAndIsBounded(t *testing.T) {
	event := sallyport.Progress{Message: "late", Audience: sallyport.AudienceUser}
	over := &progressRelay{}
	over.closeRelay()
	over.sendProgress(t.Context(), event)
	full := &progressRelay{count: maxProgress}
	full.sendProgress(t.Context(), event)
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
		{name: "code is part of a word", in: sallyport.Err("input_invalidly", sallyport.CodeInputInvalid), want: "input_invalid: input_invalidly"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := codedText(tt.in); got != tt.want {
				t.Errorf("coded() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestResultCarriesWhatTheProtocolHasNoPlaceFor(t *testing.T) {
	limited := toolResult(sallyport.Result{Code: sallyport.CodeRateLimited, Error: "Rate limit exceeded", RetryAfter: 1500 * time.Millisecond, CallID: "c"})
	held := toolResult(sallyport.Result{Code: sallyport.CodeApprovalRequired, ApprovalID: "a", ExpiresAt: time.Unix(0, 0).UTC(), CallID: "c"})
	if got := limited.Meta["sallyport/retry_after_ms"]; got != int64(1500) {
		t.Errorf("retry_after_ms = %v, want 1500", got)
	}
	if held.Meta["sallyport/approval_id"] != "a" || held.Meta["sallyport/expires_at"] == nil {
		t.Errorf("Meta = %v, want the approval and its end", held.Meta)
	}
}
