package lock_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/sallyport/sallyport/internal/lock"
)

// largeOffer is a server with as many tools as a large one has.
func largeOffer() *lock.Offer {
	o := offer()
	for i := range 200 {
		o.Tools = append(o.Tools, json.RawMessage(fmt.Sprintf(`{"name":"tool%d","description":"Does a thing, and then another.","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}}}}`, i)))
	}
	return o
}

func BenchmarkCheckTool(b *testing.B) {
	f, o := mustPin(b, largeOffer()), largeOffer()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if ok, why := f.CheckDefinition("files", lock.KindTool, o.Tools[i%len(o.Tools)]); !ok {
			b.Fatal(why)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	o := largeOffer()
	for b.Loop() {
		mustPin(b, o)
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte(bytesOf(b, mustPin(b, largeOffer())))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := lock.Parse("f", text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	f, g := mustPin(b, largeOffer()), mustPin(b, largeOffer())
	for b.Loop() {
		if list := lock.Diff(f, g, "terminal"); len(list) > 0 {
			b.Fatal(list)
		}
	}
}
