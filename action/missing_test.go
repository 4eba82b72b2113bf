package action_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
)

// An action whose handler is not there is declared and decided about; the call
// fails without saying where the runtime keeps its files.
func TestMissingHandler(t *testing.T) {
	t.Parallel()
	d, err := action.Decode([]byte(`{"id": "act", "handler": "./handlers/a.js"}`), &action.DecodeOptions{Dir: "/nonexistent"})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Missing(); got != "/nonexistent/handlers/a.js" {
		t.Errorf("Missing = %q", got)
	}
	tool, err := d.Tool()
	if err != nil {
		t.Fatal(err)
	}
	_, err = tool.Run(t.Context(), &sallyport.Call{Args: []byte("{}")})
	if err == nil || !strings.Contains(err.Error(), "not there") || strings.Contains(err.Error(), "nonexistent") {
		t.Errorf("Run = %v, want a failure that names no path", err)
	}
}
