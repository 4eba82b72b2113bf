package database_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/mysql"
)

func TestMySQLReads(t *testing.T) {
	m := newMaria(t)
	var d dialled
	b := open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))}, &database.Options{Dial: d.dial})
	got, err := query(t, b, "", "SELECT id, name, price FROM items WHERE id < ? AND name <> ? ORDER BY id", int64(3), "pear")
	if err != nil {
		t.Fatal(err)
	}
	want := sallyport.Table{Columns: []string{"id", "name", "price"}, Rows: [][]any{{int64(1), "apple", "1.10"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Query() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{m.host}, d.addrs); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
}
