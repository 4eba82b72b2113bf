package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Many paths become few roots, and none of them is wider than a project.
func TestObserveReduces(t *testing.T) {
	t.Parallel()
	file, dir := pathUse{}, pathUse{dir: true}
	for _, tt := range []struct {
		name  string
		paths map[string]pathUse
		roots []string
		wide  []string
	}{
		{"nothing", nil, nil, nil},
		{"one file", map[string]pathUse{"/w/p/a": file}, []string{"/w/p/a"}, nil},
		{"three files stay files", map[string]pathUse{"/w/p/a": file, "/w/p/b": file, "/w/p/c": file}, []string{"/w/p/a", "/w/p/b", "/w/p/c"}, nil},
		{"four are their folder", map[string]pathUse{"/w/p/d/a": file, "/w/p/d/b": file, "/w/p/d/c": file, "/w/p/d/e": file}, []string{"/w/p/d"}, nil},
		{"a folder covers", map[string]pathUse{"/w/p/d": dir, "/w/p/d/x/y": file, "/w/p/dd": file}, []string{"/w/p/d", "/w/p/dd"}, nil},
		{"a file covers nothing", map[string]pathUse{"/w/p/d": file, "/w/p/d/x": file}, []string{"/w/p/d", "/w/p/d/x"}, nil},
		{
			"folders join upwards", map[string]pathUse{
				"/w/p/d/1": dir, "/w/p/d/2": dir, "/w/p/d/3/a": file, "/w/p/d/3/b": file, "/w/p/d/3/c": file, "/w/p/d/3/d": file, "/w/p/d/4": dir,
			}, []string{"/w/p/d"}, nil,
		},
		{"the workspace is one", map[string]pathUse{"/w/p": dir}, []string{"/w/p"}, nil},
		{"never above the workspace", map[string]pathUse{"/w": dir}, nil, []string{"/w"}},
		{"never the root", map[string]pathUse{"/": dir}, nil, []string{"/"}},
		{"never a home", map[string]pathUse{"/home/ann": dir, "/home": dir}, nil, []string{"/home", "/home/ann"}},
		{"never a folder at the root", map[string]pathUse{"/srv": dir, "/srv/a": dir}, []string{"/srv/a"}, []string{"/srv"}},
		{
			"entries of a home do not join",
			map[string]pathUse{"/home/ann/a": file, "/home/ann/b": file, "/home/ann/c": file, "/home/ann/d": file},
			[]string{"/home/ann/a", "/home/ann/b", "/home/ann/c", "/home/ann/d"},
			nil,
		},
		{
			"entries of a folder at the root do not join",
			map[string]pathUse{"/srv/a": dir, "/srv/b": dir, "/srv/c": dir, "/srv/d": dir},
			[]string{"/srv/a", "/srv/b", "/srv/c", "/srv/d"},
			nil,
		},
		{"a link outside is named", map[string]pathUse{"/data/f": {given: "/w/p/link"}}, []string{"/data/f", "/w/p/link"}, nil},
		{"a link within a root is not", map[string]pathUse{"/data/f": {given: "/w/p/d/link"}, "/w/p/d": dir}, []string{"/data/f", "/w/p/d"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &rootReducer{work: "/w/p", home: "/home/ann"}
			roots, wide := r.reduce(tt.paths)
			if diff := cmp.Diff(tt.roots, roots); diff != "" {
				t.Errorf("roots (-want +got):\n%s", diff)
			}
			if len(wide) != len(tt.wide) {
				t.Errorf("left out %v, want %v", wide, tt.wide)
			}
			for _, path := range tt.wide {
				if wide[path] == "" {
					t.Errorf("%s is not left out with a reason", path)
				}
			}
		})
	}
}

func TestObserveSpells(t *testing.T) {
	t.Parallel()
	r := &rootReducer{work: "/home/ann/p", home: "/home/ann"}
	got := r.spellAll([]string{"/home/ann/p", "/home/ann/p/a", "/home/ann/pp", "/home/anna", "/srv/x"})
	want := []string{"${home}/pp", "${workspace}", "${workspace}/a", "/home/anna", "/srv/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spelled (-want +got):\n%s", diff)
	}
}
