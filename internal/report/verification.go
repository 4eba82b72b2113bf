package report

import "github.com/sallyport/sallyport/audit"

// PrintVerification prints what a verification of the record found.
func PrintVerification(p *Printer, r *audit.Report) error {
	if !p.JSON {
		p.PrintLine("%s", r)
		return nil
	}
	return p.PrintJSON(struct {
		OK   bool   `json:"ok"`
		Head string `json:"head"`
		*audit.Report
	}{r.OK(), r.Head.String(), r})
}
