package suggest

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

func TestFoldPaths(t *testing.T) {
	roots := []string{"/w", "/w/deep/er"}
	for _, tt := range []struct {
		name        string
		paths, want []string
	}{
		{"few stay", []string{"/w/a/1", "/w/a/2", "/w/b"}, []string{"/w/a/1", "/w/a/2", "/w/b"}},
		{"a folder of several", []string{"/w/a/1", "/w/a/2", "/w/a/3", "/w/b/1"}, []string{"/w/a", "/w/b/1"}},
		{"what is within another one", []string{"/w/a", "/w/a/2", "/w/ab"}, []string{"/w/a", "/w/ab"}},
		{"not yet a folder of today", []string{"/w/1", "/w/2", "/w/3"}, []string{"/w/1", "/w/2", "/w/3"}},
		{"a folder of today", []string{"/w/1", "/w/2", "/w/3", "/w/4", "/w/5", "/w/6", "/w/7", "/w/8"}, []string{"/w"}},
		{"never above today", []string{"/x/1", "/x/2", "/x/3"}, []string{"/x/1", "/x/2", "/x/3"}},
		{"names of secrets", []string{"/w/.ssh/1", "/w/.ssh/2", "/w/.ssh/3", "/w/a/x.pem", "/w/a/y.pem", "/w/a/z.key"}, []string{"/w/.ssh/1", "/w/.ssh/2", "/w/.ssh/3", "/w/a/x.pem", "/w/a/y.pem", "/w/a/z.key"}},
		{"nothing", nil, nil},
	} {
		if got := foldPaths(tt.paths, roots); !slices.Equal(got, tt.want) {
			t.Errorf("%s: foldPaths() = %v, want %v", tt.name, got, tt.want)
		}
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("/w/a/%d/1", i), fmt.Sprintf("/w/a/%d/2", i))
	}
	if got := foldPaths(many, roots); !slices.Equal(got, []string{"/w/a"}) {
		t.Errorf("foldPaths() of many = %v", got)
	}
}

func TestFoldItems(t *testing.T) {
	hosts, _ := group.FindReach("network")
	var many []string
	for i := range exactItems + 1 {
		many = append(many, fmt.Sprintf("h%02d.example.com", i))
	}
	if got := foldItems(append(many, "a.org"), []string{"*.example.com", "*.org"}, hosts.Covers); !slices.Equal(got, []string{"*.example.com", "a.org"}) {
		t.Errorf("foldItems() of many = %v", got)
	}
	if got := foldItems(many[1:], []string{"*.example.com"}, hosts.Covers); !slices.Equal(got, many[1:]) {
		t.Errorf("foldItems() of a few = %v", got)
	}
	if got := foldItems(many, nil, hosts.Covers); !slices.Equal(got, many) {
		t.Errorf("foldItems() makes up %v", got)
	}
}

// TestFoldedPathsHoldAllAndNoMoreThanToday for any paths within the roots.
func TestFoldedPathsHoldAllAndNoMoreThanToday(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", ".env", "x.pem", "d"})
	rapid.Check(t, func(t *rapid.T) {
		roots := []string{"/w", "/v/a"}
		var paths []string
		for range rapid.IntRange(0, 60).Draw(t, "paths") {
			path := rapid.SampledFrom(roots).Draw(t, "root")
			for range rapid.IntRange(0, 4).Draw(t, "depth") {
				path = filepath.Join(path, name.Draw(t, "name"))
			}
			paths = append(paths, path)
		}
		folded := foldPaths(paths, roots)
		within := func(list []string, path string) bool {
			return slices.ContainsFunc(list, func(have string) bool { return reach.Within(have, path) })
		}
		for _, path := range paths {
			if !within(folded, path) {
				t.Fatalf("%s is lost from %v", path, folded)
			}
		}
		for _, path := range folded {
			if !within(roots, path) {
				t.Fatalf("%s is above %v", path, roots)
			}
		}
	})
}
