package install_test

import (
	"maps"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestBeforeChoosesAsThen installs a package twice, and what it needs has a
// newer version the second time.
func TestBeforeChoosesAsThen(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "npm", "node", "tar")
	index := map[string]string{"index.js": "#!/usr/bin/env node\n"}
	n := newNPM(t, map[string]published{
		"notes": {version: "1.2.3", manifest: map[string]any{"bin": "index.js", "dependencies": map[string]string{"dep": "^1.0.0"}}, files: index},
		"dep":   {version: "1.0.0", files: index},
	})
	then := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	n.docs["dep"]["time"] = map[string]string{"1.0.0": "2026-08-01T00:00:00Z", "1.1.0": "2026-10-01T00:00:00Z"}
	n.docs["notes"]["time"] = map[string]string{"1.2.3": "2026-08-01T00:00:00Z"}
	pkg := parse(t, "npx", "notes@1.2.3")
	pkg.Before = then
	first := newPlace(t, n, nil).install(pkg)

	newer := newNPM(t, map[string]published{"dep": {version: "1.1.0", files: index}})
	maps.Copy(n.balls, newer.balls)
	maps.Copy(n.docs["dep"]["versions"].(map[string]any), newer.docs["dep"]["versions"].(map[string]any))
	n.docs["dep"]["dist-tags"] = map[string]string{"latest": "1.1.0"}
	if second := newPlace(t, n, nil).install(pkg); second.Digest != first.Digest {
		t.Errorf("the same package as then = %s, want %s", second.Digest, first.Digest)
	}
	pkg.Before = time.Time{}
	if third := newPlace(t, n, nil).install(pkg); third.Digest == first.Digest {
		t.Error("without a time nothing newer is chosen: the test shows nothing")
	}
}
