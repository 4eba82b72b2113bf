package registry_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// TestTouchesAreHeldToTheDeclaration registers tools that say otherwise.
func TestTouchesAreHeldToTheDeclaration(t *testing.T) {
	for name, touch := range map[string]sallyport.Touch{
		"unknown group": {Capability: "files", Argument: "x"}, "undeclared": {Capability: "mail", Argument: "x"},
		"neither": {Capability: "network"}, "both": {Capability: "network", Argument: "x", Item: "https://a.example"},
	} {
		r, err := registry.New(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Register(sallyport.Tool{
			Name: "tool", Run: echo, Touches: []sallyport.Touch{touch},
			Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example"}}},
		})
		if err == nil || !strings.Contains(err.Error(), "Touches") {
			t.Errorf("%s: Register = %v, want a fault", name, err)
		}
	}
}
