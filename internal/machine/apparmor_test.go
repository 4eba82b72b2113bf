package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestAppArmorTakesTheProfile has the parser of AppArmor read the profile. A
// parser before version 4 knows neither the rule userns nor its interface, so it
// reads the other lines.
func TestAppArmorTakesTheProfile(t *testing.T) {
	needs.Machines(t)
	parser := "/usr/sbin/apparmor_parser"
	version, err := exec.CommandContext(t.Context(), parser, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v", parser, err)
	}
	profile := string(appArmorProfile)
	if strings.Contains(string(version), "version 3.") {
		for _, line := range []string{"abi <abi/4.0>,\n", "  userns,\n"} {
			if !strings.Contains(profile, line) {
				t.Fatalf("the profile has no line %q", line)
			}
			profile = strings.Replace(profile, line, "", 1)
		}
	}
	for name, text := range map[string]string{"profile": profile, "broken": strings.Replace(profile, "flags=(unconfined)", "flags=(unconfine)", 1)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), parser, "-Q", "-K", path).CombinedOutput(); (err == nil) != (name == "profile") {
			t.Errorf("the parser says of the %s: %v\n%s", name, err, out)
		}
	}
}
