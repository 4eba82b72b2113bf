package registry_test

import (
	"encoding/json"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// A server may read a name in another case as the argument, so that one that is ruled
// has one spelling.
func TestAnArgumentHasOneSpelling(t *testing.T) {
	t.Parallel()
	l := newCapped(t, `{"type":"object","additionalProperties":true}`, "", func(p *sallyport.Personality, _ *sallyport.Tool, _ *registry.Options) {
		p.Arguments = map[string]json.RawMessage{"*": json.RawMessage(`{"to":{"known":"contacts"},"amount":{"maximum":500}}`)}
	})
	l.want(`{"to":"ann@example.com","amount":5}`, "")
	l.want(`{"to":"ann@example.com","To":"mark@evil-site.com"}`, sallyport.CodeInputInvalid)
	l.want(`{"TO":"ann@example.com"}`, sallyport.CodePermissionDenied)
	l.want(`{"amount":"9999"}`, sallyport.CodePermissionDenied)
	l.want(`{"amount":[9999]}`, sallyport.CodePermissionDenied)
	l.want(`{"other":"ann"}`, "")
}
