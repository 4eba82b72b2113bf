package house_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestVectorsThatAreNotRun lists the cases of behaviour.json that no package
// has in its testdata, each with the line of the contract that exempts it. A
// case that a package adopts must be removed from the list.
func TestVectorsThatAreNotRun(t *testing.T) {
	type area struct {
		Area, Why string
		Names     []string
	}
	text, err := os.ReadFile("testdata/not_run.json")
	if err != nil {
		t.Fatal(err)
	}
	var areas []area
	if err := json.Unmarshal(text, &areas); err != nil {
		t.Fatal(err)
	}
	run := vectorsOfPackages(t)
	for _, a := range areas {
		for _, name := range a.Names {
			t.Run(a.Area+"/"+name, func(t *testing.T) {
				if path := run[a.Area+"/"+name]; path != "" {
					t.Fatalf("%s has the case: take it off testdata/not_run.json", path)
				}
				if a.Why == "" {
					t.Fatal("the case has no reason")
				}
				t.Skip(a.Why)
			})
		}
	}
}

// vectorsOfPackages maps the area and name of each case in the testdata of a
// package to its file.
func vectorsOfPackages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" || d.Name() == "not_run.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var cases []struct{ Area, Name string }
		if json.Unmarshal(text, &cases) == nil {
			for _, c := range cases {
				found[c.Area+"/"+c.Name] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 250 {
		t.Errorf("the packages have %d cases, which cannot be all", len(found))
	}
	return found
}
