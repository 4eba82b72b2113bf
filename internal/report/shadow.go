package report

import (
	"time"

	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/internal/shadow"
	"github.com/sallyport/sallyport/internal/text"
)

// PrintShadow prints what was counted of a second configuration. inForce is the
// fingerprint of the configuration in force now.
func PrintShadow(p *Printer, r *shadow.Report, inForce string) error {
	if p.JSON {
		return p.PrintJSON(r)
	}
	beside := "the configuration in force"
	if r.InForce != inForce {
		beside = "an earlier configuration"
	}
	p.PrintLine("%s (%s) beside %s (%s)", EscapeControls(r.File), shortDigest(r.Shadow), beside, shortDigest(r.InForce))
	p.PrintLine("since %s", r.Since.Local().Format(time.DateTime))
	for i := range r.Groups {
		printGroup(p, &r.Groups[i])
	}
	if r.Others > 0 {
		p.PrintLine("and %s of other kinds: the record has them", text.CountOf(r.Others, "flip"))
	}
	p.PrintLine("%s judged: %d the same, %d flipped; %d not replayable, %d not judged", text.CountOf(r.Judged(), "call"), r.Same, r.Flips, r.NotReplayable, r.NotJudged)
	p.PrintLine(leftOut)
	return nil
}

// shortDigest returns the digits of a digest by which people tell it from others.
func shortDigest(digest string) string { return digest[:min(len(digest), 16)] }

func printGroup(p *Printer, g *shadow.Group) {
	was, is := string(g.Was.Outcome), string(g.Is.Outcome)
	if was == is {
		was, is = verdictCode(&g.Was), verdictCode(&g.Is)
	}
	p.PrintLine("%s -> %s  %s of %s, the last %s at %s", was, p.ColourBad(is), text.CountOf(g.Calls, "call"), EscapeControls(g.Tool),
		g.CallID, g.Last.Local().Format(time.DateTime))
	printVerdict(p, "was", &g.Was)
	printVerdict(p, "now", &g.Is)
}

func verdictCode(v *replay.Verdict) string { return string(v.Outcome) + " (" + string(v.Code) + ")" }
