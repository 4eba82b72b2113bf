package page

import (
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
)

// recentRecords is the newest records, read once.
type recentRecords struct {
	mu sync.Mutex
}

// outcomeOf returns one word for a record.
func outcomeOf(e *audit.Event) string {
	switch {
	case e.Kind == audit.KindIntent:
		return "running"
	case e.Kind == audit.KindChange && e.Error != "":
		return "not done"
	case e.Kind == audit.KindChange:
		return "change"
	case e.DryRun:
		return "dry run"
	case e.OK && e.Cached:
		return "cached"
	case e.OK:
		return "ok"
	case e.Denied() && e.Code == sallyport.CodeApprovalRequired:
		return "held"
	case e.Denied():
		return "denied"
	default:
		return "failed"
	}
}
