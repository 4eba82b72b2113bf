package database_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/postgres"
)

func TestPostgresReads(t *testing.T) {
	p := newPostgres(t)
	var d dialled
	b := open(t, database.Connection{Driver: postgres.Driver(), URL: fixed(p.readURL)}, &database.Options{Dial: d.dial})
	got, err := query(t, b, "", "SELECT id, name, price FROM items WHERE id < $1 AND name <> $2 ORDER BY id;", int64(3), "pear")
	if err != nil {
		t.Fatal(err)
	}
	want := sallyport.Table{Columns: []string{"id", "name", "price"}, Rows: [][]any{{int64(1), "apple", "1.10"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Query() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{p.host}, d.addrs); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
}
