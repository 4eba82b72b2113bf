package program_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestBenchMeasuresTheProductBesideItsPeers builds the module that writes the
// page on performance, and lets it measure one comparison for a moment.
func TestBenchMeasuresTheProductBesideItsPeers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds three programs")
	}
	dir, binary := buildOutside(t, repository+"/bench/peers")
	t.Run("its own tests", func(t *testing.T) {
		t.Parallel()
		goCommand(t, dir, "test", "-count=1", ".")
	})
	cmd := exec.CommandContext(t.Context(), binary, "-quick", "-json", "-only", "^stdio-1$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	type row struct {
		What      string  `json:"what"`
		PerSecond float64 `json:"per_second"`
		Ratios    []struct {
			Of    string  `json:"of"`
			Value float64 `json:"value"`
		} `json:"ratios"`
	}
	var rows []row
	for line := range strings.Lines(string(out)) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, r)
	}
	if len(rows) != 4 || !strings.Contains(rows[0].What, "serve --stdio") {
		t.Fatalf("it printed %+v, want the default installation first and three peers", rows)
	}
	for _, r := range rows {
		if r.PerSecond <= 0 {
			t.Errorf("%s made no calls", r.What)
		}
	}
	// Of processor time there may be too little for a ratio.
	if r := rows[0].Ratios; len(r) < 3 || r[0].Value <= 0 {
		t.Errorf("ratios of the default installation = %+v, want one for each peer", r)
	}
}
