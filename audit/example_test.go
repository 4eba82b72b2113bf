package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store/memory"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	key, err := audit.LoadKey(filepath.Join(dir, "audit.key"))
	if err != nil {
		log.Fatal(err)
	}
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	l, err := audit.New(store, key, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()

	for _, e := range []*audit.Event{
		{Kind: audit.KindIntent, CallID: "c1", Tool: "read_file", Principal: "local"},
		{Kind: audit.KindOutcome, CallID: "c1", Tool: "read_file", Principal: "local", OK: true},
		{Kind: audit.KindIntent, CallID: "c2", Tool: "write_file", Principal: "local"},
	} {
		if err := l.Record(ctx, e); err != nil {
			log.Fatal(err)
		}
	}

	// Keep the head elsewhere: it proves that nothing was cut off.
	head, err := audit.Newest(ctx, store)
	if err != nil {
		log.Fatal(err)
	}
	var export bytes.Buffer
	if err := audit.Export(ctx, store, &export, audit.Query{}); err != nil {
		log.Fatal(err)
	}
	report, err := audit.Verify(ctx, audit.ReadExport(&export), key, &audit.VerifyOptions{Head: &head})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.OK(), report.Records, report.TailProven, report.Unknown)
	// Output: true 3 true [c2]
}
