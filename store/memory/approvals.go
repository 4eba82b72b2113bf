package memory

import (
	"time"

	"github.com/sallyport/sallyport/internal/approvals"
)

// Approvals keeps held calls in the memory of the process. It implements
// sallyport.ApprovalStore and is safe for concurrent use.
type Approvals = approvals.Queue

// NewApprovals returns an empty store. The clock may be nil, which means
// time.Now.
func NewApprovals(now func() time.Time) *Approvals { return approvals.New(now) }

// Approvals returns the held calls of this store. They stay usable after
// [Store.Close].
func (s *Store) Approvals() *Approvals { return s.approvals }
