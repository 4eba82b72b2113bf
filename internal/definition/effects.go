package definition

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
)

// ToolEffects says what a tool does.
type ToolEffects struct {
	// Does lists the effects; nil declares none.
	Does []sallyport.Effect `json:"does,omitempty"`
	// Destinations says which arguments name where something goes.
	Destinations map[string]sallyport.ValueKind `json:"destinations,omitempty"`
}

// ToolEffects reads what the tools of a server do, by the server's names of them.
func (d *Decoder) ToolEffects(at string, v any) map[string]ToolEffects {
	members, ok := v.(map[string]any)
	if !ok {
		d.Fault(at, "expected a mapping")
	}
	tools := map[string]ToolEffects{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		o := d.Object(Below(at, name), members[name])
		if o == nil {
			continue
		}
		tools[name] = ToolEffects{Does: d.Effects(o), Destinations: d.Destinations(o)}
		o.Done()
	}
	return tools
}

// Effects reads the key does of a declaration: what a call does beside its answer.
func (d *Decoder) Effects(o *Object) (list []sallyport.Effect) {
	for _, word := range o.Texts("does") {
		e := sallyport.Effect(word)
		if !slices.Contains(effect.All(), e) || slices.Contains(list, e) {
			d.Fault(Below(o.at, "does"), "expected each of read, revocable, irrevocable, outward and spending at most once")
			return nil
		}
		list = append(list, e)
	}
	if slices.Contains(list, effect.Read) && len(list) > 1 {
		d.Fault(Below(o.at, "does"), "read contradicts the other effects: a call that reads and does more is left without it")
	}
	return list
}

// Destinations reads the key destinations: which arguments name where something goes.
func (d *Decoder) Destinations(o *Object) map[string]sallyport.ValueKind {
	v, at, ok := o.Take("destinations", "")
	if !ok {
		return nil
	}
	members, ok := v.(map[string]any)
	if !ok {
		d.Fault(at, "expected a mapping of arguments to kinds")
		return nil
	}
	kinds := map[string]sallyport.ValueKind{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text, _ := members[name].(string)
		if kinds[name] = sallyport.ValueKind(text); !slices.Contains(effect.Kinds(), kinds[name]) {
			d.Fault(Below(at, name), "expected one of mail, host, url, account, path, user, name and text")
		}
	}
	return kinds
}

// UnknownArguments returns the arguments that destinations name and that a schema of
// arguments does not have: a destination that no argument can name would hold nothing. It
// returns none where the schema leaves open what arguments there are.
func UnknownArguments(schema json.RawMessage, destinations map[string]sallyport.ValueKind) (unknown []string) {
	if len(destinations) == 0 {
		return nil
	}
	var keys, properties map[string]json.RawMessage
	if json.Unmarshal(schema, &keys) == nil {
		_ = json.Unmarshal(keys["properties"], &properties) // a schema at fault is told elsewhere
	}
	for key, value := range keys {
		closed := key == "additionalProperties" && string(value) == "false"
		if !closed && !slices.Contains([]string{"$schema", "type", "properties", "required", "description", "title"}, key) {
			return nil
		}
	}
	for _, path := range slices.Sorted(maps.Keys(destinations)) {
		if name, _, _ := strings.Cut(path, "."); properties[name] == nil {
			unknown = append(unknown, path)
		}
	}
	return unknown
}
