package lock

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestTheSchemaKnowsEveryCapability holds the schema of the file to the type in
// Go: a file with a group that it does not know could not be read again.
func TestTheSchemaKnowsEveryCapability(t *testing.T) {
	text, err := os.ReadFile("lock.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs struct {
			Capabilities struct {
				Properties map[string]any `json:"properties"`
			} `json:"capabilities"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[sallyport.Capabilities]()) {
		group, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if doc.Defs.Capabilities.Properties[group] == nil {
			t.Errorf("lock.schema.json has no %s", group)
		}
	}
}
