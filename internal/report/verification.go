package report

import (
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/anchor"
)

// PrintVerification prints what a verification of the record found, and what a comparison
// with anchors did; nil without one.
func PrintVerification(p *Printer, r *audit.Report, anchored *anchor.Result) error {
	if !p.JSON {
		p.PrintLine("%s", r)
		if r.OK() && !r.TailProven && anchored == nil {
			p.PrintLine("keep the head elsewhere; later this proves that nothing up to it is missing: sallyport audit verify --head %s", r.Head)
		}
		if anchored != nil {
			p.PrintLine("%s", anchored)
		}
		return nil
	}
	return p.PrintJSON(struct {
		OK   bool   `json:"ok"`
		Head string `json:"head"`
		*audit.Report
		Anchors *anchor.Result `json:"anchors,omitempty"`
	}{r.OK() && (anchored == nil || anchored.OK()), r.Head.String(), r, anchored})
}
