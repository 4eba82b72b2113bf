package ceiling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
)

// Action says what becomes of a call whose argument is outside.
type Action string

// The actions.
const (
	// Allow lets the call pass. It is no word of else.
	Allow Action = "allow"
	// Hold holds the call until a person decides.
	Hold Action = "hold"
	// Refuse refuses the call.
	Refuse Action = "refuse"
)

// Sum bounds the values of an argument together.
type Sum struct {
	// Max is the bound, as it is written.
	Max json.Number
	// Per is the length of the window.
	Per time.Duration
	// By names the argument for each value of which the bound counts alone; empty
	// means that it counts for all calls.
	By string
	// Together is true of a bound of a rule over several tools, whose values it counts
	// together.
	Together bool

	bound *big.Rat // Max, without rounding
}

// Ceiling is one fragment, compiled. It is immutable and safe for concurrent use.
type Ceiling struct {
	// Key is where the fragment stands below the role, such as
	// "arguments.send_money".
	Key string
	// Text is the fragment as compact JSON.
	Text string
	root *node
}

// node is what a fragment says of one value.
type node struct {
	key   string         // where it stands, such as "arguments.send_money.amount"
	never bool           // no value is within
	plain *schema.Schema // the keywords of JSON Schema; nil for none
	words map[string]any // of plain, decoded
	held  map[string]any // words with the type that they are about
	known []string
	sum   *Sum
	// untrusted is what becomes of a value that came out of untrusted content;
	// empty where the fragment says nothing.
	untrusted Action
	outside   Action // else
	props     map[string]*node
	names     []string // of props, sorted
	subs      []*node  // of props, as names has them
	places    []namePlace
	items     *node
	// at is where the values of names are among the properties of the tool, -1 for none, and
	// byAt where that of the argument is that the sum names; nil before [Ceiling.PlaceIn].
	at   []int
	byAt *int
}

// The bounds of a fragment.
const (
	maxDepth = 16
	// maxBytes bounds a fragment, in bytes.
	maxBytes = 64 << 10
)

// plainWords are the keywords of JSON Schema that a fragment may have.
var plainWords = []string{
	"type", "enum", "const", "pattern", "format", "minLength", "maxLength",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minItems", "maxItems", "uniqueItems", "required", "minProperties", "maxProperties",
	"additionalProperties", "anyOf", "allOf", "oneOf", "not", "description",
}

// ownWords are the words of a fragment that JSON Schema has not got.
var ownWords = []string{"known", "sum", "from_untrusted", "else"}

// Compile compiles a fragment over the arguments of a tool. A fragment with the text
// "object" as its type is a schema of all arguments, any other object says something of
// each argument by its name, true and {} say nothing, and false lets no call through. An
// argument that the tool's schema does not declare is an error; a nil schema declares
// any. Sets names the sets that exist; nil means any. The error is a [Faults].
func Compile(key string, fragment, tool json.RawMessage, sets func(name string) bool) (*Ceiling, error) {
	v, err := schema.Decode(fragment, &schema.Limits{Bytes: maxBytes})
	if err != nil {
		return nil, Faults{{Key: key, Message: err.Error()}}
	}
	declared, err := decodeDeclared(tool)
	if err != nil {
		return nil, Faults{{Key: key, Message: err.Error()}}
	}
	c := compiler{sets: sets, tool: declared}
	var compact bytes.Buffer
	if err := json.Compact(&compact, fragment); err != nil {
		return nil, Faults{{Key: key, Message: err.Error()}}
	}
	made := &Ceiling{Key: key, Text: compact.String()}
	if m, ok := v.(map[string]any); ok && m["type"] != "object" {
		made.root = &node{key: key, outside: Refuse}
		c.compileProperties(made.root, place{key: key}, m, declared, maxDepth)
	} else {
		made.root = c.compileNode(place{key: key}, v, declared, maxDepth)
	}
	if len(c.faults) > 0 {
		return made, c.faults
	}
	return made, nil
}

func decodeDeclared(tool json.RawMessage) (map[string]any, error) {
	if tool == nil {
		return nil, nil
	}
	v, err := schema.Decode(tool, nil)
	if err != nil {
		return nil, fmt.Errorf("the schema of the tool: %w", err)
	}
	m, _ := v.(map[string]any)
	return m, nil
}

// compiler collects the faults of one fragment.
type compiler struct {
	sets   func(name string) bool
	tool   map[string]any // the schema of the tool; nil for a rule over several
	faults Faults
}

func (c *compiler) addFault(at place, format string, args ...any) {
	c.faults = append(c.faults, Fault{Key: at.key, Pointer: at.pointer, Message: fmt.Sprintf(format, args...)})
}

// compileNode compiles what a fragment says of one value. Declared is the schema that
// the tool has for it; nil where that cannot be told.
func (c *compiler) compileNode(at place, v any, declared map[string]any, depth int) *node {
	n := &node{key: at.key, outside: Refuse}
	if depth == 0 {
		c.addFault(at, "nested too deep")
		return n
	}
	if is, ok := v.(bool); ok {
		n.never = !is
		return n
	}
	m, ok := v.(map[string]any)
	if !ok {
		c.addFault(at, "expected an object, true or false")
		return n
	}
	n.words = map[string]any{}
	for _, word := range slices.Sorted(maps.Keys(m)) {
		switch {
		case word == "properties":
			c.compileProperties(n, at.within("properties"), m[word], declared, depth)
		case word == "items":
			sub, _ := declared["items"].(map[string]any)
			n.items = c.compileNode(at.within("items"), m[word], sub, depth-1)
		case slices.Contains(ownWords, word):
			c.readOwnWord(n, at.within(word), word, m[word], declared)
		case !slices.Contains(plainWords, word):
			c.addFault(at.within(word), "%q is no word of a ceiling%s", word, expectOneOf(word, slices.Concat(ownWords, []string{"properties", "items"}, plainWords)))
		case holdsOwnWord(m[word]):
			c.addFault(at.within(word), "known, sum and from_untrusted may not stand within %s", word)
		default:
			n.words[word] = m[word]
		}
	}
	c.compilePlain(n, at, declared)
	return n
}

