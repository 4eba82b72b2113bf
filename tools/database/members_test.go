package database_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/tools/database"
)

// TestMembersOfSetsComeFromEveryDatabase, over the account of a connection, in a session
// that only reads, and within the bounds of a set.
func TestMembersOfSetsComeFromEveryDatabase(t *testing.T) {
	t.Parallel()
	for _, s := range servers(t) {
		for _, c := range []struct{ name, query, want string }{
			{"texts", "SELECT name FROM items ORDER BY id", "apple,pear,plum"},
			{"numbers", "SELECT id FROM items ORDER BY id", "1,2,3"},
			{"none", "SELECT name FROM items WHERE id > 9", ""},
			{"a write", "DELETE FROM items", "error: the query on db failed: "},
			{"a table that is not there", "SELECT iban FROM payees", "error: the query on db failed: "},
			{"two columns", "SELECT id, name FROM items", "error: it gives 2 columns: select one"},
			{"null", "SELECT NULLIF(name, 'pear') FROM items ORDER BY id", "error: row 2 is null: leave such rows out"},
			{"too many", strings.Replace(strings.Replace(s.many, "SELECT g,", "SELECT", 1), "SELECT seq,", "SELECT", 1), "error: it gives more than 10000 members or 4194304 bytes"},
		} {
			t.Run(s.name+"/"+c.name, func(t *testing.T) {
				if s.name == "sqlite" && c.name == "too many" {
					c.query = strings.Replace(c.query, "SELECT i, printf", "SELECT printf", 1)
				}
				b := open(t, s.read, &database.Options{MaxRows: known.MaxQueried, MaxBytes: known.MaxQueriedBytes})
				got := ""
				if table, err := query(t, b, sallyport.ModeRead, c.query); err != nil {
					got = "error: " + err.Error()
				} else if list, err := known.Members(table); err != nil {
					got = "error: " + err.Error()
				} else {
					got = strings.Join(list, ",")
				}
				if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" || strings.Contains(got, password) {
					t.Errorf("%s gives %.200q, want %q", c.query, got, c.want)
				}
				if n := s.word("SELECT count(*) FROM " + s.items); n != "3" {
					t.Errorf("%s items are left, want 3", n)
				}
			})
		}
	}
}
