package survey

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
)

// plant makes a tree: "a/b/" a directory, "a -> b" a symbolic link, "a = b" a
// hard link, else a file. It returns the root without symbolic links.
func plant(t testing.TB, lines ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		plantOne(t, top, line)
	}
	return top
}

func plantOne(t testing.TB, top, line string) {
	t.Helper()
	name, link, isLink := strings.Cut(line, " -> ")
	name, other, isHard := strings.Cut(name, " = ")
	path := filepath.Join(top, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	switch {
	case isLink:
		must(t, os.Symlink(strings.ReplaceAll(link, "TOP", top), path))
	case isHard:
		must(t, os.Link(filepath.Join(top, other), path))
	case strings.HasSuffix(line, "/"):
		must(t, os.MkdirAll(path, 0o755))
	default:
		must(t, os.WriteFile(path, []byte("x"), 0o644))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// summarizeMasks prints masks beneath a top directory: "d" directory, "f" file, "l"
// link, "w" for write-only.
func summarizeMasks(top string, masks []Mask) []string {
	var out []string
	for _, m := range masks {
		if m.Missing && m.Class == denyfloor.Absolute {
			continue // Every own path that is absent: TestFloorNamesAbsentOwnPaths.
		}
		kind := "f"
		if m.Dir {
			kind = "d"
		}
		if m.Link {
			kind = "l"
		}
		if m.WriteOnly {
			kind += "w"
		}
		rel, err := filepath.Rel(top, m.Path)
		if err != nil {
			rel = m.Path
		}
		out = append(out, kind+" "+rel)
	}
	return out
}

func joinAll(top string, names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, filepath.Join(top, n))
	}
	return out
}

func TestFloorFindsWhatExistsOnTheFloor(t *testing.T) {
	tests := []struct {
		name        string
		tree        []string
		read, write []string
		want        []string
	}{
		{
			name: "a repository in the write reach", write: []string{"ws"},
			tree: []string{"ws/.git/hooks/pre-commit", "ws/.git/config", "ws/.git/HEAD", "ws/main.go"},
			want: []string{"fw ws/.git/config", "dw ws/.git/hooks"},
		},
		{
			name: "rules for writing do not count in the read reach", read: []string{"ws"},
			tree: []string{"ws/.git/hooks/pre-commit", "ws/.git/config", "ws/sub/.ssh/id_rsa"},
			want: []string{"d ws/sub/.ssh"},
		},
		{
			name: "keys are masked in both", read: []string{"r"}, write: []string{"w"},
			tree: []string{"r/id_rsa", "w/id_rsa", "w/a/b/c/.netrc", "w/id_rsa.pub"},
			want: []string{"f r/id_rsa", "f w/a/b/c/.netrc", "f w/id_rsa"},
		},
		{
			name: "letters of another case", write: []string{"ws"},
			tree: []string{"ws/.GIT/Hooks/x", "ws/ID_RSA"},
			want: []string{"dw ws/.GIT/Hooks", "f ws/ID_RSA"},
		},
		{
			name: "the file of a worktree", write: []string{"ws", "one/.git"}, read: []string{"ro"},
			tree: []string{"ws/wt/.git", "ws/wt2/.GIT", "ws/x/.git/y", "ro/wt/.git", "one/.git"},
			want: []string{"fw one/.git", "fw ws/wt/.git", "fw ws/wt2/.GIT"},
		},
		{
			name: "a write path within a read path", read: []string{"ws"}, write: []string{"ws/out"},
			tree: []string{"ws/.git/config", "ws/out/.git/config"},
			want: []string{"fw ws/out/.git/config"},
		},
		{
			name: "a read path within a write path", read: []string{"ws/in"}, write: []string{"ws"},
			tree: []string{"ws/in/.git/config"},
			want: []string{"fw ws/in/.git/config"},
		},
		{
			name: "a secret within what is protected against writing", write: []string{"home"},
			tree: []string{"home/.config/git/credentials", "home/.config/git/ignore"},
			want: []string{"dw home/.config/git", "f home/.config/git/credentials"},
		},
		{
			name: "a path of the reach on the floor", read: []string{"home/.aws", "ws"}, write: []string{"home/.config/git"},
			tree: []string{"home/.aws/credentials", "home/.config/git/config", "ws/x"},
			want: []string{"d home/.aws", "dw home/.config/git"},
		},
		{
			name: "a path of the reach within the floor", read: []string{"home/.aws/sub/dir"},
			tree: []string{"home/.aws/sub/dir/x"},
			want: []string{"d home/.aws/sub/dir"},
		},
		{
			name: "a file as a path of the reach", write: []string{"ws/.git/config", "ws/plain"},
			tree: []string{"ws/.git/config", "ws/plain"},
			want: []string{"fw ws/.git/config"},
		},
		{
			name: "a missing path of the reach", read: []string{"nothing"}, tree: []string{"ws/"},
		},
		{
			name: "a path of the reach through a link", write: []string{"link"},
			tree: []string{"real/.git/config", "link -> real"},
			want: []string{"fw real/.git/config"},
		},
		{
			name: "a path of the reach whose given name is a home", write: []string{"home"},
			tree: []string{"data/.npmrc", "data/.config/gh/hosts.yml", "home -> data"},
			want: []string{"d data/.config/gh", "f data/.npmrc"},
		},
		{
			name: "the runtime's own files", write: []string{"ws"},
			tree: []string{"ws/state/audit.db", "ws/gate.yaml", "ws/gate.yaml.bak", "ws/gate.yaml.txt"},
			want: []string{"f ws/gate.yaml", "f ws/gate.yaml.bak", "d ws/state"},
		},
		{
			name: "the runtime's own files under a link", write: []string{"ws"},
			tree: []string{"ws/real/state/x", "ws/lnk -> real"},
			want: []string{"lw ws/lnk", "d ws/real/state"},
		},
		{
			name: "sockets of a shell agent and others are files", read: []string{"ws"},
			tree: []string{"ws/.ssh"}, want: []string{"f ws/.ssh"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := plant(t, tt.tree...)
			floor := denyfloor.New(&sallyport.FileBackend{
				Home: filepath.Join(top, "home"),
				Deny: joinAll(top, []string{"ws/state", "ws/gate.yaml", "ws/lnk/state"}),
			})
			s := New()
			for _, when := range []string{"cold", "warm"} {
				got, err := s.Floor(t.Context(), floor, joinAll(top, tt.read), joinAll(top, tt.write))
				must(t, err)
				if diff := cmp.Diff(tt.want, summarizeMasks(top, got), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: Floor() (-want +got):\n%s", when, diff)
				}
				for _, m := range got {
					if m.Why == "" {
						t.Errorf("%s has no reason", m.Path)
					}
				}
			}
		})
	}
}

func TestFloorPinsEveryLinkOfAChain(t *testing.T) {
	top := plant(t, "ws/repo/config", "ws/in/l2 -> ../repo", "ws/l1 -> TOP/ws/in/l2", "ws/.git -> l1", "ws/sub/.git -> ../mid/repo",
		"ws/mid -> .", "out/l4 -> TOP/ws/repo", "ws/other/.git -> TOP/out/l4", "ws/circle/.git -> .git", "ws/plain -> l1")
	got, err := New().Floor(t.Context(), denyfloor.New(nil), nil, joinAll(top, []string{"ws"}))
	must(t, err)
	want := []string{"lw ws/.git", "lw ws/in/l2", "lw ws/l1", "lw ws/mid", "lw ws/other/.git", "fw ws/repo/config", "lw ws/sub/.git"}
	if diff := cmp.Diff(want, summarizeMasks(top, got)); diff != "" {
		t.Errorf("Floor() (-want +got):\n%s", diff)
	}
}

func TestFloorFollowsSymbolicLinksToTheirTargets(t *testing.T) {
	tests := []struct {
		name        string
		tree        []string
		read, write []string
		want        []string
	}{
		{
			name: "a key that lies elsewhere in the reach", read: []string{"ws"},
			tree: []string{"ws/.ssh -> keys", "ws/keys/k"},
			want: []string{"d ws/keys"},
		},
		{
			name: "a key that lies outside", read: []string{"ws"},
			tree: []string{"ws/.ssh -> ../keys", "keys/k"},
		},
		{
			name: "a key in another part of the reach", read: []string{"ws", "keys"},
			tree: []string{"ws/.ssh -> TOP/keys", "keys/k"},
			want: []string{"d keys"},
		},
		{
			name: "hooks elsewhere, which may not be replaced", write: []string{"ws"},
			tree: []string{"ws/.git/hooks -> ../tools/hooks", "ws/tools/hooks/pre-commit"},
			want: []string{"lw ws/.git/hooks", "dw ws/tools/hooks"},
		},
		{
			name: "hooks that lie in the read reach", read: []string{"ro"}, write: []string{"ws"},
			tree: []string{"ws/.git/hooks -> ../../ro/hooks", "ro/hooks/pre-commit"},
			want: []string{"lw ws/.git/hooks"},
		},
		{
			name: "a repository under another name", write: []string{"ws"},
			tree: []string{"ws/.git -> store", "ws/store/hooks/x", "ws/store/config", "ws/store/objects/config"},
			want: []string{"lw ws/.git", "fw ws/store/config", "dw ws/store/hooks"},
		},
		{
			name: "a link in a repository under another name", write: []string{"ws"},
			tree: []string{"ws/.git -> store", "ws/store/config -> ../cfg", "ws/cfg"},
			want: []string{"lw ws/.git", "fw ws/cfg", "lw ws/store/config"},
		},
		{
			name: "a home's configuration under another name", read: []string{"home", "dots"},
			tree: []string{"home/.config -> ../dots/config", "dots/config/gh/hosts.yml", "dots/config/git/x"},
			want: []string{"d dots/config/gh"},
		},
		{
			name: "a link in what leads elsewhere", read: []string{"ws"},
			tree: []string{"ws/.aws -> a", "ws/a/sso -> ../b", "ws/b/token", "ws/a/x"},
			want: []string{"d ws/b"},
		},
		{
			name: "a link to its own folder", write: []string{"ws"},
			tree: []string{"ws/.git -> .", "ws/config", "ws/hooks/x", "ws/y/z"},
			want: []string{"lw ws/.git", "fw ws/config", "dw ws/hooks"},
		},
		{
			name: "links in a circle and into nothing", write: []string{"ws"},
			tree: []string{"ws/.git -> b", "ws/b -> .git", "ws/.ssh -> nothing", "ws/.vscode -> .vscode"},
			want: []string{"lw ws/.ssh", "lw ws/.vscode"},
		},
		{
			name: "a harmless link is not entered", write: []string{"ws"},
			tree: []string{"ws/x -> ../other", "other/.git/config"},
		},
		{
			name: "a secret in what leads elsewhere and stays readable", write: []string{"home"},
			tree: []string{"home/.config/git -> ../g", "home/g/credentials", "home/g/ignore"},
			want: []string{"lw home/.config/git", "dw home/g", "f home/g/credentials"},
		},
		{
			name: "a home that is a link", read: []string{"homes", "data"},
			tree: []string{"homes/me -> ../data", "data/.npmrc"},
			want: []string{"f data/.npmrc"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := plant(t, tt.tree...)
			home := "home"
			if tt.name == "a home that is a link" {
				home = "homes/me"
			}
			floor := denyfloor.New(&sallyport.FileBackend{Home: filepath.Join(top, home)})
			got, err := New().Floor(t.Context(), floor, joinAll(top, tt.read), joinAll(top, tt.write))
			must(t, err)
			if diff := cmp.Diff(tt.want, summarizeMasks(top, got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Floor() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFloorFindsHardLinksOfProtectedFiles(t *testing.T) {
	top := plant(t, "home/.ssh/id_work", "ws/a", "ws/sub/b", "state/key")
	floor := func() *denyfloor.Floor {
		return denyfloor.New(&sallyport.FileBackend{Home: filepath.Join(top, "home"), Deny: []string{filepath.Join(top, "state")}})
	}
	s, f := New(), floor()
	survey := func(f *denyfloor.Floor) []string {
		t.Helper()
		got, err := s.Floor(t.Context(), f, joinAll(top, []string{"ws", "ws/a"}), nil)
		must(t, err)
		return summarizeMasks(top, got)
	}
	if got := survey(f); got != nil {
		t.Fatalf("before: %v", got)
	}
	plantOne(t, top, "ws/sub/c = home/.ssh/id_work")
	plantOne(t, top, "ws/d = state/key")
	// A new floor has no list yet, where the old one is up to a second behind.
	want := []string{"f ws/d", "f ws/sub/c"}
	if diff := cmp.Diff(want, survey(floor())); diff != "" {
		t.Errorf("Floor() (-want +got):\n%s", diff)
	}
}

// TestA13_APlaceThatComesAndGoesIsCovered has another child put placeholders into a
// repository and take them away while a survey looks.
func TestA13_APlaceThatComesAndGoesIsCovered(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "p/.git")
	must(t, os.MkdirAll(filepath.Join(dir, "objects"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "refs"), 0o755))
	path, end, ended := filepath.Join(dir, "commondir"), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
				_ = os.WriteFile(path, nil, 0o644)
				_ = os.Remove(path)
			}
		}
	}()
	s := New()
	for range 2000 {
		masks, err := s.Floor(t.Context(), denyfloor.New(nil), nil, []string{top})
		must(t, err)
		if !slices.ContainsFunc(masks, func(m Mask) bool { return m.Path == path && m.Repository == dir }) {
			t.Error("nothing covers commondir")
			break
		}
	}
	close(end)
	<-ended
}
