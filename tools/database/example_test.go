package database_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/sqlite"
)

// A program names its connections, each with the driver of its kind. It depends
// on the modules of these drivers only.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "database")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.db")
	if err := makeShop(path); err != nil {
		log.Fatal(err)
	}

	b, err := database.Open(map[string]database.Connection{"shop": {Driver: sqlite.Driver(), Path: path}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	table, err := b.Query(context.Background(), "shop", sallyport.ModeRead, "SELECT name FROM items WHERE price < ?", []any{2})
	fmt.Println(table.Columns, table.Rows, err)
	_, err = b.Query(context.Background(), "shop", sallyport.ModeRead, "DELETE FROM items", nil)
	fmt.Println(err)
	// Output:
	// [name] [[apple]] <nil>
	// the query on shop failed: authorization denied: not authorized
}

// makeShop makes the file of the example.
func makeShop(path string) error {
	c, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Exec("CREATE TABLE items (name TEXT, price REAL); INSERT INTO items VALUES ('apple', 1.1), ('pear', 2.2)")
}
