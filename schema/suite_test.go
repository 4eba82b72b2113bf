package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// refused says why a schema of the suite is not compiled, by a word of the
// fault that Compile reports.
var refused = []struct{ word, why string }{
	{"references outside the schema are not followed", "remote references are never followed"},
	{"dynamic references", "the target of a dynamic reference must not depend on the path"},
	{"refers to itself without an end", "no value satisfies it"},
}

// The suite uses case-distinct and repeated-looking names freely; only
// Arguments cares for those, and the suite is run through Validate.
func TestOfficialSuite(t *testing.T) {
	for name, groups := range readSuite(t) {
		t.Run(name, func(t *testing.T) {
			for _, g := range groups {
				t.Run(g.Description, func(t *testing.T) { runSuiteGroup(t, g) })
			}
		})
	}
}

// readSuite returns the groups of each file of the suite.
func readSuite(t *testing.T) map[string][]suiteGroup {
	t.Helper()
	files, err := filepath.Glob("testdata/suite/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("Glob(testdata/suite) = %d files, %v", len(files), err)
	}
	suite := map[string][]suiteGroup{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []suiteGroup
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatal(err)
		}
		suite[strings.TrimSuffix(filepath.Base(file), ".json")] = groups
	}
	return suite
}

func runSuiteGroup(t *testing.T, g suiteGroup) {
	s, err := CompileAny(g.Schema)
	if err != nil {
		for _, r := range refused {
			if strings.Contains(err.Error(), r.word) {
				t.Skip(r.why)
			}
		}
		t.Fatalf("CompileAny(%s) = %v", g.Schema, err)
	}
	for _, c := range g.Tests {
		v, err := Decode(c.Data, nil)
		if err != nil {
			t.Errorf("Decode(%s) = %v", c.Data, err)
			continue
		}
		if got := s.Validate(v); (got == nil) != c.Valid {
			t.Errorf("%s: Validate(%s) = %v, want valid %v", c.Description, c.Data, got, c.Valid)
		}
		var scan jsonDecoder
		if scan.checkText(string(c.Data), s.compileForm().rule); !scan.unsure && !scan.absent && !c.Valid {
			t.Errorf("%s: the rule is sure of %s", c.Description, c.Data)
		}
	}
}
