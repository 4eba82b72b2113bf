package granting_test

import (
	"testing"

	"github.com/sallyport/sallyport/internal/app/granting"
	"github.com/sallyport/sallyport/internal/config"
)

func TestHintNamesTheCommand(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("/w/sallyport.yaml", []byte(`version: 1
mcp_servers: {notes: {command: [notes]}, both: {command: [both]}}
actions: [{id: act, description: x, parameters: {type: object}, handler: {exec: [true]}}]
personalities: {ops: {mcp_servers: [notes, both]}, dev: {mcp_servers: [both], safety: {network: {allow_private: ["127.0.0.1:8099"]}}}}
`), &config.Options{Home: "/home/u", Dir: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, capability, item, want string }{
		{"fetch_url", "network", "api.x.com", "sallyport grant ops --host api.x.com"},
		{"fetch_url", "network", "127.0.0.1:8080", "sallyport grant ops --private 127.0.0.1:8080"},
		{"fetch_url", "network", "localhost", "sallyport grant ops --private 127.0.0.1:80"},
		{"fetch_url", "network", "169.254.169.254", ""},
		{"read_file", "fs_reach.read", "/a b", "sallyport grant ops --read '/a b'"},
		{"mcp__notes__add", "fs_reach.write", "/w/out", "sallyport grant notes --write /w/out"},
		{"mcp__both__add", "secrets", "a/b", "sallyport grant both --secret a/b --role ops"},
		{"act", "process", "git", "sallyport grant act --bin git --role ops"},
		{"read_file", "fs_reach.read", "from-personality", ""},
		{"read_file", "fs_reach.read", "/a\u202eb", ""},
		{"read_file", "fs_reach.read", "/a, or b", ""},
		{"fetch_url", "network", "*", ""},
		{"fetch_url", "mail", "a@b.c", ""},
	} {
		if got := granting.Hint(c, tt.tool, "ops", tt.capability, tt.item); got != tt.want {
			t.Errorf("Hint(%s, %s, %s) = %q, want %q", tt.tool, tt.capability, tt.item, got, tt.want)
		}
	}
	// The address is granted, and the name for it is not: a command would change nothing.
	for item, want := range map[string]string{"localhost:8099": "", "localhost:8098": "sallyport grant dev --private 127.0.0.1:8098"} {
		if got := granting.Hint(c, "fetch_url", "dev", "network", item); got != want {
			t.Errorf("Hint(%s) = %q, want %q", item, got, want)
		}
	}
}
