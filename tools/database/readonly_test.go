package database_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/mysql"
	"github.com/sallyport/sallyport/tools/database/postgres"
)

// TestC19_ReadModeSaysWhyItRefuses runs statements that are no queries, and a
// query that the grammar does not have, on connections that only read.
func TestC19_ReadModeSaysWhyItRefuses(t *testing.T) {
	const why = "a connection that only reads takes queries (SELECT) and nothing else"
	refuses := func(t *testing.T, b *database.Backend) {
		t.Helper()
		for q, want := range map[string]string{
			"DROP TABLE items": why,
			"-- a note\n /* and another */ DROP TABLE items": why,
			"GRANT SELECT ON items TO public":                why,
			"SELECT FROM WHERE":                              "syntax",
			"(SELECT FROM WHERE)":                            "syntax",
		} {
			_, err := query(t, b, sallyport.ModeRead, q)
			if err == nil || !strings.Contains(err.Error(), want) || want == why && strings.Contains(err.Error(), "syntax") {
				t.Errorf("Query(%q) = %v, want %q", q, err, want)
			}
		}
	}
	t.Run("postgres", func(t *testing.T) {
		refuses(t, open(t, database.Connection{Driver: postgres.Driver(), URL: fixed(newPostgres(t).readURL)}, nil))
	})
	t.Run("mysql", func(t *testing.T) {
		m := newMaria(t)
		refuses(t, open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))}, nil))
	})
}
