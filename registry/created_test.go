package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// Explain and check give one answer for a granted file that is not there. For a
// tool that starts programs it is that of a child.
func TestExplainAndCheckAgreeOnAFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		level   sallyport.Level
		granted string
		asked   string // where it is not what is granted
		starts  bool
		why     string
		fix     string
		misfit  bool
	}{
		{name: "created by a child", level: sallyport.LevelFull, granted: "new.md", starts: true},
		{name: "no folder", level: sallyport.LevelFull, granted: "none/new.md", starts: true, misfit: true, why: "DIR/none/new.md is granted and does not exist, and a child cannot create it: its folder DIR/none does not exist", fix: "mkdir -p DIR/none"},
		{name: "no folder, and no child", granted: "none/new.md", why: "none"},
		{name: "no mounts", level: sallyport.LevelLandlock, granted: "new.md", starts: true, misfit: true, why: "DIR/new.md is granted and does not exist, and a child cannot create it: the level landlock has no mount namespace, in which alone a child can create a file that is granted by its own name", fix: "touch DIR/new.md, or mkdir where a folder is meant, or grant its folder DIR"},
		{name: "there already", level: sallyport.LevelLandlock, granted: "old.md", starts: true},
		{name: "below a folder that is not there", level: sallyport.LevelFull, granted: "new", asked: "new/a.md", starts: true, why: "DIR/new/a.md is granted and does not exist, and a child cannot create it: the granted folder DIR/new does not exist, and a child cannot create it", fix: "mkdir -p DIR/new"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "old.md"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, tt.granted)
			g := newGateWith(t, &sallyport.Personality{Name: "role", FSReach: &sallyport.Reach{Write: []string{path}}}, &sallyport.Backends{
				Process: &scopedtest.Runner{Level: tt.level}, Files: &sallyport.FileBackend{Home: t.TempDir()},
			})
			tool := starter("git")
			if !tt.starts {
				tool.Capabilities.Process = nil
			}
			tool.Capabilities.FSReach = &sallyport.FSCapability{Write: sallyport.FromPersonality()}
			g.add(tool)
			in := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }

			asked := path
			if tt.asked != "" {
				asked = filepath.Join(dir, tt.asked)
			}
			d := g.Path(t.Context(), g.caller(), "start", "write", asked)
			switch {
			case tt.why == "none": // The accessor says it in its own words.
				if strings.Contains(d.Why, "a child") {
					t.Errorf("Path = %+v, though nothing is started", d)
				}
			case d.Allowed != (tt.why == "") || d.Why != in(tt.why) || d.Fix != in(tt.fix):
				t.Errorf("Path = %+v, want %q with the fix %q", d, in(tt.why), in(tt.fix))
			}
			x, err := g.Explain(g.caller(), "start")
			if err != nil {
				t.Fatal(err)
			}
			misfits := g.Misfits("role")
			if !tt.misfit {
				if len(misfits)+len(x.Grant.Dropped) != 0 {
					t.Errorf("misfits = %v, dropped = %+v, want none", misfits, x.Grant.Dropped)
				}
				return
			}
			if len(misfits) != 1 || misfits[0].Message != d.Why || misfits[0].Fix != d.Fix || misfits[0].Capability != "fs_reach.write" || !misfits[0].Linked {
				t.Errorf("Misfits = %+v, want what Path says", misfits)
			}
			if got := x.Grant.Dropped; len(got) != 1 || got[0].Why != d.Why || len(x.Grant.FS.Write) != 0 {
				t.Errorf("Explain = %+v, want what Path says", got)
			}
		})
	}
}
