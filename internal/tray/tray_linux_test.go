package tray_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/tray"
)

// workplace is a folder with a file, a folder and a link in it.
func workplace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub", "out"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "old.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPlanTrays(t *testing.T) {
	for _, tt := range []struct {
		name        string
		read, write []string
		level       sallyport.Level
		mode        sallyport.FSMode
		trays       []string
		refused     string
	}{
		{name: "a new file", write: []string{"new.md"}, trays: []string{". [new.md] read=false shown=false"}},
		{name: "readable", read: []string{"new.md"}, write: []string{"new.md"}, trays: []string{". [new.md] read=true shown=false"}},
		{name: "in a folder for reading", read: []string{"."}, write: []string{"new.md"}, trays: []string{". [new.md] read=true shown=true"}},
		{name: "two of one folder", write: []string{"a.md", "sub/c.md", "b.md"}, trays: []string{". [a.md b.md] read=false shown=false", "sub [c.md] read=false shown=false"}},
		{name: "there already", write: []string{"old.md"}},
		{name: "a link at the name", write: []string{"link.md"}},
		{name: "in a folder for writing", write: []string{".", "new.md"}},
		{name: "deep in a folder for writing", write: []string{"out", "out/a/b.md"}},
		{name: "no folder", write: []string{"none/new.md"}, refused: "its folder DIR/none does not exist; mkdir -p DIR/none"},
		{name: "below a file", write: []string{"old.md/new.md"}, refused: "its folder DIR/old.md does not exist; mkdir -p DIR/old.md"},
		{name: "no mounts", write: []string{"new.md"}, level: sallyport.LevelLandlock, refused: "the level landlock has no mount namespace, in which alone a child can create a file that is granted by its own name; touch DIR/new.md, or mkdir where a folder is meant, or grant its folder DIR"},
		{name: "no confinement", write: []string{"new.md"}, level: sallyport.LevelNone},
		{name: "overlay", write: []string{"new.md"}, mode: sallyport.FSOverlay, refused: "in overlay mode a child creates files in granted folders only; touch DIR/new.md, or mkdir where a folder is meant, or grant its folder DIR"},
		{name: "beside what is for writing only", read: []string{"new.md"}, write: []string{"new.md", "out"}, refused: "another path in DIR may be written and not read; touch DIR/new.md, or mkdir where a folder is meant, or grant its folder DIR"},
		{name: "system", write: []string{"/etc/sallyport-none"}, refused: "in /etc a child has files of its own; grant a file in another folder"},
		{name: "private", write: []string{"/tmp/sallyport-none"}, refused: "in /tmp a child has files of its own; grant a file in another folder"},
		{name: "root", write: []string{"/sallyport-none"}, refused: "in / a child has files of its own; grant a file in another folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := workplace(t)
			at := func(names []string) (list []string) {
				for _, name := range names {
					if !filepath.IsAbs(name) {
						name = filepath.Join(dir, name)
					}
					list = append(list, name)
				}
				return list
			}
			g := &sallyport.FSGrant{Read: at(tt.read), Write: at(tt.write), Mode: tt.mode}
			level := sallyport.LevelFull
			if tt.level != "" {
				level = tt.level
			}
			trays, refused := tray.PlanTrays(g, level)
			var got []string
			for _, p := range trays {
				rel, _ := filepath.Rel(dir, p.Dir)
				got = append(got, fmt.Sprintf("%s %v read=%v shown=%v", rel, p.Names, p.Read, p.Shown))
			}
			if strings.Join(got, "|") != strings.Join(tt.trays, "|") {
				t.Errorf("trays = %q, want %q", got, tt.trays)
			}
			why := ""
			for _, r := range refused {
				why += strings.ReplaceAll(r.Why+"; "+r.Fix, dir, "DIR")
				if one := tray.CheckPath(g, level, r.Path); one == nil || *one != r {
					t.Errorf("CheckPath(%s) = %v, want what PlanTrays says", r.Path, one)
				}
			}
			if why != tt.refused {
				t.Errorf("refused = %q, want %q", why, tt.refused)
			}
			for _, p := range trays {
				for _, name := range p.Names {
					if r := tray.CheckPath(g, level, filepath.Join(p.Dir, name)); r != nil {
						t.Errorf("CheckPath(%s) = %v, want none", name, r)
					}
				}
			}
		})
	}
}

func TestAFolderWithTooManyEntriesHasNoTray(t *testing.T) {
	dir := workplace(t)
	for i := range tray.MaxShown {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "new.md")
	g := &sallyport.FSGrant{Read: []string{dir}, Write: []string{file}}
	if r := tray.CheckPath(g, sallyport.LevelFull, file); r == nil || !strings.Contains(r.Why, "more entries") {
		t.Errorf("CheckPath = %v, want a refusal", r)
	}
	g.Read = []string{file}
	if r := tray.CheckPath(g, sallyport.LevelFull, file); r != nil {
		t.Errorf("CheckPath = %v: nothing in the folder is shown", r)
	}
}

func TestWhatLiesBelowAMissingGrantIsRefused(t *testing.T) {
	dir := workplace(t)
	made := filepath.Join(dir, "made")
	g := &sallyport.FSGrant{Write: []string{made, filepath.Join(dir, "out")}}
	r := tray.CheckPath(g, sallyport.LevelFull, filepath.Join(made, "a.md"))
	if r == nil || r.Fix != "mkdir -p "+made {
		t.Errorf("CheckPath = %v, want the command that makes the folder", r)
	}
	if r := tray.CheckPath(g, sallyport.LevelFull, filepath.Join(dir, "out", "a.md")); r != nil {
		t.Errorf("CheckPath = %v, want none: the folder is there", r)
	}
}
