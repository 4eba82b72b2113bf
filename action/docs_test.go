package action_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/config"
)

// TestThePageShowsActionsThatWork makes tools of the examples of the page.
func TestThePageShowsActionsThatWork(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "guides", "actions.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "handlers"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"count.py", "changes", "orders.py"} {
		if err := os.WriteFile(filepath.Join(dir, "handlers", name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1) {
		c, err := config.Parse(filepath.Join(dir, "sallyport.yaml"), m[1], nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, m[1])
		}
		for _, a := range c.Actions {
			seen++
			d, err := action.Decode(a.JSON, &action.DecodeOptions{Dir: dir, Workspace: dir})
			if err != nil {
				t.Fatalf("%s: %v", a.ID, err)
			}
			newGate(t, must(d.Tool()))
		}
	}
	if seen < 4 {
		t.Errorf("%d actions on the page, want all of them", seen)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
