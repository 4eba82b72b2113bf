package subagent_test

import (
	"encoding/json"
	"testing"

	"github.com/sallyport/sallyport/internal/subagent"
)

func TestATemplateIsFilled(t *testing.T) {
	t.Parallel()
	const task = `{"prompt":"say {credential} \"x\"","credential":"sallyport_task_1","max_calls":3,"tools":["a"]}`
	for _, c := range []struct{ template, want string }{
		{`{}`, `{}`},
		{`{"p":"{prompt}"}`, `{"p":"say {credential} \"x\""}`},
		{`{"n":"{max_calls}","t":"{tools}","none":"{arguments}","list":["{max_seconds}","{max_calls}",1.50,null,true]}`, `{"list":[3,1.50,null,true],"n":3,"t":["a"]}`},
		{`{"auth":"Bearer {credential}","of":"{max_calls} calls","in":{"none":"up to {max_cost_usd} USD"}}`, `{"auth":"Bearer sallyport_task_1","in":{},"of":"3 calls"}`},
		{`{"plain":"a {{b}} }} c","gate":"https://gate.example.com/mcp"}`, `{"gate":"https://gate.example.com/mcp","plain":"a {b} } c"}`},
	} {
		f, err := subagent.ParseTemplate(json.RawMessage(c.template))
		if err != nil {
			t.Errorf("%s: %v", c.template, err)
			continue
		}
		if got, err := f.Fill(json.RawMessage(task)); err != nil || string(got) != c.want {
			t.Errorf("%s = %s, %v, want %s", c.template, got, err, c.want)
		}
	}
	if f, err := subagent.ParseTemplate(json.RawMessage(`{"a":[{"b":"x {prompt}"}]}`)); err != nil || !f.Has("prompt") || f.Has("credential") {
		t.Errorf("ParseTemplate() = %+v, %v", f, err)
	}
}

func TestABadTemplateIsRefused(t *testing.T) {
	t.Parallel()
	deep := `{"a":"x"}`
	for range 40 {
		deep = `{"a":` + deep + `}`
	}
	for _, template := range []string{
		``, `null`, `[]`, `"{prompt}"`, `{"a":"{"}`, `{"a":"}"}`, `{"a":"{}"}`, `{"a":"{secret:x}"}`, `{"a":"{Prompt}"}`, `{"a":["{prompt"]}`, `{"a":"use {tools}"}`, deep,
	} {
		if f, err := subagent.ParseTemplate(json.RawMessage(template)); err == nil {
			t.Errorf("ParseTemplate(%.60s) = %+v, want an error", template, f)
		}
	}
}
