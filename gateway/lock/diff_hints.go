package lock

// hints are the annotations with their defaults in the protocol.
var hints = map[string]bool{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}

// annotations compares what a tool says of itself. A hint that is absent has
// the protocol's default; destructiveHint counts only for a tool that does
// more than read.
func (d *changeCollector) annotations(was, is any) {
	const name = "annotations"
	before := len(d.out)
	a, b := members(was), members(is)
	report := func(r Rule, key string) { d.addChange(r, name+"/"+key, value(a, key), value(b, key)) }
	if hint(a, "readOnlyHint") && !hint(b, "readOnlyHint") {
		report(RuleLostReadOnly, "readOnlyHint")
	}
	if !destructive(a) && destructive(b) {
		report(RuleDestructive, "destructiveHint")
	}
	if hint(a, "idempotentHint") && !hint(b, "idempotentHint") {
		report(RuleHintLost, "idempotentHint")
	}
	if !hint(a, "openWorldHint") && hint(b, "openWorldHint") {
		report(RuleHintLost, "openWorldHint")
	}
	for _, key := range unionKeys(a, b) {
		_, known := hints[key]
		switch {
		case known || same(value(a, key), value(b, key)):
		case key == "title":
			report(RuleText, key)
		default:
			report(RuleField, key)
		}
	}
	if len(d.out) == before {
		d.addChange(RuleHintGained, name, was, is)
	}
}

func destructive(m map[string]any) bool {
	return !hint(m, "readOnlyHint") && hint(m, "destructiveHint")
}

// hint returns a hint; what is no truth value counts as absent.
func hint(m map[string]any, key string) bool {
	if b, ok := m[key].(bool); ok {
		return b
	}
	return hints[key]
}

// members returns the members of an object, none of anything else.
func members(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// value returns a member, absent{} when there is none.
func value(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent{}
}

// same reports whether two values are equal as JSON.
func same(a, b any) bool {
	_, x := a.(absent)
	_, y := b.(absent)
	return x == y && digestOf(a) == digestOf(b)
}
