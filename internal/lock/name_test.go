package lock_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/lock"
)

var nameForm = regexp.MustCompile(`^mcp__[a-zA-Z0-9_-]{1,40}__[a-zA-Z0-9_-]+$`)

func TestMapName(t *testing.T) {
	for _, tt := range []struct{ server, tool, want string }{
		{"github", "create_issue", "mcp__github__create_issue"},
		{"github", "issues/create.v2", "mcp__github__issues_create_v2"},
		{"a-b", "x y", "mcp__a-b__x_y"},
		{"a", "b__c", "mcp__a__b__c"},
		{"a", "_b", "mcp__a___b"},
		{"a", "é", "mcp__a___"},
		{"a", "\xff\xfe", "mcp__a____"},
		{"a", strings.Repeat("x", 56), "mcp__a__" + strings.Repeat("x", 56)},
		{"a", strings.Repeat("x", 57), "mcp__a__" + strings.Repeat("x", 49) + "_23e33c"},
	} {
		got, err := lock.MapName(tt.server, tt.tool)
		if err != nil || got != tt.want {
			t.Errorf("MapName(%q, %q) = %q, %v, want %q", tt.server, tt.tool, got, err, tt.want)
		}
	}
}

func TestMapNameRefuses(t *testing.T) {
	for _, tt := range []struct{ server, tool string }{
		{"", "a"}, {"a__b", "c"}, {"a_", "b"}, {"a b", "c"}, {"é", "c"}, {strings.Repeat("a", 41), "b"}, {"a", ""},
	} {
		if got, err := lock.MapName(tt.server, tt.tool); err == nil {
			t.Errorf("MapName(%q, %q) = %q, want an error", tt.server, tt.tool, got)
		}
	}
}

// TestLongNamesKeepApart maps names that differ behind the cut.
func TestLongNamesKeepApart(t *testing.T) {
	long := strings.Repeat("x", 80)
	a, _ := lock.MapName("a", long+"1")
	b, _ := lock.MapName("a", long+"2")
	if a == b || len(a) != 64 {
		t.Errorf("MapName gives %q and %q, want two names of 64 characters", a, b)
	}
}

func FuzzMapName(f *testing.F) {
	f.Add("github", "create_issue")
	f.Add("a_", "b")
	f.Add("a", strings.Repeat("é", 100))
	f.Add("a", "\xff__\u202e")
	f.Fuzz(func(t *testing.T, server, tool string) {
		name, err := lock.MapName(server, tool)
		if err != nil {
			return
		}
		if len(name) > 64 || !nameForm.MatchString(name) {
			t.Fatalf("MapName(%q, %q) = %q, which is no name", server, tool, name)
		}
		if got := (&sallyport.Tool{Name: name}).Server(); got != server {
			t.Fatalf("MapName(%q, %q) = %q, a tool of server %q", server, tool, name, got)
		}
		if again, _ := lock.MapName(server, tool); again != name {
			t.Fatalf("MapName(%q, %q) = %q, then %q", server, tool, name, again)
		}
		if s := lock.Skeleton(name); lock.Skeleton(s) != s {
			t.Fatalf("Skeleton(%q) = %q, and of that another", name, s)
		}
	})
}
