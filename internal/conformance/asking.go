package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport/sallyport"
)

// asking returns the tools, and the prompt, that ask whoever called.
func asking() []sallyport.Tool {
	name := form("user_name", "What is your name?", `{"name":{"type":"string"}}`, "name")
	confirm := form("confirm", "Please confirm", `{"ok":{"type":"boolean"}}`, "ok")
	greeting := sallyport.Question{Name: "greeting", Kind: sallyport.InputModel, Message: "Generate a greeting", MaxTokens: 50}
	folders := sallyport.Question{Name: "client_roots", Kind: sallyport.InputFolders}
	capital := sallyport.Question{Name: "capital_question", Kind: sallyport.InputModel, Message: "What is the capital of France?", MaxTokens: 100}
	const rounds = "test_input_required_result_"
	return []sallyport.Tool{
		asks("test_sampling", texted("prompt"), func(a map[string]string) []sallyport.Question {
			return []sallyport.Question{{Name: "sampling", Kind: sallyport.InputModel, Message: a["prompt"], MaxTokens: 100}}
		}),
		asks("test_elicitation", texted("message"), func(a map[string]string) []sallyport.Question {
			return []sallyport.Question{form("user", a["message"], `{"username":{"type":"string","description":"User's response"},`+
				`"email":{"type":"string","description":"User's email address"}}`, "username", "email")}
		}),
		asks("test_elicitation_sep1034_defaults", nil, always(form("defaults", "Please review", `{"name":{"type":"string","default":"John Doe"},`+
			`"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},`+
			`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}`))),
		asks("test_elicitation_sep1330_enums", nil, always(form("enums", "Please choose", choices))),
		asks(rounds+"elicitation", nil, always(name)),
		asks(rounds+"sampling", nil, always(capital)),
		asks(rounds+"list_roots", nil, always(folders)),
		asks(rounds+"request_state", nil, always(confirm)),
		asks(rounds+"tampered_state", nil, always(confirm)),
		asks(rounds+"multiple_inputs", nil, always(name, greeting, folders)),
		asks(
			rounds+"multi_round", nil,
			always(form("step1", "Step 1: What is your name?", `{"name":{"type":"string"}}`, "name")),
			always(form("step2", "Step 2: What is your favorite color?", `{"color":{"type":"string"}}`, "color")),
		),
		{
			Name: rounds + "capabilities", Description: "Asks what its client can be asked.", Capabilities: everyone,
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				for _, q := range []sallyport.Question{name, capital, folders} {
					if c.Input.Can(q.Kind) {
						return ask(ctx, c, q)
					}
				}
				return sallyport.OK("nobody can be asked"), nil
			},
		},
		asks("test_missing_capability", nil, always(capital)),
		{
			Name: rounds + "prompt", Form: sallyport.FormPrompt, Description: "A prompt that asks.", Capabilities: everyone,
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				res, err := ask(ctx, c, form("user_context", "What context should the prompt use?", `{"context":{"type":"string"}}`, "context"))
				return sallyport.Result{OK: res.OK, Parts: []sallyport.Part{said(res.Value)}}, err
			},
		},
	}
}

// choices is every spelling of a choice.
const choices = `{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},` +
	`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},` +
	`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},` +
	`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},` +
	`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}`

var everyone = sallyport.Capabilities{Input: []sallyport.InputKind{sallyport.InputPerson, sallyport.InputModel, sallyport.InputFolders}}

func form(name, message, properties string, required ...string) sallyport.Question {
	// Texts marshal.
	list, _ := json.Marshal(append([]string{}, required...))
	return sallyport.Question{
		Name: name, Kind: sallyport.InputPerson, Message: message,
		Schema: json.RawMessage(`{"type":"object","properties":` + properties + `,"required":` + string(list) + `}`),
	}
}

func texted(argument string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%[1]q]}`, argument))
}

// round is what a tool asks at once, given its arguments.
type round = func(map[string]string) []sallyport.Question

func always(q ...sallyport.Question) round {
	return func(map[string]string) []sallyport.Question { return q }
}

// asks is a tool that asks in rounds and tells what it heard last.
func asks(name string, schema json.RawMessage, rounds ...round) sallyport.Tool {
	return sallyport.Tool{
		Name: name, Description: "Asks whoever called.", Schema: schema, Capabilities: everyone,
		Run: func(ctx context.Context, c *sallyport.Call) (res sallyport.Result, err error) {
			var args map[string]string
			if err := json.Unmarshal(c.Args, &args); err != nil {
				return res, err
			}
			for _, questions := range rounds {
				if res, err = ask(ctx, c, questions(args)...); err != nil {
					return res, err
				}
			}
			return res, nil
		},
	}
}

func ask(ctx context.Context, c *sallyport.Call, questions ...sallyport.Question) (sallyport.Result, error) {
	answers, err := c.Input.Ask(ctx, questions...)
	if err != nil {
		return sallyport.Result{}, err
	}
	text, err := json.Marshal(answers)
	return sallyport.OK("The answers: " + string(text)), err
}
