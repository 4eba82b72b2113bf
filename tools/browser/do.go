package browser

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// act has a call do something to the page, and waits for what that leads to.
func (f *family) act(ctx context.Context, c *sallyport.Call, do func(ctx context.Context, p *pageCall) (done string, err error)) (sallyport.Result, error) {
	return f.onPage(ctx, c, func(ctx context.Context, p *pageCall) (sallyport.Result, error) {
		within, cancel := context.WithTimeout(ctx, f.patience.act)
		defer cancel()
		done, err := do(within, p)
		if err != nil {
			return sallyport.Result{}, err
		}
		if err := p.tab.awaitPage(ctx); err != nil {
			return sallyport.Result{}, err
		}
		return sallyport.OK(done), nil
	})
}

type clickInput struct {
	Ref    string `json:"ref" jsonschema:"Element to click."`
	Button string `json:"button,omitempty" jsonschema:"Button of the mouse."`
	Double bool   `json:"double,omitempty" jsonschema:"Click twice."`
}

func (f *family) clickElement(ctx context.Context, c *sallyport.Call, in clickInput) (sallyport.Result, error) {
	return f.act(ctx, c, func(ctx context.Context, p *pageCall) (string, error) {
		n, err := p.tab.findNode(in.Ref)
		if err != nil {
			return "", err
		}
		count := 1
		if in.Double {
			count = 2
		}
		return "clicked " + n.label, p.tab.clickElement(ctx, n, in.Button, count)
	})
}

type typeInput struct {
	Ref    string `json:"ref" jsonschema:"Field to type into."`
	Text   string `json:"text" jsonschema:"Text; an empty one empties the field."`
	Add    bool   `json:"add,omitempty" jsonschema:"Add to what the field has."`
	Submit bool   `json:"submit,omitempty" jsonschema:"Press Enter afterwards."`
}

func (f *family) typeText(ctx context.Context, c *sallyport.Call, in typeInput) (sallyport.Result, error) {
	return f.act(ctx, c, func(ctx context.Context, p *pageCall) (string, error) {
		n, err := p.tab.findNode(in.Ref)
		if err != nil {
			return "", err
		}
		if err := p.tab.typeText(ctx, n, in.Text, in.Add); err != nil {
			return "", err
		}
		if in.Submit {
			enter, _ := parseKey("Enter")
			return "typed into " + n.label + " and pressed Enter", p.tab.pressKey(ctx, enter)
		}
		return "typed into " + n.label, nil
	})
}

type selectInput struct {
	Ref    string   `json:"ref" jsonschema:"List to choose from."`
	Values []string `json:"values" jsonschema:"Options, by their text or value. Those of a list of several choices that are not named are taken back."`
}

func (f *family) chooseOptions(ctx context.Context, c *sallyport.Call, in selectInput) (sallyport.Result, error) {
	return f.act(ctx, c, func(ctx context.Context, p *pageCall) (string, error) {
		n, err := p.tab.findNode(in.Ref)
		if err != nil {
			return "", err
		}
		chosen, err := p.tab.chooseOptions(ctx, n, in.Values)
		for i := range chosen {
			chosen[i] = quoteName(text.OneLine(chosen[i]))
		}
		return "chosen in " + n.label + ": " + strings.Join(chosen, ", "), err
	})
}

type pressInput struct {
	Key string `json:"key" jsonschema:"Key to press."`
}

func (f *family) pressKey(ctx context.Context, c *sallyport.Call, in pressInput) (sallyport.Result, error) {
	k, err := parseKey(in.Key)
	if err != nil {
		return sallyport.Result{}, err
	}
	return f.act(ctx, c, func(ctx context.Context, p *pageCall) (string, error) {
		return "pressed " + in.Key, p.tab.pressKey(ctx, k)
	})
}

type evaluateInput struct {
	Expression string `json:"expression" jsonschema:"JavaScript expression, such as document.title or (() => { … })()."`
}

func (f *family) evaluateScript(ctx context.Context, c *sallyport.Call, in evaluateInput) (sallyport.Result, error) {
	var value string
	r, err := f.act(ctx, c, func(ctx context.Context, p *pageCall) (done string, err error) {
		value, err = p.tab.evaluateScript(ctx, in.Expression)
		return value, err
	})
	var decoded any
	if err == nil && json.Unmarshal([]byte(value), &decoded) == nil && len(value) <= resultChars {
		r.Structured["result"] = decoded
	}
	return r, err
}
