package report

import "github.com/sallyport/sallyport/auth"

// PrintSwitch prints what an operator stopped or let run again.
func PrintSwitch(p *Printer, kind auth.SwitchKind, name string, stopped bool) error {
	what, word := string(kind)+" "+name, "started"
	if kind == auth.SwitchEverything {
		what = "everything"
	}
	if stopped {
		word = "stopped"
	}
	return p.PrintAnswer(map[string]any{"kind": kind, "name": name, "stopped": stopped}, "%s is %s", what, word)
}
