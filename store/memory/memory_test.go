package memory_test

import (
	"testing"

	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t testing.TB, o storetest.Options) store.State {
		s, err := memory.New(&memory.Options{Limits: o.Limits, Now: o.Now})
		if err != nil {
			t.Fatalf("New = %v", err)
		}
		return s
	})
}

func TestNewRefusesBadLimits(t *testing.T) {
	for _, l := range []store.Limits{{KeyBytes: -1}, {ValueBytes: 1 << 30}, {Reads: -1}, {ReadAge: -1}, {LimitKeys: -1}} {
		if _, err := memory.New(&memory.Options{Limits: l}); err == nil {
			t.Errorf("New(%+v) = no error, want one", l)
		}
	}
}
