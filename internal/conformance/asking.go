package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport/sallyport"
)

// newAskingTools returns the tools, and the prompt, that ask the caller.
func newAskingTools() []sallyport.Tool {
	name := newFormQuestion("user_name", "What is your name?", `{"name":{"type":"string"}}`, "name")
	confirm := newFormQuestion("confirm", "Please confirm", `{"ok":{"type":"boolean"}}`, "ok")
	greeting := sallyport.Question{Name: "greeting", Kind: sallyport.InputModel, Message: "Generate a greeting", MaxTokens: 50}
	folders := sallyport.Question{Name: "client_roots", Kind: sallyport.InputFolders}
	capital := sallyport.Question{Name: "capital_question", Kind: sallyport.InputModel, Message: "What is the capital of France?", MaxTokens: 100}
	const rounds = "test_input_required_result_"
	return []sallyport.Tool{
		newAskingTool("test_sampling", newTextSchema("prompt"), func(a map[string]string) []sallyport.Question {
			return []sallyport.Question{{Name: "sampling", Kind: sallyport.InputModel, Message: a["prompt"], MaxTokens: 100}}
		}),
		newAskingTool("test_elicitation", newTextSchema("message"), func(a map[string]string) []sallyport.Question {
			return []sallyport.Question{newFormQuestion("user", a["message"], `{"username":{"type":"string","description":"User's response"},`+
				`"email":{"type":"string","description":"User's email address"}}`, "username", "email")}
		}),
		newAskingTool("test_elicitation_sep1034_defaults", nil, repeatQuestions(newFormQuestion("defaults", "Please review", `{"name":{"type":"string","default":"John Doe"},`+
			`"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},`+
			`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}`))),
		newAskingTool("test_elicitation_sep1330_enums", nil, repeatQuestions(newFormQuestion("enums", "Please choose", choices))),
		newAskingTool(rounds+"elicitation", nil, repeatQuestions(name)),
		newAskingTool(rounds+"sampling", nil, repeatQuestions(capital)),
		newAskingTool(rounds+"list_roots", nil, repeatQuestions(folders)),
		newAskingTool(rounds+"request_state", nil, repeatQuestions(confirm)),
		newAskingTool(rounds+"tampered_state", nil, repeatQuestions(confirm)),
		newAskingTool(rounds+"multiple_inputs", nil, repeatQuestions(name, greeting, folders)),
		newAskingTool(
			rounds+"multi_round", nil,
			repeatQuestions(newFormQuestion("step1", "Step 1: What is your name?", `{"name":{"type":"string"}}`, "name")),
			repeatQuestions(newFormQuestion("step2", "Step 2: What is your favorite color?", `{"color":{"type":"string"}}`, "color")),
		),
		{
			Name: rounds + "capabilities", Description: "Asks what its client can be asked.", Capabilities: everyone,
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				for _, q := range []sallyport.Question{name, capital, folders} {
					if c.Input.Can(q.Kind) {
						return askCaller(ctx, c, q)
					}
				}
				return sallyport.OK("the caller cannot be asked"), nil
			},
		},
		newAskingTool("test_missing_capability", nil, repeatQuestions(capital)),
		{
			Name: rounds + "prompt", Form: sallyport.FormPrompt, Description: "A prompt that asks.", Capabilities: everyone,
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				res, err := askCaller(ctx, c, newFormQuestion("user_context", "What context should the prompt use?", `{"context":{"type":"string"}}`, "context"))
				return sallyport.Result{OK: res.OK, Parts: []sallyport.Part{newTextPart(res.Value)}}, err
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

func newFormQuestion(name, message, properties string, required ...string) sallyport.Question {
	// Texts marshal.
	list, _ := json.Marshal(append([]string{}, required...))
	return sallyport.Question{
		Name: name, Kind: sallyport.InputPerson, Message: message,
		Schema: json.RawMessage(`{"type":"object","properties":` + properties + `,"required":` + string(list) + `}`),
	}
}

func newTextSchema(argument string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%[1]q]}`, argument))
}

// questionRound returns what a tool asks at once, given its arguments.
type questionRound = func(map[string]string) []sallyport.Question

func repeatQuestions(q ...sallyport.Question) questionRound {
	return func(map[string]string) []sallyport.Question { return q }
}

// newAskingTool makes a tool that asks in rounds and returns the last answers.
func newAskingTool(name string, schema json.RawMessage, rounds ...questionRound) sallyport.Tool {
	return sallyport.Tool{
		Name: name, Description: "Asks the caller.", Schema: schema, Capabilities: everyone,
		Run: func(ctx context.Context, c *sallyport.Call) (res sallyport.Result, err error) {
			var args map[string]string
			if err := json.Unmarshal(c.Args, &args); err != nil {
				return res, err
			}
			for _, questions := range rounds {
				if res, err = askCaller(ctx, c, questions(args)...); err != nil {
					return res, err
				}
			}
			return res, nil
		},
	}
}

func askCaller(ctx context.Context, c *sallyport.Call, questions ...sallyport.Question) (sallyport.Result, error) {
	answers, err := c.Input.Ask(ctx, questions...)
	if err != nil {
		return sallyport.Result{}, err
	}
	text, err := json.Marshal(answers)
	return sallyport.OK("The answers: " + string(text)), err
}
