package upstream_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
)

// TestDocsLoad decodes each server that the page declares.
func TestDocsLoad(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/guides/mcp-servers.md")
	if err != nil {
		t.Fatal(err)
	}
	servers := 0
	for i, block := range strings.Split(string(text), "\n```") {
		kind, body, _ := strings.Cut(block, "\n")
		if i%2 == 0 || kind != "yaml" {
			continue
		}
		c, err := config.Parse("/etc/sallyport/sallyport.yaml", []byte(body), &config.Options{Home: "/home/ann"})
		if err != nil {
			t.Fatalf("the page shows\n%s\n%v", body, err)
		}
		for _, p := range c.Servers {
			servers++
			if _, err := upstream.Decode(p.ID, p.JSON, &upstream.DecodeOptions{Dir: p.Dir, Workspace: c.Workspace, Home: "/home/ann"}); err != nil {
				t.Errorf("the page declares %s: %v", p.ID, err)
			}
		}
	}
	if servers < 4 {
		t.Errorf("the page declares %d servers, want 4", servers)
	}
}
