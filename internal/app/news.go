package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/lock"
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
	return rt.news.describeNews(ctx, rt.State, a, rt.destinationsOf(a.Personality, a.Tool))
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
		if i := indexOfTool(rt.InForce().Tools, tool); i >= 0 {
			return rt.InForce().Tools[i].Destinations
		}
		builtin, _ := allBuiltinTools() // what cannot be told is left out
		if i := indexOfTool(builtin, tool); i >= 0 {
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

func indexOfTool(tools []sallyport.Tool, name string) int {
	return slices.IndexFunc(tools, func(t sallyport.Tool) bool { return t.Name == name })
}
