package database_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
)

// TestTargetNamesServerAndAccount and nothing of the password.
func TestTargetNamesServerAndAccount(t *testing.T) {
	file := newSQLite(t)
	b, err := database.Open(map[string]database.Connection{
		"pg":     {Driver: "postgres", URL: fixed("postgres://ann:hunter2-Zq9@db.example:6543/shop")},
		"maria":  {Driver: "mysql", URL: fixed("mysql://ann:hunter2-Zq9@db.example/shop")},
		"file":   {Driver: "sqlite", Path: file},
		"absent": {Driver: "sqlite", Path: file + "-none"},
		"broken": {Driver: "postgres", URL: fixed("hunter2-Zq9")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	for name, want := range map[string]string{
		"pg": "postgres db.example:6543/shop as ann", "maria": "mysql db.example:3306/shop as ann", "file": "sqlite " + file,
	} {
		if got, err := b.Target(t.Context(), name); got != want || err != nil {
			t.Errorf("Target(%s) = %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"absent", "broken"} {
		if got, err := b.Target(t.Context(), name); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Target(%s) = %q, %v, want an error without the address", name, got, err)
		}
	}
	if _, err := b.Target(t.Context(), "other"); !errors.Is(err, sallyport.ErrNotAvailable) {
		t.Errorf("Target(other) = %v, want not_available", err)
	}
}