func (c *compiler) compilePlain(n *node, at place, declared map[string]any) {
	if len(n.words) == 0 {
		return
	}
	c.checkValues(n, at, declared)
	n.held = maps.Clone(n.words)
	if types := boundTypes(n.words); types != nil && n.words["type"] == nil && n.words["enum"] == nil && n.words["const"] == nil {
		n.held["type"] = types
	}
	raw, err := json.Marshal(n.held)
	if err == nil {
		n.plain, err = schema.CompileAny(raw)
	}
	if err == nil {
		err = checkBounds(n.held)
	}
	if err != nil {
		c.addFault(at, "%v", err)
	}
}

// typeOfWord is the type of which a keyword says something. It lets every value of another
// type through.
var typeOfWord = map[string]string{
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
	"pattern": "string", "format": "string", "minLength": "string", "maxLength": "string",
	"minItems": "array", "maxItems": "array", "uniqueItems": "array",
}

// boundTypes returns the types of which bounds say something, and null, which is no value;
// nil where there is no bound. A server may read "9999" as a number, so that it is not
// within a maximum.
func boundTypes(words map[string]any) (types []any) {
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if of := typeOfWord[word]; of != "" && !slices.Contains(types, any(of)) {
			types = append(types, of)
		}
	}
	if types == nil {
		return nil
	}
	return append(types, "null")
}

func (c *compiler) compileProperties(n *node, at place, v any, declared map[string]any, depth int) {
	members, ok := v.(map[string]any)
	if !ok {
		c.addFault(at, "expected a mapping of arguments")
		return
	}
	known, _ := declared["properties"].(map[string]any)
	n.props, n.names = map[string]*node{}, slices.Sorted(maps.Keys(members))
	for _, name := range n.names {
		where := at.argument(name)
		sub, is := known[name].(map[string]any)
		if !c.checkArgument(where, name, declared) {
			continue
		}
		if !is {
			sub = nil
		}
		n.props[name] = c.compileNode(where, members[name], sub, depth-1)
	}
	for _, name := range n.names {
		n.subs, n.places = append(n.subs, n.props[name]), append(n.places, placeOf(name))
	}
}

// checkArgument refuses a name that a schema does not declare: a caller of the tool
// could put anything there.
func (c *compiler) checkArgument(at place, name string, declared map[string]any) bool {
	known, _ := declared["properties"].(map[string]any)
	if _, declares := known[name]; declares || isOpen(declared) {
		return true
	}
	c.addFault(at, "%q is no argument of the tool%s", name, expectOneOf(name, slices.Sorted(maps.Keys(known))))
	c.faults[len(c.faults)-1].Undeclared = true
	return false
}

// expectOneOf says which name was probably meant, else which there are.
func expectOneOf(name string, names []string) string {
	if near := text.Nearest(name, names); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	if len(names) == 0 {
		return ": it has none"
	}
	return ": expected " + strings.Join(names, ", ")
}

// isOpen reports whether a nested schema leaves its properties to a reference or a
// combination, so that it cannot be told which there are.
func isOpen(declared map[string]any) bool {
	if declared == nil {
		return true
	}
	for _, word := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
		if declared[word] != nil {
			return true
		}
	}
	return false
}

func (c *compiler) readOwnWord(n *node, at place, word string, v any, declared map[string]any) {
	switch word {
	case "known":
		n.known = c.readSets(at, v)
	case "sum":
		if n.sum = c.readSum(at, v); !mayBe(declared, "number", "integer") {
			c.addFault(at, "a sum is about numbers, and the tool takes %v here", declared["type"])
		}
	case "from_untrusted":
		n.untrusted = c.readAction(at, v, Allow, Hold, Refuse)
	case "else":
		n.outside = c.readAction(at, v, Hold, Refuse)
	}
}

func (c *compiler) readAction(at place, v any, words ...Action) Action {
	word, _ := v.(string)
	if !slices.Contains(words, Action(word)) {
		c.addFault(at, "expected one of %v", words)
		return Refuse
	}
	return Action(word)
}

func (c *compiler) readSets(at place, v any) (names []string) {
	switch v := v.(type) {
	case string:
		names = []string{v}
	case []any:
		for _, item := range v {
			name, _ := item.(string)
			names = append(names, name)
		}
	}
	if len(names) == 0 || slices.Contains(names, "") {
		c.addFault(at, "expected the name of a set, or a list of names")
	}
	for _, name := range names {
		if c.sets != nil && name != "" && !c.sets(name) {
			c.addFault(at, "%q is no set: define it under known", name)
		}
	}
	return names
}

// holdsOwnWord reports whether a word of ours stands within a keyword that combines
// schemas.
func holdsOwnWord(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			if slices.Contains(ownWords[:3], name) || holdsOwnWord(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsOwnWord)
	}
	return false
}

// escapePointer writes a name as a segment of a JSON pointer.
func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
