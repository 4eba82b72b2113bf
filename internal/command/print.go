package command

import "github.com/sallyport/sallyport/internal/report"

func (e *environment) newPrinter(f *flags) *report.Printer {
	return &report.Printer{W: e.stdout, JSON: f.json, Colour: e.colour && !f.json}
}
