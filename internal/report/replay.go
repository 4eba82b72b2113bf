package report

import (
	"fmt"
	"time"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/internal/text"
)

// replayedArgs bounds the arguments that are shown of a call, in characters.
const replayedArgs = 300

// PrintReplayed prints a call whose verdict flips, or that cannot be decided again.
func PrintReplayed(p *Printer, c *app.ReplayedCall) error {
	if p.JSON {
		return p.PrintJSON(c)
	}
	who := EscapeControls(fmt.Sprintf("%s  %s  %s by %s/%s", c.Time.Local().Format(time.DateTime), c.CallID, c.Tool, c.Principal, c.Personality))
	if c.Unknown != "" {
		p.PrintLine("not replayable  %s: %s", who, EscapeControls(c.Unknown))
		return nil
	}
	p.PrintLine("%s -> %s  %s", c.Was.Outcome, p.ColourBad(string(c.Is.Outcome)), who)
	p.PrintLine("    %s", EscapeControls(text.Clip(c.Args, replayedArgs)))
	printVerdict(p, "was", c.Was)
	printVerdict(p, "now", c.Is)
	return nil
}

// printVerdict prints the reason of a verdict, with the place of its rule.
func printVerdict(p *Printer, when string, v *replay.Verdict) {
	line := string(v.Outcome)
	if v.Why != "" {
		line += ": " + v.Why
	}
	if v.Source != "" {
		line += " (" + v.Source + ")"
	}
	p.PrintLine("    %s %s", when, EscapeControls(line))
}

// leftOut is what stands below the verdicts on past calls: to find none that flips says
// nothing of it.
const leftOut = "which paths, hosts and secrets a call may touch is not judged"

// PrintReplaySummary prints what a replay found.
func PrintReplaySummary(p *Printer, s app.ReplaySummary) error {
	if p.JSON {
		return p.PrintJSON(s)
	}
	p.PrintLine("%s: %d the same, %d flipped, %d not replayable", text.CountOf(s.Calls, "call"), s.Same, s.Flips, s.Unknown)
	p.PrintLine(leftOut)
	return nil
}
