package httpapi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestAToolThatAsksOverHTTP is told that no one can be asked here, and the
// client what to do.
func TestAToolThatAsksOverHTTP(t *testing.T) {
	k := newKit(t, nil)
	can := make(chan bool, 1)
	err := k.registry.Register(sallyport.Tool{
		Name: "asks", Description: "Asks a person.", Capabilities: sallyport.Capabilities{Input: []sallyport.InputKind{sallyport.InputPerson}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			can <- c.Input.Can(sallyport.InputPerson)
			_, err := c.Input.Ask(ctx, sallyport.Question{Name: "q", Kind: sallyport.InputPerson, Message: "Really?"})
			return sallyport.OK("asked"), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	res := k.execute("asks", `{"params":{}}`)
	if res.body.Success || res.body.Code != sallyport.CodeNotAvailable || !strings.Contains(res.text, "call it from an MCP client that can") || <-can {
		t.Errorf("answered %d %s, want not_available and what to do", res.status, res.text)
	}
}
