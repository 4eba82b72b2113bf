package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	for _, tt := range []struct {
		args []string
		said string
	}{
		{nil, "usage: sallyport-vet"},
		{[]string{"-no"}, "not defined: -no"},
		{[]string{"-accept", "missing.txt", "."}, "missing.txt"},
		{[]string{"./none"}, "none"},
	} {
		var out, messages bytes.Buffer
		if status := run(tt.args, &out, &messages); status != 2 || !strings.Contains(messages.String(), tt.said) || out.Len() > 0 {
			t.Errorf("%q: %d, %q, %q, want 2 and %q", tt.args, status, out.String(), messages.String(), tt.said)
		}
	}
	for args, want := range map[string]bool{"-V=full": true, "-flags": true, "-json /tmp/vet.cfg": true, "./...": false, "": false} {
		if got := isVettool(strings.Fields(args)); got != want {
			t.Errorf("isVettool(%q) = %v", args, got)
		}
	}
}
