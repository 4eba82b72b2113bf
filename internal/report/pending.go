package report

import "github.com/sallyport/sallyport/internal/pending"

// PrintPending prints the changes that wait, a line for each file.
func PrintPending(p *Printer, list []pending.Batch) error {
	if p.JSON {
		return p.PrintJSON(list)
	}
	if len(list) == 0 {
		p.PrintLine("no change waits")
	}
	for i := range list {
		for _, file := range list[i].Files {
			p.PrintLine("%s  %s  %s  %q", list[i].ID, list[i].Time.Format("2006-01-02 15:04:05"), list[i].Binary, file.Path)
		}
	}
	return nil
}

// PrintPendingChange prints the difference that a change makes, and the command that
// applies it.
func PrintPendingChange(p *Printer, b *pending.Batch, difference string) error {
	if p.JSON {
		return p.PrintJSON(map[string]any{"id": b.ID, "difference": difference, "hash": b.Digest(), "files": b.Files})
	}
	p.PrintLine("%s", difference)
	p.PrintLine("apply it with: sallyport pending apply %s --expect %s", b.ID, b.Digest())
	return nil
}
