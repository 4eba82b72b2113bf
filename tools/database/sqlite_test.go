package database_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/sqlite"
)

func TestSQLiteReads(t *testing.T) {
	t.Parallel()
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: newSQLite(t)}, nil)
	got, err := query(t, b, "", "SELECT id, name, price FROM items WHERE id < ? AND name <> ? ORDER BY id; -- done", int64(3), "pear")
	if err != nil {
		t.Fatal(err)
	}
	want := sallyport.Table{Columns: []string{"id", "name", "price"}, Rows: [][]any{{int64(1), "apple", 1.1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Query() (-want +got):\n%s", diff)
	}
}
