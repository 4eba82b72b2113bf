package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store/storetest"
)

func TestWritePlaces(t *testing.T) {
	storetest.RunPlaces(t, func(t testing.TB) sallyport.PlaceLedger {
		return open(t, filepath.Join(t.TempDir(), "state.db"), nil)
	})
}
