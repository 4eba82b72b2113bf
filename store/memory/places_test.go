package memory_test

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/storetest"
)

func TestWritePlaces(t *testing.T) {
	storetest.RunPlaces(t, func(t testing.TB) sallyport.PlaceLedger {
		s, err := memory.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
