package browser

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sallyport/sallyport/internal/text"
)

// scriptResult is what a script of the page came to.
type scriptResult struct {
	Result struct {
		Type         string          `json:"type"`
		Subtype      string          `json:"subtype"`
		Value        json.RawMessage `json:"value"`
		Unserialized string          `json:"unserializableValue"`
		Description  string          `json:"description"`
		ObjectID     string          `json:"objectId"`
	} `json:"result"`
	Exception *struct {
		Text      string `json:"text"`
		Exception *struct {
			Description string          `json:"description"`
			Value       json.RawMessage `json:"value"`
		} `json:"exception"`
	} `json:"exceptionDetails"`
}

// fault returns what the script threw.
func (r *scriptResult) fault() error {
	if r.Exception == nil {
		return nil
	}
	s := r.Exception.Text
	if e := r.Exception.Exception; e != nil {
		switch {
		case e.Description != "":
			s = e.Description
		case len(e.Value) > 0:
			s += " " + string(e.Value)
		}
	}
	return &protocolError{Message: text.Clip(s, 1000)}
}

// runApart evaluates an expression in a world of its own: it sees the page, and the
// page's scripts have not changed what its functions do.
func (t *tab) runApart(ctx context.Context, expression string, out any) error {
	var world struct {
		ID int64 `json:"executionContextId"`
	}
	if err := t.askBrowser(ctx, "Page.createIsolatedWorld", object{"frameId": t.target, "worldName": "apart"}, &world); err != nil {
		return err
	}
	var res scriptResult
	if err := t.askBrowser(ctx, "Runtime.evaluate", object{"expression": expression, "contextId": world.ID, "returnByValue": true, "awaitPromise": true}, &res); err != nil {
		return err
	}
	if err := res.fault(); err != nil {
		return err
	}
	if len(res.Result.Value) == 0 {
		return errors.New("the page returned no value")
	}
	return json.Unmarshal(res.Result.Value, out)
}

// resolveHandle returns a handle to a node, for callOn.
func (t *tab) resolveHandle(ctx context.Context, id int64) (handle string, err error) {
	var res struct {
		Object struct {
			ObjectID string `json:"objectId"`
		} `json:"object"`
	}
	if err := t.askBrowser(ctx, "DOM.resolveNode", object{"backendNodeId": id, "objectGroup": "call"}, &res); err != nil {
		return "", err
	}
	return res.Object.ObjectID, nil
}

// callOn calls a function with a node as this, and decodes what it returns.
func (t *tab) callOn(ctx context.Context, handle, function string, args []any, out any) error {
	list := []object{}
	for _, a := range args {
		if h, ok := a.(nodeHandle); ok {
			list = append(list, object{"objectId": string(h)})
		} else {
			list = append(list, object{"value": a})
		}
	}
	var res scriptResult
	err := t.askBrowser(ctx, "Runtime.callFunctionOn", object{
		"objectId": handle, "functionDeclaration": function, "arguments": list, "returnByValue": true, "awaitPromise": true, "userGesture": true,
	}, &res)
	if err != nil {
		return err
	}
	if err := res.fault(); err != nil || out == nil {
		return err
	}
	return json.Unmarshal(res.Result.Value, out)
}

// nodeHandle is an argument of callOn that is a node.
type nodeHandle string

// evaluateScript evaluates an expression of the caller's in the page, and returns its value as
// JSON.
func (t *tab) evaluateScript(ctx context.Context, expression string) (string, error) {
	var res scriptResult
	err := t.askBrowser(ctx, "Runtime.evaluate", object{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &res)
	if err != nil {
		return "", newFailure("the script did not end", err)
	}
	if err := res.fault(); err != nil {
		return "", newFailure("the script failed", err)
	}
	switch r := &res.Result; {
	case len(r.Value) > 0:
		return string(r.Value), nil
	case r.Unserialized != "":
		return r.Unserialized, nil
	default:
		return text.Clip(r.Type, 40), nil
	}
}

// pollTime is how often a page is looked at that is waited for.
const pollTime = 100 * time.Millisecond

// waitFor waits until the page has loaded, and shows a text, or no more. Without texts it
// waits until the end of ctx.
func (t *tab) waitFor(ctx context.Context, shown, gone string) (done string, err error) {
	if shown == "" && gone == "" {
		<-ctx.Done()
		return "", ctx.Err()
	}
	wanted, err := json.Marshal([]string{shown, gone})
	if err != nil {
		return "", err
	}
	look := `(([shown, gone]) => { const s = document.body?.innerText ?? ''; return (!shown || s.includes(shown)) && (!gone || !s.includes(gone)); })(` + string(wanted) + `)`
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for {
		var holds bool
		err := t.runApart(ctx, look, &holds)
		if _, refused := errors.AsType[*protocolError](err); err != nil && !refused {
			return "", err // A page that goes away in between is looked at again.
		}
		if err == nil && holds {
			return "the page is as it was waited for", nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", ctx.Err()
		case <-t.b.ended:
			return "", t.b.whyEnded()
		}
	}
}
