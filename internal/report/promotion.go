package report

import (
	"fmt"
	"io"

	"github.com/sallyport/sallyport/internal/app/granting"
	"github.com/sallyport/sallyport/internal/text"
)

// PrintPromotion prints what a promotion changes, and what was counted of its text; warnings
// go to a writer of their own. inForce is the fingerprint of the configuration in force.
func PrintPromotion(p *Printer, warnings io.Writer, next *granting.Promotion, inForce string) error {
	for _, w := range next.Warnings {
		fmt.Fprintf(warnings, "sallyport: warning: %s\n", EscapeControls(w))
	}
	if p.JSON {
		return p.PrintJSON(next)
	}
	p.PrintLine("%s", next.Difference)
	for i := range next.Judged {
		if err := PrintShadow(p, &next.Judged[i], inForce); err != nil {
			return err
		}
	}
	if len(next.Judged) == 0 {
		p.PrintLine("no server has judged it as it is: sallyport serve --shadow %s", text.ShellWord(next.File))
	}
	p.PrintLine("digest %s", next.Expect)
	return nil
}
