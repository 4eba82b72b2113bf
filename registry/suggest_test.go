package registry_test

import (
	"context"
	"testing"

	"github.com/sallyport/sallyport"
)

func TestAnUnknownToolNamesANearOneThatTheCallerSees(t *testing.T) {
	t.Parallel()
	g := newGate(t, &sallyport.Personality{Name: "role", Toolset: []string{"read_file"}})
	for _, name := range []string{"read_file", "write_file"} {
		g.add(sallyport.Tool{Name: name, Schema: open, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK("ran"), nil
		}})
	}
	for tool, want := range map[string]string{
		"readfile":   "Unknown tool: readfile\nDid you mean read_file?",
		"read_fi1e":  "Unknown tool: read_fi1e\nDid you mean read_file?",
		"writefile":  "Unknown tool: writefile", // the role does not see write_file
		"something":  "Unknown tool: something",
		"prompt:rea": "Unknown tool: prompt:rea",
	} {
		if res := call(g, tool, `{}`); res.Error != want || res.Code != sallyport.CodeNotAvailable {
			t.Errorf("Call(%s) = %s %q, want %q", tool, res.Code, res.Error, want)
		}
	}
}
