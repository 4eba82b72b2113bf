package vet

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestVettoolSeesDirectUses runs the program as go vet does, which follows calls by
// name alone.
func TestVettoolSeesDirectUses(t *testing.T) {
	needs.Toolchain(t)
	tool := filepath.Join(t.TempDir(), "sallyport-vet")
	if out, err := exec.Command("go", "build", "-o", tool, "../../cmd/sallyport-vet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("go", "vet", "-vettool="+tool, "./testdata/seeded").CombinedOutput()
	if err == nil {
		t.Error("go vet succeeded")
	}
	for _, want := range []string{"file: os.ReadFile", "network: net.Dial", "process: os/exec.CommandContext", "environment: os.Environ", "linkname: ", "unsafe memory: "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if out, err := exec.Command("go", "vet", "-vettool="+tool, "./testdata/clean").CombinedOutput(); err != nil {
		t.Errorf("of clean tools: %v\n%s", err, out)
	}
}
