package config

import (
	"encoding/json"
	"strings"

	"github.com/sallyport/sallyport"
)

// KeyDoc documents one key: a row of the table.
type KeyDoc struct {
	// Key is the dotted key; "<name>" stands for a chosen name, "[]" for the
	// elements of a list.
	Key string
	// Type is what the key holds; empty while it is not supported.
	Type Type
	// Required is true when every mapping that may have the key has it.
	Required bool
	// Supported is false while the feature is not built; the key is then
	// refused by name.
	Supported bool
	// Default says what an absent key means.
	Default string
	// Doc says in one sentence what the key does.
	Doc string
	// Example is a value in YAML.
	Example string
}

// Type names what a key holds.
type Type string

// The types.
const (
	// TypeText is one line of text.
	TypeText Type = "text"
	// TypeNumber is a whole number.
	TypeNumber Type = "number"
	// TypeDecimal is a number that may have a decimal point.
	TypeDecimal Type = "decimal number"
	// TypeBool is true or false.
	TypeBool Type = "true/false"
	// TypeTexts is a list of texts.
	TypeTexts Type = "list of text"
	// TypeMapping is a mapping with the keys of the table.
	TypeMapping Type = "mapping"
	// TypeTextOrMapping is a mapping, or the text of its most important key.
	TypeTextOrMapping Type = "text or mapping"
	// TypeNames is a mapping whose keys are names that the operator chooses.
	TypeNames Type = "mapping by name"
	// TypeChoices is a list of mappings, each with exactly one of the keys of
	// the table.
	TypeChoices Type = "list of one-key mappings"
	// TypeActions is a list of actions, of which the table has the id alone.
	TypeActions Type = "list of actions"
	// TypeArguments is a mapping of ceilings over arguments, of which the table has
	// nothing.
	TypeArguments Type = "mapping of ceilings"
	// TypeEffects is a mapping of what tools do, of which the table has nothing.
	TypeEffects Type = "mapping of effects"
	// TypeServer is an upstream server, of which the table has nothing.
	TypeServer Type = "server"
	// TypeRunner is an action without its own id and parameters, of which the table has
	// nothing.
	TypeRunner Type = "runner"
	// TypePlugin is a plugin, of which the table has nothing.
	TypePlugin Type = "plugin"
)

// row is a key with what reading it does.
type row struct {
	KeyDoc
	// check judges one text and returns the form that is kept; nil keeps the
	// text as it is.
	check func(*scope, string) (string, error)
	// words lists the only texts that the key may hold; nil means any.
	words []string
	// short is the key below that a text in place of the mapping stands for.
	short string
	// set stores the value; nil stores nothing.
	set func(*scope, value)
	// refersTo is the key whose names the texts must exist under. While that
	// key is not supported, only an empty list is accepted.
	refersTo string
	// hide keeps the value out of snippets: people put secrets here.
	hide bool
	// some is true when an empty mapping by name is refused, since it would
	// not be what an absent one is.
	some bool
	// chosen judges the names of a mapping by name, and form is what it accepts as a
	// regular expression; nil accepts what nameOK does.
	chosen func(*scope, string) error
	form   string
	// adds is true when the key may stand in several files and what is below
	// it adds up.
	adds bool
	// means is the key that this one is another spelling of: one value is
	// stored for both, so that only one of them may be given.
	means string
	// done judges the keys of a mapping, or the texts of a list, together when
	// all are read.
	done func(s *scope, key string)
}

// value is what a row's set receives: the field of its type.
type value struct {
	text string
	// list is never nil for a list, so that [] and an absent key differ.
	list []string
	flag bool
	// effects and destinations are what tools do, by tool.
	effects      map[string][]sallyport.Effect
	destinations map[string]map[string]sallyport.ValueKind
	// ceilings are the ceilings over arguments, by tool.
	ceilings map[string]json.RawMessage
}

// table finds rows by key and the keys that are valid below one.
type table struct {
	rows  []row
	byKey map[string]*row
	// below lists the last segments of the keys directly below a key.
	below map[string][]string
}

func newTable(rows []row) *table {
	t := &table{rows: rows, byKey: make(map[string]*row, len(rows)), below: map[string][]string{}}
	for i := range rows {
		key := rows[i].Key
		t.byKey[key] = &rows[i]
		parent, last := splitKey(key)
		t.below[parent] = append(t.below[parent], last)
	}
	return t
}

// childRow returns the row of a key directly below another one, nil when there
// is none. A name from a file may hold dots, a name of the table does not.
func (t *table) childRow(parent, name string) *row {
	if strings.Contains(name, ".") {
		return nil
	}
	return t.byKey[joinKey(parent, name)]
}

// isSupported reports whether a key is in the table and built.
func (t *table) isSupported(key string) bool {
	r := t.byKey[key]
	return r != nil && r.Supported
}

// supportedBelow lists the supported keys directly below a key.
func (t *table) supportedBelow(parent string) []string {
	var names []string
	for _, name := range t.below[parent] {
		if t.isSupported(joinKey(parent, name)) {
			names = append(names, name)
		}
	}
	return names
}

// findElsewhere returns the only key of the table that ends in a name, for a
// key that is at the wrong place; "" when there is none or several.
func (t *table) findElsewhere(name string) string {
	found := ""
	for i := range t.rows {
		if _, last := splitKey(t.rows[i].Key); last == name && t.rows[i].means == "" && !strings.HasPrefix(t.rows[i].Key, layersKey) {
			if found != "" {
				return ""
			}
			found = t.rows[i].Key
		}
	}
	return found
}

func splitKey(key string) (parent, last string) {
	i := strings.LastIndexByte(key, '.')
	if i < 0 {
		return "", key
	}
	return key[:i], key[i+1:]
}

func joinKey(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
