package memory

import (
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

// NewApprovals returns an empty store of held calls in the memory of the
// process. The clock may be nil, which means time.Now. The store is safe for
// concurrent use.
func NewApprovals(now func() time.Time) sallyport.ApprovalStore { return approvals.New(now) }

// Approvals returns the held calls of this store. They stay usable after
// [Store.Close].
func (s *Store) Approvals() sallyport.ApprovalStore { return s.approvals }
