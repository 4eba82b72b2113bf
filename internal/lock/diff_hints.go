package lock

// hints are the annotations with their defaults in the protocol.
var hints = map[string]bool{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}

// compareAnnotations compares what a tool says of itself. A hint that is absent has
// the protocol's default; destructiveHint counts only for a tool that does
// more than read.
func (d *changeCollector) compareAnnotations(was, is any) {
	const name = "annotations"
	before := len(d.out)
	a, b := membersOf(was), membersOf(is)
	report := func(r Rule, key string) { d.addChange(r, name+"/"+key, memberOrAbsent(a, key), memberOrAbsent(b, key)) }
	if hintOrDefault(a, "readOnlyHint") && !hintOrDefault(b, "readOnlyHint") {
		report(RuleLostReadOnly, "readOnlyHint")
	}
	if !mayDestroy(a) && mayDestroy(b) {
		report(RuleDestructive, "destructiveHint")
	}
	if hintOrDefault(a, "idempotentHint") && !hintOrDefault(b, "idempotentHint") {
		report(RuleHintLost, "idempotentHint")
	}
	if !hintOrDefault(a, "openWorldHint") && hintOrDefault(b, "openWorldHint") {
		report(RuleHintLost, "openWorldHint")
	}
	for _, key := range unionKeys(a, b) {
		_, known := hints[key]
		switch {
		case known || equalJSON(memberOrAbsent(a, key), memberOrAbsent(b, key)):
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

func mayDestroy(m map[string]any) bool {
	return !hintOrDefault(m, "readOnlyHint") && hintOrDefault(m, "destructiveHint")
}

// hintOrDefault returns a hint; what is no truth value counts as absent.
func hintOrDefault(m map[string]any, key string) bool {
	if b, ok := m[key].(bool); ok {
		return b
	}
	return hints[key]
}

// membersOf returns the members of an object, none of anything else.
func membersOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// memberOrAbsent returns a member, absentValue{} when there is none.
func memberOrAbsent(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absentValue{}
}

// equalJSON reports whether two values are equal as JSON.
func equalJSON(a, b any) bool {
	_, x := a.(absentValue)
	_, y := b.(absentValue)
	return x == y && digestOf(a) == digestOf(b)
}
