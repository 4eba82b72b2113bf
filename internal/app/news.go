package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// newsRecords bounds the records that are read to say what is new about a call.
	newsRecords = 1000
	// maxNews bounds what is said, in lines: a person reads no more.
	maxNews = 8
	// newsValue bounds a value that is compared, in bytes: a longer one is a text that
	// is hardly ever written twice.
	newsValue = 256
)

// FindNews says what is new about a held call, by the record: that no call of the tool by
// the principal, or in the role, was let run, and which values none of those had. It
// looks at the newest records alone, and says nothing where they do not tell.
func (rt *Runtime) FindNews(ctx context.Context, a *sallyport.Approval) ([]string, error) {
	p := pastCalls{seen: map[string]map[string]bool{}}
	read := 0
	for e, err := range audit.Events(ctx, rt.State, audit.Query{Tool: a.Tool, Principal: a.Principal, Last: newsRecords}) {
		if err != nil {
			return nil, err
		}
		read++
		if wasLetRun(&e) && e.CallID != a.CallID {
			p.add(&e, a.Personality)
		}
	}
	switch who := a.Tool + " by " + a.Principal; {
	case p.ran == 0 && read < newsRecords:
		return []string{"the record has no earlier call of " + who + " that ran"}, nil
	case p.ran == 0:
		return nil, nil
	default:
		var news []string
		if p.inRole == 0 && read < newsRecords && a.Personality != "" {
			news = append(news, "the record has no earlier call of "+who+" in the role "+a.Personality+" that ran")
		}
		return append(news, p.compare(a, rt.destinationsOf(a.Personality, a.Tool))...), nil
	}
}

// wasLetRun reports whether a record is of a call that nothing refused.
func wasLetRun(e *audit.Event) bool {
	return !e.DryRun && (e.Kind == audit.KindIntent || e.Kind == audit.KindOutcome && (e.OK || e.Stage == ""))
}

// pastCalls are the calls of a tool that were let run.
type pastCalls struct {
	ran, inRole int
	seen        map[string]map[string]bool // values by their places
	calls       map[string]bool
	unknown     bool // the arguments of one are not recorded whole
}

func (p *pastCalls) add(e *audit.Event, role string) {
	if p.calls == nil {
		p.calls = map[string]bool{}
	}
	if p.calls[e.CallID] {
		return
	}
	p.calls[e.CallID] = true
	p.ran++
	if string(e.Personality) == role {
		p.inRole++
	}
	values, ok := splitArguments(string(e.Args))
	p.unknown = p.unknown || !ok
	for place, list := range values {
		if p.seen[place] == nil {
			p.seen[place] = map[string]bool{}
		}
		for _, v := range list {
			p.seen[place][v] = true
		}
	}
}

// compare says which values of a held call none of the calls had.
func (p *pastCalls) compare(a *sallyport.Approval, destinations []string) (news []string) {
	values, ok := splitArguments(a.Args)
	if p.unknown || !ok || a.Hidden > 0 {
		return nil
	}
	for _, place := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[place] {
			if p.seen[place][v] || len(v) > newsValue || strings.Contains(v, `\n`) {
				continue
			}
			what := "argument"
			if slices.ContainsFunc(destinations, func(d string) bool { return place == d || strings.HasPrefix(place, d+"/") }) {
				what = "destination"
			}
			news = append(news, fmt.Sprintf("%s %s: none of the last %s that ran had %s", what, place, text.CountOf(p.ran, "call"), text.PrintableLine(v)))
		}
	}
	if over := len(news) - maxNews; over > 0 {
		news = append(news[:maxNews:maxNews], fmt.Sprintf("and %d values more", over))
	}
	return news
}

// splitArguments returns the single values in arguments by their places, such as "/to" or
// "/items/*/id"; ok is false when the text is not whole.
func splitArguments(args string) (values map[string][]string, ok bool) {
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	values = map[string][]string{}
	splitValue(values, "", v)
	return values, true
}

func splitValue(values map[string][]string, place string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			splitValue(values, place+"/"+name, item)
		}
	case []any:
		for _, item := range v {
			splitValue(values, place+"/*", item)
		}
	case nil:
	default:
		// What was decoded from JSON can be encoded.
		one, _ := json.Marshal(v)
		if s := string(one); !slices.Contains(values[place], s) {
			values[place] = append(values[place], s)
		}
	}
}

// destinationsOf returns the places of arguments that name where something goes, as the
// role says of the tool, or else the action, the declaration of its server or the program.
func (rt *Runtime) destinationsOf(role, tool string) (places []string) {
	for path := range rt.findDestinations(role, tool) {
		places = append(places, "/"+strings.ReplaceAll(path, ".", "/"))
	}
	return places
}

func (rt *Runtime) findDestinations(role, tool string) map[string]sallyport.ValueKind {
	if p, ok := rt.InForce().Config.Personality(role); ok && p.Destinations[tool] != nil {
		return p.Destinations[tool]
	}
	// Those who answer need neither the server nor the gate.
	for i := range rt.InForce().Config.Actions {
		var declared definition.ToolEffects
		if part := &rt.InForce().Config.Actions[i]; part.ID == tool && json.Unmarshal(part.JSON, &declared) == nil {
			return declared.Destinations
		}
	}
	server := ServerOf(tool)
	if server == "" {
		builtin, _ := allBuiltinTools() // what cannot be told is left out
		if i := slices.IndexFunc(builtin, func(t sallyport.Tool) bool { return t.Name == tool }); i >= 0 {
			return builtin[i].Destinations
		}
	}
	for i := range rt.InForce().Config.Servers {
		if rt.InForce().Config.Servers[i].ID != server {
			continue
		}
		var declared struct {
			Effects map[string]definition.ToolEffects `json:"effects"`
		}
		if json.Unmarshal(rt.InForce().Config.Servers[i].JSON, &declared) != nil {
			return nil
		}
		for name, e := range declared.Effects {
			if named, err := lock.MapName(server, name); err == nil && tool == named {
				return e.Destinations
			}
		}
	}
	return nil
}
