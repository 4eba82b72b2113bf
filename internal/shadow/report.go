package shadow

import (
	"cmp"
	"slices"
	"time"

	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/internal/text"
)

// Bounds of a report. It is a summary: the record has every flip.
const (
	// maxGroups bounds the groups of flips. Each names a tool, and a caller may
	// call by any name.
	maxGroups = 64
	// maxWhy bounds a reason, in bytes.
	maxWhy = 400
	// maxTool bounds the name of a tool, in bytes.
	maxTool = 200
)

// Report counts what a configuration said of the calls that another one decided. It is
// plain data.
type Report struct {
	// Shadow is the fingerprint of the configuration, InForce that of the one that
	// decided the calls, as config.Config.Digest.
	Shadow string `json:"shadow"`
	// InForce is the fingerprint of the configuration that decided.
	InForce string `json:"in_force"`
	// File is where the file of the shadow was when it was judged last.
	File string `json:"file"`
	// Since is when a server began to judge the one beside the other, Updated when one
	// last counted something.
	Since time.Time `json:"since"`
	// Updated is when a server last counted something.
	Updated time.Time `json:"updated"`
	// Last is when the last call ended that was judged.
	Last time.Time `json:"last,omitzero"`
	// Same is the number of calls with the same verdict, Flips that of those with
	// another one: allowed, held or refused, or another code of the reason.
	Same int `json:"same"`
	// Flips is the number of calls with another verdict.
	Flips int `json:"flips"`
	// NotReplayable is the number of calls that cannot be decided again from their
	// record.
	NotReplayable int `json:"not_replayable"`
	// NotJudged is the number of calls that the server left out: too many came at
	// once, or it ended.
	NotJudged int `json:"not_judged"`
	// Groups are the flips by tool and kind, those with most calls first.
	Groups []Group `json:"groups"`
	// Others is the number of flips in further groups.
	Others int `json:"others,omitempty"`
}

// Group is the flips of one kind of a tool: the same decisions, for reasons of the same
// code and the same place in the configurations.
type Group struct {
	// Tool is the ID of the tool that was called.
	Tool string `json:"tool"`
	// Calls is the number of calls.
	Calls int `json:"calls"`
	// First and Last are when the first and the last of them ended.
	First time.Time `json:"first"`
	// Last is when the last of them ended.
	Last time.Time `json:"last"`
	// CallID is the id of the last of them, whose reasons Was and Is have.
	CallID string `json:"call_id"`
	// Was is what the configuration in force decided.
	Was replay.Verdict `json:"was"`
	// Is is what the shadow decided.
	Is replay.Verdict `json:"is"`
}

// Judged returns the number of calls about which there are two verdicts.
func (r *Report) Judged() int { return r.Same + r.Flips }

// NoteSame counts a call with the same verdict that ended at a time.
func (r *Report) NoteSame(at time.Time) {
	r.Same++
	r.Last = latest(r.Last, at)
}

// NoteFlip counts a call with another verdict.
func (r *Report) NoteFlip(tool, callID string, at time.Time, was, is *replay.Verdict) {
	r.Flips++
	r.Last = latest(r.Last, at)
	r.addGroup(Group{
		Tool: text.ClipBytes(tool, maxTool), Calls: 1, First: at, Last: at, CallID: callID, Was: shortVerdict(was), Is: shortVerdict(is),
	})
}

func shortVerdict(v *replay.Verdict) replay.Verdict {
	short := *v
	short.Why, short.Source = text.ClipBytes(v.Why, maxWhy), text.ClipBytes(v.Source, maxWhy)
	return short
}

// addGroup adds flips to those of the same kind.
func (r *Report) addGroup(g Group) {
	i := slices.IndexFunc(r.Groups, func(have Group) bool { return have.kind() == g.kind() })
	switch {
	case i < 0 && len(r.Groups) >= maxGroups:
		r.Others += g.Calls
	case i < 0:
		r.Groups = append(r.Groups, g)
	default:
		have := &r.Groups[i]
		have.Calls += g.Calls
		if g.First.Before(have.First) {
			have.First = g.First
		}
		if !g.Last.Before(have.Last) {
			have.Last, have.CallID, have.Was, have.Is = g.Last, g.CallID, g.Was, g.Is
		}
	}
}

// kind is what the flips of a group have in common.
func (g *Group) kind() [7]string {
	return [...]string{
		g.Tool, string(g.Was.Outcome), string(g.Was.Code), g.Was.Source, string(g.Is.Outcome), string(g.Is.Code), g.Is.Source,
	}
}

// AddCounts adds the numbers of another report, without its groups.
func (r *Report) AddCounts(o *Report) {
	r.Same, r.Flips, r.NotReplayable, r.NotJudged = r.Same+o.Same, r.Flips+o.Flips, r.NotReplayable+o.NotReplayable, r.NotJudged+o.NotJudged
}

// merge adds what another report of the same configurations counted.
func (r *Report) merge(o *Report) {
	r.AddCounts(o)
	r.File = cmp.Or(o.File, r.File)
	r.Updated, r.Last = latest(r.Updated, o.Updated), latest(r.Last, o.Last)
	r.Others += o.Others
	for _, g := range o.Groups {
		r.addGroup(g)
	}
	slices.SortStableFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
