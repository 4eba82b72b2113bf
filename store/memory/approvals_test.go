package memory_test

import (
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/storetest"
)

func TestApprovals(t *testing.T) {
	storetest.RunApprovals(t, func(_ testing.TB, now func() time.Time) sallyport.ApprovalStore {
		return memory.NewApprovals(now)
	})
}
