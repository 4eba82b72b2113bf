package main

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files of testdata that tests compare with")

// packOffice writes the made-up suite of testdata into a folder, in the form of the
// data. Edit changes the environment first.
func packOffice(t *testing.T, edit func(string) string) string {
	t.Helper()
	environment := readTestdata(t, "environment.yaml")
	if edit != nil {
		environment = edit(environment)
	}
	var suite map[string]any
	if err := json.Unmarshal([]byte(readTestdata(t, "tasks.json")), &suite); err != nil {
		t.Fatal(err)
	}
	suite["tools"], suite["environment"] = json.RawMessage(readTestdata(t, "tools.json")), environment
	suites, err := json.Marshal(map[string]any{"office": suite})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writePacked(t, filepath.Join(dir, suitesName), string(suites))
	writePacked(t, filepath.Join(dir, runsName), readTestdata(t, "runs.jsonl"))
	effects := `{"office": ` + readTestdata(t, "effects.json") + `}`
	if err := os.WriteFile(filepath.Join(dir, effectsName), []byte(effects), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readTestdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "office", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writePacked(t *testing.T, path, text string) {
	t.Helper()
	var b strings.Builder
	packed := gzip.NewWriter(&b)
	if _, err := packed.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// officeWorld returns the made-up suite.
func officeWorld(t *testing.T) suiteWorld {
	t.Helper()
	worlds, err := readWorlds(packOffice(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	return worlds["office"]
}
