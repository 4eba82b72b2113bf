package registry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestProgramsNeedNoReach grants what the configuration names as a program to
// a personality without files, and nothing else of it.
func TestProgramsNeedNoReach(t *testing.T) {
	t.Parallel()
	g := newGate(t, &sallyport.Personality{Name: "role"})
	g.add(sallyport.Tool{Name: "tool", Run: echo, Capabilities: sallyport.Capabilities{
		FSReach: &sallyport.FSCapability{Read: sallyport.Paths("/srv/data")},
		Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"node"}, Programs: []string{"/srv/run.js"}},
	}})
	x, err := g.Explain(g.caller(), "tool")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x.Grant.Process.Programs, x.Grant.FS.Read); got != "[/srv/run.js] []" {
		t.Errorf("programs and read = %s, want the program alone", got)
	}
}

func TestProgramsAreAbsolute(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	for _, path := range []string{"", "run.js", "/srv/../run.js", "${workspace}/run.js"} {
		err := g.Register(sallyport.Tool{Name: "tool", Run: echo, Capabilities: sallyport.Capabilities{
			Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"node"}, Programs: []string{path}},
		}})
		if err == nil || !strings.Contains(err.Error(), "expected a clean absolute path") {
			t.Errorf("Register() with the program %q = %v, want a fault", path, err)
		}
	}
}

// TestARevisionIsAnotherDefinition keeps results of one revision from another.
func TestARevisionIsAnotherDefinition(t *testing.T) {
	t.Parallel()
	definition := func(revision string) string {
		g := newGate(t, nil)
		g.add(sallyport.Tool{Name: "tool", Revision: revision, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK(""), nil
		}})
		call(g, "tool", "")
		return g.recorder.last().Definition
	}
	if a, b := definition("a"), definition("b"); a == b || a == "" {
		t.Errorf("definitions of two revisions = %q and %q, want two", a, b)
	}
}
