package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport/sallyport/store/sqlite"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	kv, err := db.KV(ctx, "tool:usage_counter")
	if err != nil {
		log.Fatal(err)
	}
	if err := kv.Set(ctx, "calls", "1", time.Hour); err != nil {
		log.Fatal(err)
	}
	fmt.Println(kv.Get(ctx, "calls"))
	// Output: 1 true <nil>
}
