package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that does not serve is an error at once, with what it said.
func TestAProgramThatDoesNotServeIsAnError(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sallyport")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n[ \"$1\" = lock ] && exit\necho broken state >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := startGate(t.Context(), program, t.TempDir(), "office", officeWorld(t), plainRole("office"), 1)
	if err == nil || !strings.Contains(err.Error(), "broken state") {
		t.Errorf("startGate() = %v, want an error with what the program said", err)
	}
}

func TestAGateHasABoundOfPrincipals(t *testing.T) {
	if _, err := startGate(t.Context(), "no-program", t.TempDir(), "office", officeWorld(t), plainRole("office"), maxPrincipals+1); err == nil {
		t.Errorf("startGate with %d principals succeeds, want an error", maxPrincipals+1)
	}
}
