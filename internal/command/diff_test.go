package command

import (
	"testing"

	"github.com/sallyport/sallyport/internal/lock"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lock.Scope{
		"notes": {Server: "notes"}, "notes/add": {Server: "notes", Tool: "add"}, "notes/a/b": {Server: "notes", Tool: "a/b"},
	} {
		if got, err := scopeOf([]string{text}); got != want || err != nil {
			t.Errorf("scopeOf(%s) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "/add", "notes/"} {
		if got, err := scopeOf([]string{text}); err == nil {
			t.Errorf("scopeOf(%q) = %v, want an error", text, got)
		}
	}
}
