package reach

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCleanPath(t *testing.T) {
	tests := []struct {
		name, in, want string
		fails          bool
	}{
		{name: "root", in: "/", want: "/"},
		{name: "doubled root", in: "//", want: "/"},
		{name: "trailing slash", in: "/data/", want: "/data"},
		{name: "dot segments", in: "/data/./a/../b", want: "/data/b"},
		{name: "above the root", in: "/../etc", want: "/etc"},
		{name: "percent is literal", in: "/a/%2e%2e/b", want: "/a/%2e%2e/b"},
		{name: "empty", in: "", fails: true},
		{name: "relative", in: "data", fails: true},
		{name: "dot", in: ".", fails: true},
		{name: "tilde is not expanded", in: "~/x", fails: true},
		{name: "NUL", in: "/data\x00/x", fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := CleanPath(tt.in)
			if got != tt.want || (err != nil) != tt.fails {
				t.Errorf("CleanPath(%q) = %q, %v, want %q, error %v", tt.in, got, err, tt.want, tt.fails)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	tests := []struct {
		name, base, target string
		want               bool
	}{
		{name: "itself", base: "/a", target: "/a", want: true},
		{name: "child", base: "/a", target: "/a/b/c", want: true},
		{name: "not a prefix of a name", base: "/data", target: "/database", want: false},
		{name: "parent", base: "/a/b", target: "/a", want: false},
		{name: "root covers all", base: "/", target: "/x", want: true},
		{name: "root covers root", base: "/", target: "/", want: true},
		{name: "base with slash", base: "/a/", target: "/a/x", want: true},
		{name: "base with slash, itself", base: "/a/", target: "/a", want: true},
		{name: "escape by dots", base: "/a", target: "/a/../b", want: false},
		{name: "empty base", base: "", target: "/a", want: false},
		{name: "empty target", base: "/", target: "", want: false},
		{name: "case matters", base: "/a", target: "/A", want: false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Within(tt.base, tt.target); got != tt.want {
				t.Errorf("Within(%q, %q) = %v, want %v", tt.base, tt.target, got, tt.want)
			}
		})
	}
}

func TestIntersectPaths(t *testing.T) {
	tests := []struct {
		name              string
		declared, allowed []string
		granted, dropped  []string
	}{
		{name: "equal", declared: []string{"/a"}, allowed: []string{"/a/"}, granted: []string{"/a"}},
		{name: "declaration is narrower", declared: []string{"/a/b"}, allowed: []string{"/a"}, granted: []string{"/a/b"}},
		{name: "ceiling is narrower", declared: []string{"/a"}, allowed: []string{"/a/b", "/a/c"}, granted: []string{"/a/b", "/a/c"}},
		{name: "names are whole", declared: []string{"/database"}, allowed: []string{"/data"}, dropped: []string{"/database"}},
		{name: "nothing allowed", declared: []string{"/a"}, dropped: []string{"/a"}},
		{name: "nested entries absorbed", declared: []string{"/a/b", "/a", "/a-b"}, allowed: []string{"/"}, granted: []string{"/a", "/a-b"}},
		{name: "absorbed across a sibling", declared: []string{"/a", "/a-b", "/a/c"}, allowed: []string{"/"}, granted: []string{"/a", "/a-b"}},
		{name: "empty entry is nothing", declared: []string{""}, allowed: []string{"/"}, dropped: []string{""}},
		{name: "empty ceiling entry is nothing", declared: []string{"/a"}, allowed: []string{""}, dropped: []string{"/a"}},
		{name: "root on both sides", declared: []string{"/"}, allowed: []string{"/"}, granted: []string{"/"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			granted, dropped := IntersectPaths(tt.declared, tt.allowed)
			if d := cmp.Diff([][]string{tt.granted, tt.dropped}, [][]string{granted, dropped}); d != "" {
				t.Errorf("IntersectPaths(%q, %q): (-want +got)\n%s", tt.declared, tt.allowed, d)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	vars := map[string]string{"workspace": "/srv/p", "home": "/home/u/", "self": "", "odd": "rel"}
	tests := []struct{ name, in, want, fails string }{
		{name: "alone", in: "${workspace}", want: "/srv/p"},
		{name: "below", in: "${workspace}/./docs", want: "/srv/p/docs"},
		{name: "value with slash", in: "${home}/x", want: "/home/u/x"},
		{name: "absolute", in: "/data/", want: "/data"},
		{name: "dollar in a name", in: "/data/$x", want: "/data/$x"},
		{name: "empty variable", in: "${self}/x", fails: "is empty"},
		{name: "unknown variable", in: "${cwd}/x", fails: "unknown variable ${cwd}"},
		{name: "inside", in: "/a/${home}", fails: "at the beginning"},
		{name: "twice", in: "${home}/${workspace}", fails: "at the beginning"},
		{name: "glued", in: "${home}less", fails: "separator"},
		{name: "not closed", in: "${home", fails: "not closed"},
		{name: "relative", in: "docs", fails: "not absolute"},
		{name: "relative value", in: "${odd}/x", fails: "not absolute"},
		{name: "empty", in: "", fails: "empty path"},
		{name: "NUL", in: "${home}/\x00", fails: "NUL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Expand(tt.in, vars)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("Expand(%q) = %q, %v, want an error with %q", tt.in, got, err, tt.fails)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("Expand(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
		})
	}
}

func FuzzIntersectPaths(f *testing.F) {
	f.Add("/a\n/a/b", "/a/b/c\n/d")
	f.Add("/\n", "//x/..\n/data")
	f.Add("/a\n/a-b\n/a/c", "/")
	f.Fuzz(func(t *testing.T, left, right string) {
		a, b := strings.Split(left, "\n"), strings.Split(right, "\n")
		if len(a) > 16 || len(b) > 16 {
			return
		}
		g, dropped := IntersectPaths(a, b)
		if back, _ := IntersectPaths(b, a); !slices.Equal(g, back) {
			t.Errorf("IntersectPaths(%q, %q) = %q, the other way round %q", a, b, g, back)
		}
		if again, _ := IntersectPaths(g, g); !slices.Equal(g, again) {
			t.Errorf("IntersectPaths of %q with itself = %q", g, again)
		}
		for _, p := range g {
			if !coveredBy(p, a) || !coveredBy(p, b) {
				t.Errorf("IntersectPaths(%q, %q) grants %q, which one side does not cover", a, b, p)
			}
		}
		for _, d := range dropped {
			for _, p := range g {
				if Within(d, p) && strings.HasPrefix(d, "/") && strings.IndexByte(d, 0) < 0 {
					t.Errorf("IntersectPaths(%q, %q) drops %q and grants %q", a, b, d, p)
				}
			}
		}
	})
}

func coveredBy(p string, list []string) bool {
	return slices.ContainsFunc(list, func(q string) bool {
		c, err := CleanPath(q)
		return err == nil && Within(c, p)
	})
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${workspace}/a", "/x/../y", "${home}", "${a", "a${home}"} {
		f.Add(s)
	}
	vars := map[string]string{"workspace": "/w", "home": "/h", "self": ""}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Expand(s, vars)
		if err != nil {
			return
		}
		clean, err := CleanPath(got)
		if err != nil || clean != got {
			t.Errorf("Expand(%q) = %q, which CleanPath turns into %q, %v", s, got, clean, err)
		}
		if strings.HasPrefix(s, "${workspace}") && !strings.Contains(s, "..") && !Within("/w", got) {
			t.Errorf("Expand(%q) = %q, outside its variable", s, got)
		}
	})
}

func BenchmarkWithin(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Within("/srv/project", "/srv/project/docs/readme.md")
	}
}

// behaviourCase is one case of testdata/paths/behaviour.json.
type behaviourCase struct {
	Area, Name string
	Input      struct {
		Base, Target, Segment string
		FSReach               struct{ Read, Write []string } `json:"fs_reach"`
	}
	Expect struct {
		Within      bool
		Safe        *bool
		Read, Write []string
	}
}

func TestPathBehaviour(t *testing.T) {
	data, err := os.ReadFile("testdata/paths/behaviour.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []behaviourCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Area+"/"+c.Name, func(t *testing.T) {
			if c.Expect.Safe != nil {
				t.Skip("the contract has no rule for single segments: \"A relative path is anchored at the workspace, cleaned, and opened beneath a granted directory\"")
			}
			if c.Area == "path_boundary" {
				if got := Within(c.Input.Base, c.Input.Target); got != c.Expect.Within {
					t.Errorf("Within(%q, %q) = %v, want %v", c.Input.Base, c.Input.Target, got, c.Expect.Within)
				}
				return
			}
			read, _ := IntersectPaths(c.Input.FSReach.Read, []string{"/"})
			write, _ := IntersectPaths(c.Input.FSReach.Write, []string{"/"})
			if d := cmp.Diff([][]string{c.Expect.Read, c.Expect.Write}, [][]string{read, write}); d != "" {
				t.Errorf("IntersectPaths: (-want +got)\n%s", d)
			}
		})
	}
}

func TestFollowNamesTakesTheLongestName(t *testing.T) {
	names := map[string]string{"/home/ann/w": "/srv/w", "/home/ann/w/deep": "/mnt/deep"}
	for path, want := range map[string]string{
		"/home/ann/w": "/srv/w", "/home/ann/w/a": "/srv/w/a", "/home/ann/w/deep/a": "/mnt/deep/a",
		"/home/ann/wide": "/home/ann/wide", "/srv/w": "/srv/w",
	} {
		if got := FollowNames(names, path); got != want {
			t.Errorf("FollowNames(%s) = %s, want %s", path, got, want)
		}
	}
}
