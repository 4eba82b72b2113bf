package command

import (
	"fmt"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/report"
)

// describeRecord describes what a principal holds. The text holds nothing of
// its token.
func describeRecord(r *auth.Record) string {
	return fmt.Sprintf("permissions %q, personalities %q, expires %s", r.Permissions, r.Personalities, report.FormatExpiry(r.Expires))
}
