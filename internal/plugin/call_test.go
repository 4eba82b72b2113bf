package plugin

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// TestASuccessIsReadAsTheLibraryReadsIt compares what is made of the decoded answer with
// what encoding/json makes of its text. What is left to the library is no success.
func TestASuccessIsReadAsTheLibraryReadsIt(t *testing.T) {
	t.Parallel()
	for text, left := range map[string]bool{
		`{"ok":true}`: false, `{"ok":true,"value":"a\u00e4\n"}`: false,
		`{"ok":true,"structured":{"n":1,"f":-2.5e3,"l":[1,[2,{"x":3}],"t",null,true],"m":{}}}`: false,
		`{"ok":true,"structured":[1]}`: true,
		`{"ok":true,"value":5}`:        true,
		`{"ok":true,"cost_usd":0.5}`:   true,
		`{"ok":true,"error":"x"}`:      true,
		`{"ok":true,"parts":[]}`:       true,
		`{"ok":false,"error":"x"}`:     true,
		`{"ok":"true"}`:                true,
		`{"value":"x"}`:                true,
		`["ok"]`:                       true,
	} {
		tree, err := schema.Decode([]byte(text), &answerLimits)
		if err != nil {
			t.Fatal(err)
		}
		var got, want sallyport.Result
		if readSuccess(tree, &got) == left {
			t.Errorf("%s: left to the library: %t, want %t", text, !left, left)
		}
		if left {
			continue
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is read otherwise (-library +here):\n%s", text, diff)
		}
	}
}
