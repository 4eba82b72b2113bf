package lock

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/schema"
)

// maxChanges bounds the changes of one definition. Beyond it the worst are
// listed and the rest is counted.
const maxChanges = 40

// Diff lists what has changed from the pinned file to the present one, the
// worst first. Whatever makes the digests of two files differ makes at least
// one change. own are the names of the tools of this runtime, with which those
// of a server are compared. nil files are empty.
func Diff(pinned, now *File, own ...string) []Change {
	var out []Change
	was, is := pinned.serversOrNil(), now.serversOrNil()
	for _, name := range unionKeys(was, is) {
		d := changeCollector{server: name}
		a, had := was[name]
		b, has := is[name]
		switch {
		case !has:
			d.addChange(RuleServerRemoved, "", absentValue{}, absentValue{})
		case !had:
			d.addChange(RuleServerAdded, "", absentValue{}, &b.Launch)
			fallthrough
		default:
			d.compareServers(&a, &b, had)
		}
		out = append(out, d.out...)
	}
	out = append(out, newConflictChanges(pinned, now, own)...)
	slices.SortFunc(out, compareChanges)
	return out
}

// serversOrNil returns the servers, nil for a nil file.
func (f *File) serversOrNil() map[string]Server {
	if f == nil {
		return nil
	}
	return f.Servers
}

// unionKeys returns the keys of both maps, sorted.
func unionKeys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// changeCollector collects the changes of one server.
type changeCollector struct {
	server string
	kind   Kind
	name   string
	out    []Change
}

// addChange appends a change.
func (d *changeCollector) addChange(r Rule, field string, was, is any) {
	c := Change{Server: d.server, Kind: d.kind, Name: cleanName(d.name), Field: cleanName(field), Rule: r}
	if c.Kind == "" {
		c.Kind = KindServer
	}
	row := r.tableRow()
	c.Severity, c.Message = row.severity, row.message
	c.Was, c.Is, c.Cut = showDifference(was, is)
	d.out = append(d.out, c)
}

// compareServers compares two servers.
func (d *changeCollector) compareServers(a, b *Server, had bool) {
	if had {
		d.compareLaunch(&a.Launch, &b.Launch)
	}
	d.comparePins(KindServer, "", a.Identity, b.Identity)
	for _, k := range offered {
		was, is := *a.pinsOf(k), *b.pinsOf(k)
		for _, name := range unionKeys(was, is) {
			d.comparePins(k, name, pinOf(was, name), pinOf(is, name))
		}
	}
}

func pinOf(m map[string]Pin, name string) *Pin {
	if p, ok := m[name]; ok {
		return &p
	}
	return nil
}

// comparePins compares two definitions of one name.
func (d *changeCollector) comparePins(k Kind, name string, was, is *Pin) {
	x := changeCollector{server: d.server, kind: k, name: name}
	switch {
	case was == nil && is == nil:
	case was != nil && is != nil && was.equal(is):
	case was == nil:
		rule := RuleAdded
		if k == KindServer {
			rule = RuleIdentity
		}
		x.addChange(rule, "", absentValue{}, is.Definition)
		if is.Hidden != nil {
			x.addChange(RuleHidden, "", absentValue{}, is.Hidden)
		}
	case is == nil:
		x.addChange(RuleRemoved, "", was.Definition, absentValue{})
	default:
		x.compareDefinitions(was, is)
	}
	d.out = append(d.out, limitChanges(x.out)...)
}

// equal reports whether nothing at all differs.
func (p *Pin) equal(q *Pin) bool {
	return p.Name == q.Name && p.SHA256 == q.SHA256 && maps.Equal(p.Hidden, q.Hidden) && bytes.Equal(p.Definition, q.Definition)
}

// limitChanges returns the worst changes of a definition and counts the others.
func limitChanges(list []Change) []Change {
	if len(list) <= maxChanges {
		return list
	}
	slices.SortStableFunc(list, compareChanges)
	rest := list[maxChanges]
	rest.Field, rest.Was, rest.Is, rest.Cut = "…", "", "", true
	rest.Message = "and " + strconv.Itoa(len(list)-maxChanges) + " more changes of this definition, at most as severe"
	return append(list[:maxChanges:maxChanges], rest)
}

// fieldVersion is one field of a definition, as it was or as it is.
type fieldVersion struct {
	value  any    // cleaned; absentValue{} for none
	digest string // of the original; empty for none
	hidden string // the digest when something was hidden
}

// definitionFields returns the fields of a definition by name.
func (p *Pin) definitionFields() map[string]fieldVersion {
	v, err := schema.Decode(p.Definition, nil)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return map[string]fieldVersion{"": {value: string(p.Definition), digest: digest.Text(p.Definition)}}
	}
	out := make(map[string]fieldVersion, len(m))
	for name, v := range m {
		f := fieldVersion{value: v, digest: p.Hidden[name], hidden: p.Hidden[name]}
		if f.digest == "" {
			f.digest = digestOf(v)
		}
		out[name] = f
	}
	return out
}

// compareDefinitions compares two definitions field by field. The digest of the whole
// has the last word: where it differs, something is reported.
func (d *changeCollector) compareDefinitions(was, is *Pin) {
	a, b := was.definitionFields(), is.definitionFields()
	for _, name := range unionKeys(a, b) {
		x, y := a[name], b[name]
		if x.digest == y.digest {
			continue
		}
		if x.digest == "" {
			x.value = absentValue{}
		}
		if y.digest == "" {
			y.value = absentValue{}
		}
		d.compareField(name, x, y)
	}
	if was.Name != is.Name {
		d.addChange(RuleField, "name", was.Name, is.Name)
	}
	if len(d.out) == 0 && was.SHA256 != is.SHA256 {
		d.addChange(RuleHidden, "", was.SHA256, is.SHA256)
	}
}

// compareField compares two fields that differ, in what is shown or what is not.
func (d *changeCollector) compareField(name string, was, is fieldVersion) {
	if was.hidden != is.hidden {
		d.addChange(RuleHidden, name, was.value, is.value)
	}
	if equalJSON(was.value, is.value) {
		return
	}
	switch d.kind {
	case KindTool:
		d.compareToolField(name, was.value, is.value)
	case KindServer:
		d.addChange(cmp.Or(identityRules[name], RuleIdentity), name, was.value, is.value)
	default:
		d.addChange(cmp.Or(fieldRules[name], RuleField), name, was.value, is.value)
	}
}

// compareToolField compares a field of a tool's definition.
func (d *changeCollector) compareToolField(name string, was, is any) {
	switch name {
	case "annotations":
		d.compareAnnotations(was, is)
	case "inputSchema":
		s := schemaDiff{changeCollector: d, other: RuleInput, directed: true}
		s.compareSchemas(name, was, is)
	case "outputSchema":
		s := schemaDiff{changeCollector: d, other: RuleOutput}
		s.compareSchemas(name, was, is)
	default:
		d.addChange(cmp.Or(fieldRules[name], RuleField), name, was, is)
	}
}

// fieldRules and identityRules are the rules of the fields of a definition, and of
// what a server says about itself.
var (
	fieldRules = map[string]Rule{
		"description": RuleText, "title": RuleText, "icons": RuleIcons, "_meta": RuleMeta,
	}
	identityRules = map[string]Rule{
		"version": RuleVersion, "instructions": RuleInstructions, "icons": RuleIcons, "_meta": RuleMeta,
	}
)
