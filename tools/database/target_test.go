package database_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/mysql"
	"github.com/sallyport/sallyport/tools/database/postgres"
	"github.com/sallyport/sallyport/tools/database/sqlite"
)

// TestTargetNamesServerAndAccount and nothing of the password.
func TestTargetNamesServerAndAccount(t *testing.T) {
	t.Parallel()
	file := newSQLite(t)
	b, err := database.Open(map[string]database.Connection{
		"pg":     {Driver: postgres.Driver(), URL: fixed("postgres://ann:hunter2-Zq9@db.example:6543/shop")},
		"maria":  {Driver: mysql.Driver(), URL: fixed("mysql://ann:hunter2-Zq9@db.example/shop")},
		"file":   {Driver: sqlite.Driver(), Path: file},
		"absent": {Driver: sqlite.Driver(), Path: file + "-none"},
		"broken": {Driver: postgres.Driver(), URL: fixed("hunter2-Zq9")},
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

// TestB6_TargetNamesAllThatAStatementMeets: further hosts, and the schemas in which
// names are looked for.
func TestB6_TargetNamesAllThatAStatementMeets(t *testing.T) {
	t.Parallel()
	const address = "postgres://ann:hunter2-Zq9@db.example"
	for url, want := range map[string]string{
		address + ",other.example:99/shop":    "postgres db.example:5432,other.example:99/shop as ann",
		address + "/shop?search_path=other":   `postgres db.example:5432/shop as ann with search_path "other"`,
		address + "/shop?sslmode=prefer":      "postgres db.example:5432/shop as ann",
		address + "/shop?application_name=it": "postgres db.example:5432/shop as ann",
	} {
		b, err := database.Open(map[string]database.Connection{"pg": {Driver: postgres.Driver(), URL: fixed(url)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Target(t.Context(), "pg"); got != want || err != nil {
			t.Errorf("Target of %s = %q, %v, want %q", url, got, err, want)
		}
		_ = b.Close()
	}
}
