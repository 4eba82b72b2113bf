package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/suggest"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/internal/yamledit"
)

// AlwaysText is what people allowed for always, as a configuration would say it.
type AlwaysText struct {
	// About says what it is, with the ids of the held calls.
	About string `json:"about"`
	// YAML is what the configuration would hold; empty where it cannot say it.
	YAML string `json:"yaml,omitempty"`
}

// addAlways adds what people allowed for always that is of the role, and what was refused.
func (s *suggester) addAlways(ctx context.Context) error {
	for _, tool := range slices.Sorted(maps.Keys(s.refused)) {
		s.out.LeftOut = append(s.out.LeftOut, suggest.Remark{
			Part: text.Clip(text.PrintableLine(tool), 200),
			Why:  text.CountOf(s.refused[tool], "call") + " that were allowed are refused by the role today, and stay so",
		})
	}
	growth := known.NewGrowth(s.rt.trusted, nil)
	for _, set := range slices.Sorted(maps.Keys(s.rt.InForce().Config.Known)) {
		members, err := growth.Members(ctx, set)
		if err != nil {
			return fmt.Errorf("known.%s: %w", set, err)
		}
		if len(members) > 0 && slices.ContainsFunc(s.rt.usesOf(set), func(key string) bool { return strings.HasPrefix(key, "personalities."+s.out.Role+".") }) {
			s.addGrown(set, members)
		}
	}
	rules := approvals.NewRules(s.rt.trusted, s.rt.Approvals, nil)
	list, err := rules.Exceptions(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		if e := &list[i]; e.Personality == s.out.Role {
			s.addException(e)
		}
	}
	return nil
}

// addGrown adds the members by which a set grew.
func (s *suggester) addGrown(set string, members []known.Member) {
	about := fmt.Sprintf("known.%s grew by %s", set, text.CountOf(len(members), "member"))
	var values []string
	for i := range members {
		if m := &members[i]; m.Kind == s.rt.InForce().Config.Known[set].Kind && yamldoc.CheckText(m.Value) == "" {
			values = append(values, m.Value)
		}
	}
	if len(values) < len(members) {
		about += "; some of them cannot stand in a file"
	}
	s.addAlwaysText(about, suggest.GrowSet(s.text, set, values))
}

// addException adds an exception, where the ceiling of the role can say it.
func (s *suggester) addException(e *approvals.Exception) {
	about := fmt.Sprintf("exception %s for %s", e.ID, e.Tool)
	loosened, ok := suggest.LoosenCeiling(s.role.Text, e.Tool, json.RawMessage(e.Args))
	if !ok {
		s.addAlwaysText(about+" is no ceiling: it was held for something else than the bounds of single arguments; it stays an exception", nil)
		return
	}
	s.addAlwaysText(about+", which as a ceiling holds for every call with the value", suggest.Below(loosened, "personalities", s.out.Role, "arguments", e.Tool))
}

func (s *suggester) addAlwaysText(about string, n *yamldoc.Value) {
	a := AlwaysText{About: text.Clip(text.PrintableLine(about), 400)}
	if n != nil {
		var err error
		if a.YAML, err = yamledit.Write(n); err != nil {
			a.About += "; it " + err.Error()
		}
	}
	s.out.Always = append(s.out.Always, a)
}
