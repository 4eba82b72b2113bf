package task_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/task"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	got, err := task.Decode(json.RawMessage(`{"words":"Pay Ann","tools":["mcp__bank__*"],"arguments":{"mcp__bank__pay":{"amount":{"maximum":5}}}}`))
	if err != nil || got.Words != "Pay Ann" || len(got.Tools) != 1 || string(got.Arguments["mcp__bank__pay"]) != `{"amount":{"maximum":5}}` {
		t.Errorf("Decode() = %+v, %v", got, err)
	}
	for _, bad := range []string{
		``, `null`, `[]`, `"words"`, `{"words":1}`, `{"word":"a"}`, `{"words":"a","words":"b"}`, `{"tools":["a",2]}`, `{"words":"a"} {}`,
		`{"words":"` + strings.Repeat("a", task.MaxBytes) + `"}`, `{"tools":[` + strings.Repeat(`"a",`, 256) + `"a"]}`,
	} {
		if got, err := task.Decode(json.RawMessage(bad)); err == nil {
			t.Errorf("Decode(%.60s) = %+v, want an error", bad, got)
		}
	}
}
