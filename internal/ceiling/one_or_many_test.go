package ceiling_test

import (
	"encoding/json"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/schema"
)

// A tool that takes one thing or a list of them is held to the same in either form.
func TestOneThingIsJudgedLikeAListOfIt(t *testing.T) {
	t.Parallel()
	tool := json.RawMessage(`{"type":"object","properties":{"to":{},"part":{"$ref":"#/$defs/part"}},"$defs":{"part":{}}}`)
	c, err := ceiling.Compile("arguments.send", json.RawMessage(`{"to":{"items":{"known":"contacts"}},"part":{"properties":{"n":{"maximum":5}}}}`), tool, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := &ceiling.Rules{IsKnown: func(_ []string, _ sallyport.ValueKind, value string) (bool, error) { return value == "ann", nil }}
	for args, within := range map[string]bool{
		`{"to":["ann"]}`:                  true,
		`{"to":"ann"}`:                    true,
		`{"to":null}`:                     true,
		`{"to":["eve"]}`:                  false,
		`{"to":"eve"}`:                    false,
		`{"to":{"name":"eve"}}`:           false,
		`{"to":[["eve"]]}`:                false,
		`{"part":{"n":5}}`:                true,
		`{"part":{"n":6}}`:                false,
		`{"part":[{"n":5},{"n":6}]}`:      false,
		`{"part":[[{"n":6}]]}`:            false,
		`{"part":[{"n":5}],"to":["ann"]}`: true,
	} {
		doc, err := schema.Parse(json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		if j, err := c.Check(doc.Value, rules); err != nil || (len(j.Outside) == 0) != within {
			t.Errorf("Check(%s) = %+v, %v, want within %v", args, j.Outside, err, within)
		}
	}
}
