package action_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
)

// TestC27_CapabilitiesThatAHandlerCannotUse declares each group of capabilities
// for each kind of handler, those that are added one day included.
func TestC27_CapabilitiesThatAHandlerCannotUse(t *testing.T) {
	t.Parallel()
	declared := map[string]string{
		"network": `{"allowedHosts": ["a.example"]}`, "secrets": `["a/key"]`,
		"storage":  `{"scope": "session", "kind": "kv"}`,
		"fs_reach": `{"read": "from-personality"}`, "process": `{"allowedBinaries": ["git"]}`,
		"attachments": `{"kinds": "*"}`, "database": `{"connections": ["main"], "mode": "read"}`,
		"mail": `{"relay": "default", "to": ["*@a.example"]}`, "input": `["person"]`,
	}
	handlers := map[string]struct {
		handler string
		usable  []string
	}{
		"http": {`{"http": {"url": "https://a.example"}}`, []string{"network", "secrets"}},
		"exec": {`{"exec": {"command": ["git"]}}`, []string{"network", "secrets", "fs_reach", "process", "database"}},
	}
	groups := reflect.TypeFor[sallyport.Capabilities]()
	for i := range groups.NumField() {
		name, _, _ := strings.Cut(groups.Field(i).Tag.Get("json"), ",")
		if declared[name] == "" {
			t.Fatalf("no declaration of %s is tested", name)
		}
		for kind, h := range handlers {
			text := `{"id": "a", "capabilities": {"` + name + `": ` + declared[name] + `}, "handler": ` + h.handler + `}`
			_, err := action.Decode(json.RawMessage(text), nil)
			if usable := slices.Contains(h.usable, name); usable != (err == nil) {
				t.Errorf("%s of %s: Decode = %v, want a fault: %v", name, kind, err, !usable)
			} else if err != nil && !strings.Contains(err.Error(), "/capabilities/"+name+": ") {
				t.Errorf("%s of %s: Decode = %v, want the place named", name, kind, err)
			}
		}
	}
}
