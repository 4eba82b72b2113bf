// Package expect holds results of tools in tests to what is expected of them.
package expect

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// OK fails unless the result is a success whose value has every part.
func OK(t testing.TB, r sallyport.Result, parts ...string) {
	t.Helper()
	if !r.OK {
		t.Fatalf("result = %s: %s, want a success", r.Code, r.Error)
	}
	for _, p := range parts {
		if !strings.Contains(r.Value, p) {
			t.Errorf("value = %q, want it to contain %q", r.Value, p)
		}
	}
}

// Err fails unless the result is a failure with the code whose text has every
// part.
func Err(t testing.TB, r sallyport.Result, code sallyport.Code, parts ...string) {
	t.Helper()
	if r.OK || r.Code != code {
		t.Fatalf("result = ok %v, %q: %s%s, want code %q", r.OK, r.Code, r.Error, r.Value, code)
	}
	for _, p := range parts {
		if !strings.Contains(r.Error, p) {
			t.Errorf("error = %q, want it to contain %q", r.Error, p)
		}
	}
}
