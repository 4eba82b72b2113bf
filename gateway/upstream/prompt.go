package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport"
)

// maxArguments bounds the arguments of a prompt. It is more than a form on a
// screen has.
const maxArguments = 100

// promptSchema makes a schema of the arguments of a prompt. They are strings,
// in the order in which the server lists them.
func (s *mountedServer) promptSchema(d *offering) (json.RawMessage, error) {
	list, ok := d.tree["arguments"].([]any)
	if d.tree["arguments"] != nil && !ok {
		return nil, errors.New("its arguments are not a list")
	}
	if len(list) > maxArguments {
		return nil, fmt.Errorf("it has more than %d arguments", maxArguments)
	}
	var properties bytes.Buffer
	required, seen := []string{}, map[string]bool{}
	for i, item := range list {
		a, _ := item.(map[string]any)
		name := textOf(a, "name")
		switch {
		case name == "" || !s.m.o.Cleaner.Accepts(name):
			return nil, fmt.Errorf("argument %d has no name that can be shown", i+1)
		case seen[name]:
			return nil, errors.New("two of its arguments have one name")
		}
		seen[name] = true
		property := struct {
			Type        string `json:"type"`
			Title       string `json:"title,omitempty"`
			Description string `json:"description,omitempty"`
		}{"string", string(s.m.o.Cleaner.Text(textOf(a, "title"))), string(s.m.o.Cleaner.Text(textOf(a, "description")))}
		if must, _ := a["required"].(bool); must {
			required = append(required, name)
		}
		key, err := json.Marshal(name)
		value, err2 := json.Marshal(property)
		if err = errors.Join(err, err2); err != nil {
			return nil, err
		}
		if i > 0 {
			properties.WriteByte(',')
		}
		fmt.Fprintf(&properties, "%s:%s", key, value)
	}
	must, err := json.Marshal(required)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":%s,"additionalProperties":false}`, properties.Bytes(), must), nil
}

func (s *mountedServer) fillPrompt(ctx context.Context, c *sallyport.Call, d *offering) (sallyport.Result, error) {
	args := map[string]string{}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return sallyport.Result{}, err
	}
	r, err := promptGet(d.key, args)
	if err != nil {
		return sallyport.Result{}, err
	}
	tree, err := s.sendRequest(ctx, c, r, d.definitionKey)
	if err != nil {
		return sallyport.Result{}, err
	}
	return promptMessages(tree), nil
}
