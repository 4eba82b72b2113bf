package memory_test

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/storetest"
)

func TestFacts(t *testing.T) {
	storetest.RunFacts(t, func(t testing.TB) sallyport.FactStore {
		s, err := memory.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Facts()
	})
}
