package guest

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin/wire"
)

// serve makes tools those of the plugin for one test.
func serve(t *testing.T, tools ...sallyport.Tool) {
	t.Helper()
	before := served
	served = nil
	Serve(tools...)
	t.Cleanup(func() { served = before })
}

// TestDefinitions declares a tool and reads it as the host does, and refuses a prompt.
func TestDefinitions(t *testing.T) {
	serve(t, sallyport.Tool{Name: "a", Title: "A", Description: "d", ReadOnly: true, Capabilities: sallyport.Capabilities{Secrets: []string{"word"}}})
	text, err := listDefinitions()
	if want := `[{"id":"a","name":"A","description":"d","capabilities":{"secrets":["word"]},"readOnly":true}]`; err != nil || string(text) != want {
		t.Errorf("the definitions are %s, %v, want %s", text, err, want)
	}
	serve(t, sallyport.Tool{Name: "p", Form: sallyport.FormPrompt})
	if _, err := listDefinitions(); err == nil || !strings.Contains(err.Error(), "tools only") {
		t.Errorf("a prompt is declared: %v", err)
	}
}

// TestCall runs a tool whose accessors ask a host that refuses one file, lacks another
// and has a third, and that has nothing that no plugin gets.
func TestCall(t *testing.T) {
	ask := host(func(function string, message []byte) []byte {
		var in wire.File
		head, _ := wire.Split(message)
		if err := json.Unmarshal(head, &in); err != nil || function != wire.FuncReadFile {
			t.Fatalf("the host is asked for %s with %s", function, message)
		}
		switch in.Name {
		case "refused":
			return []byte(`{"error":{"code":"PATH_NOT_REACHABLE","resource":"refused","operation":"read","detail":"no"}}` + "\n")
		case "missing":
			return []byte(`{"error":{"code":"execution_failed","detail":"File not found: missing","missing":true}}` + "\n")
		default:
			return []byte("{}\ncontent\nof two lines")
		}
	})
	serve(t, sallyport.Tool{Name: "a", Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		if _, err := c.FS.ReadFile("refused"); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("a refused file: %v", err)
		}
		if _, err := c.FS.ReadFile("missing"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing file: %v", err)
		}
		if _, err := c.Process.Spawn(ctx, "sh", nil, nil); !errors.Is(err, sallyport.ErrNotAvailable) {
			t.Errorf("a process: %v", err)
		}
		if _, ok := ctx.Deadline(); !ok || string(c.Args) != `{"n":1}` || c.Session != "s" {
			t.Errorf("the call has %s, session %q, a deadline: %t", c.Args, c.Session, ok)
		}
		content, err := c.FS.ReadFile("there")
		return sallyport.OK(string(content)), err
	}})
	answer, err := callHost(ask, []byte(`{"tool":"a","id":"1","session":"s","seconds":5}`+"\n"+`{"n":1}`), nil)
	if want := `{"ok":true,"value":"content\nof two lines"}`; err != nil || string(answer) != want {
		t.Errorf("the answer is %s, %v, want %s", answer, err, want)
	}
	if _, err := callHost(ask, []byte(`{"tool":"b","id":"1"}`+"\n{}"), nil); err == nil {
		t.Error("a tool that is not served was called")
	}
}
