package house_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/sallyport/sallyport"

// layer is the position of a package in the import graph.
type layer int

const (
	root      layer = iota // the contract: standard library only
	inner                  // internal/…: may import root and each other
	mechanism              // may import root, internal and each other
	adapter                // may import what mechanisms may, never another adapter
	wiring                 // cmd, examples, bench, what only they use: may import everything
)

// layers maps a folder, or a folder of internal, to its layer. A directory that
// is missing here fails the test, so that the author of a new one has to choose
// its layer.
var layers = map[string]layer{
	"": root, "internal": inner,
	"registry": mechanism, "scoped": mechanism, "egress": mechanism, "sandbox": mechanism,
	"output": mechanism, "schema": mechanism, "audit": mechanism, "auth": mechanism,
	"store": adapter, "secrets": adapter, "action": adapter, "tools": adapter, "gateway": adapter,
	"plugin":  adapter,
	"httpapi": adapter, "dashboard": adapter, "telemetry": adapter,
	"cmd": wiring, "examples": wiring, "bench": wiring, "internal/command": wiring, "internal/app": wiring, "program": wiring,
	"internal/importer": wiring, "internal/openapi": wiring, "internal/callback": wiring, "internal/report": wiring, "internal/page": wiring,
	"internal/metrics": adapter, "internal/siem": adapter,
	"internal/audittest":   mechanism,
	"internal/secretstore": mechanism,
	"internal/lock":        mechanism, "internal/attached": mechanism, "internal/modelformat": mechanism, "internal/ceiling": mechanism, "internal/task": mechanism, "internal/turn": mechanism, "internal/plugin": mechanism, "internal/replay": mechanism,
	"internal/suggest": mechanism, "internal/shadow": mechanism, "internal/anchor": mechanism, "internal/notices": mechanism, "internal/recallstore": mechanism,
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func listed(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// top returns the first path element below the module, or the first two where
// layers has a row for both.
func top(path string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	first, below, _ := strings.Cut(rest, "/")
	second, _, _ := strings.Cut(below, "/")
	if _, ok := layers[first+"/"+second]; ok {
		return first + "/" + second
	}
	return first
}

func TestImportsPointInwards(t *testing.T) {
	for _, p := range listed(t) {
		from, ok := layers[top(p.ImportPath)]
		if !ok {
			t.Errorf("%s: no layer is named for %q in internal/house", p.ImportPath, top(p.ImportPath))
			continue
		}
		for _, imp := range p.Imports {
			if why := refused(from, p.ImportPath, imp); why != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, imp, why)
			}
		}
	}
}

// refused returns the reason why an import breaks the layering, or an empty
// text when it does not.
func refused(from layer, path, imp string) string {
	own := imp == module || strings.HasPrefix(imp, module+"/")
	std := !strings.Contains(strings.Split(imp, "/")[0], ".")
	if !own {
		if from == root && !std {
			return "the contract imports the standard library only"
		}
		return ""
	}
	to := layers[top(imp)]
	switch {
	case from == root:
		return "the contract imports nothing of this module"
	case from == inner && to > inner:
		return "internal packages import the contract and each other only"
	case from == mechanism && to > mechanism:
		return "a mechanism never imports an adapter"
	case from == adapter && to == adapter && top(imp) != top(path):
		return "adapters never import each other"
	case from == adapter && to == wiring:
		return "nothing imports the wiring"
	default:
		return ""
	}
}

func TestRefusedSeesEachLayer(t *testing.T) {
	for _, tt := range []struct {
		name string
		from layer
		path string
		imp  string
		want bool
	}{
		{"contract and library", root, module, "github.com/spf13/cobra", true},
		{"contract and std", root, module, "net/http", false},
		{"mechanism and adapter", mechanism, module + "/registry", module + "/store/sqlite", true},
		{"mechanism and mechanism", mechanism, module + "/registry", module + "/output", false},
		{"adapter and adapter", adapter, module + "/tools/file", module + "/store/sqlite", true},
		{"adapter and itself", adapter, module + "/store/sqlite", module + "/store/storetest", false},
		{"internal and mechanism", inner, module + "/internal/reach", module + "/egress", true},
		{"internal and wiring", inner, module + "/internal/reach", module + "/internal/command", true},
		{"mechanism and wiring", mechanism, module + "/registry", module + "/internal/command", true},
		{"adapter and wiring", adapter, module + "/gateway", module + "/internal/command", true},
		{"wiring and adapter", wiring, module + "/internal/command", module + "/gateway", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := refused(tt.from, tt.path, tt.imp) != ""; got != tt.want {
				t.Errorf("refused(%v, %s, %s) = %v, want %v", tt.from, tt.path, tt.imp, got, tt.want)
			}
		})
	}
}
