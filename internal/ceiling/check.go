package ceiling

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/provenance"
)

// Asked answers what a check asks beside the fragment.
type Asked interface {
	// KindOf returns what the value of an argument names, by its path such as
	// "recipient" or "to.address"; empty for any other argument.
	KindOf(path string) sallyport.ValueKind
	// IsKnown reports whether a value is a member of one of the sets.
	IsKnown(sets []string, kind sallyport.ValueKind, value string) (bool, error)
}

// Rules is an [Asked] of functions.
type Rules struct {
	// KindOf returns what the value of an argument names, by its path such as
	// "recipient" or "to.address"; empty for any other argument. nil knows none.
	KindOf func(path string) sallyport.ValueKind
	// IsKnown reports whether a value is a member of one of the sets. nil knows no
	// member.
	IsKnown func(sets []string, kind sallyport.ValueKind, value string) (bool, error)
}

// asked makes an [Asked] of rules.
type asked struct{ *Rules }

func (r asked) KindOf(path string) (kind sallyport.ValueKind) {
	if r.Rules.KindOf != nil {
		kind = r.Rules.KindOf(path)
	}
	return kind
}

func (r asked) IsKnown(sets []string, kind sallyport.ValueKind, value string) (bool, error) {
	if r.Rules.IsKnown == nil {
		return false, nil
	}
	return r.Rules.IsKnown(sets, kind, value)
}

// The words of [Outside], as they follow the key of the fragment.
const (
	WordKnown = ".known"
	WordSum   = ".sum"
)

// SumExceeded begins the words for people of a bound over a window that is exceeded.
const SumExceeded = "with it, the sum over "

// Outside is an argument that is outside a ceiling.
type Outside struct {
	// Pointer is where the argument is, as a JSON pointer.
	Pointer string
	// Key is the fragment, such as "arguments.send_money".
	Key string
	// Word is what of the fragment is not satisfied: WordKnown, WordSum, or empty
	// for the keywords of JSON Schema.
	Word string
	// Why says what the ceiling asks for, in words for the operator.
	Why string
	// Action is Hold or Refuse.
	Action Action
	// Sets are those of which the value would have to be a member; nil when
	// another word is not satisfied.
	Sets []string
	// Value is the text that is no member of Sets.
	Value string
}

// Amount is a value that counts for a bound over a window.
type Amount struct {
	// Pointer is where the argument is.
	Pointer string
	// Key is the fragment.
	Key string
	// Sum is the bound.
	Sum *Sum
	// Action is what becomes of a call that exceeds it.
	Action Action
	// Value is how much the call adds, not negative.
	Value *big.Rat
	// By is the value of the argument that the bound names, in the form in which two
	// that mean the same are equal; empty when it names none. A call with a list there
	// has an amount for each item.
	By string
}

// Judgement is what a ceiling says of the arguments of one call.
type Judgement struct {
	// Outside lists the arguments that are outside, those that refuse first.
	Outside []Outside
	// Amounts lists what counts for bounds over a window.
	Amounts []Amount
}

// Check judges arguments, as [schema.Parse] decodes them and with defaults filled in. An
// error means that a set could not be asked; the call must not run.
func (c *Ceiling) Check(args map[string]any, rules *Rules) (j Judgement, err error) {
	return c.Judge(&Arguments{Named: args}, asked{rules}, nil)
}

// Judge is Check for arguments some of which were looked up before. It puts what it finds
// into the room, unless that is nil: the room has to last as long as the judgement.
func (c *Ceiling) Judge(args *Arguments, rules Asked, room *Room) (j Judgement, err error) {
	w := walker{rules: rules, args: *args, room: room}
	if room != nil {
		w.found.Amounts, room.taken = room.amounts[:0], false
	}
	w.visit(c.root, "", "", args.Named)
	if len(w.found.Outside) > 1 {
		slices.SortStableFunc(w.found.Outside, func(a, b Outside) int {
			return boolRank(a.Action == Hold) - boolRank(b.Action == Hold)
		})
	}
	return w.found, w.err
}

func boolRank(later bool) int {
	if later {
		return 1
	}
	return 0
}

type walker struct {
	rules Asked
	args  Arguments
	room  *Room
	found Judgement
	err   error

	// kind is what the value at a path of the arguments names, which is known; the path is
	// empty when no such value is visited.
	kind sallyport.ValueKind
	path string
}

// kindOf returns what the value at a path names.
func (w *walker) kindOf(path string) sallyport.ValueKind {
	if path == w.path && path != "" {
		return w.kind
	}
	return w.rules.KindOf(path)
}

// visit judges one value. The path leaves out the places in lists, as
// destinations do.
func (w *walker) visit(n *node, pointer, path string, v any) {
	if n == nil {
		return
	}
	if n.never {
		w.addOutside(n, pointer, "no value is permitted")
		return
	}
	if n.plain != nil {
		if faults := n.plain.Validate(v); len(faults) > 0 {
			w.addOutside(n, pointer, faults.Error())
		}
	}
	if len(n.known) > 0 {
		w.checkKnown(n, pointer, path, v)
	}
	if n.sum != nil {
		w.addAmount(n, pointer, v)
	}
	if _, one := v.(string); !one || n.items != nil { // a text has no parts
		w.visitParts(n, pointer, path, v)
	}
}

// visitParts judges what a value consists of. A tool may take one thing or a list of
// them: what is said of items holds for a single one, and what is said of properties for
// each object of a list.
func (w *walker) visitParts(n *node, pointer, path string, v any) {
	switch v := v.(type) {
	case nil:
		return
	case []any:
		for i, item := range v {
			at := pointer + "/" + strconv.Itoa(i)
			if n.items == nil {
				w.visitParts(n, at, path, item)
			} else {
				w.visit(n.items, at, path, item)
			}
		}
		return
	case map[string]any:
		if w.visitMembers(n, pointer, path, v) < len(v) {
			w.checkSpellings(n, pointer, v)
		}
	}
	if n.items != nil {
		w.visit(n.items, pointer, path, v)
	}
}

// visitMembers judges the members of an object that the fragment rules, and returns how many
// there are.
func (w *walker) visitMembers(n *node, pointer, path string, v map[string]any) (ruled int) {
	if n.at != nil && w.args.Values != nil {
		return w.visitPlaced(n, v)
	}
	for i, name := range n.names {
		if item, ok := v[name]; ok {
			at, within := n.places[i].under(pointer, path)
			w.visit(n.subs[i], at, within, item)
			ruled++
		}
	}
	return ruled
}

// checkSpellings puts a name outside that is another spelling of one that the fragment
// rules: some servers take it for that one.
func (w *walker) checkSpellings(n *node, pointer string, v map[string]any) {
	var unruled []string
	for name := range v {
		if len(n.names) > 0 && n.props[name] == nil {
			unruled = append(unruled, name)
		}
	}
	slices.Sort(unruled)
	for _, name := range unruled {
		for _, ruled := range n.names {
			if sub := n.props[ruled]; sub != nil && strings.EqualFold(name, ruled) {
				w.addOutside(sub, pointer+"/"+escapePointer(name), "it is another spelling of "+ruled)
				break
			}
		}
	}
}

// namePlace is where the value of a name is below one that stands at the top.
type namePlace struct{ pointer, path string }

func placeOf(name string) namePlace { return namePlace{"/" + escapePointer(name), name} }

// under returns where the value is below the one at a pointer and a path.
func (p namePlace) under(pointer, path string) (string, string) {
	switch {
	case pointer == "": // no name is joined for what most tools take
		return p.pointer, p.path
	case path == "":
		return pointer + p.pointer, p.path
	default:
		return pointer + p.pointer, path + "." + p.path
	}
}

func (w *walker) addOutside(n *node, pointer, why string) {
	w.found.Outside = append(w.found.Outside, Outside{
		Pointer: pointer, Key: n.key, Why: why, Action: n.outside,
	})
}

// checkKnown holds a value, or each value of a list, to sets.
func (w *walker) checkKnown(n *node, pointer, path string, v any) {
	kind := w.kindOf(path)
	if text, ok := v.(string); ok { // as most arguments are
		w.checkMember(n, pointer, kind, text, true)
		return
	}
	eachText(v, pointer, func(at, text string, ok bool) { w.checkMember(n, at, kind, text, ok) })
}

// checkMember holds a text, or what is none, to sets.
func (w *walker) checkMember(n *node, pointer string, kind sallyport.ValueKind, text string, ok bool) {
	if ok && text == "" {
		return
	}
	known := false
	if ok && w.err == nil {
		known, w.err = w.rules.IsKnown(n.known, kind, text)
	}
	if !known {
		w.found.Outside = append(w.found.Outside, Outside{
			Pointer: pointer, Key: n.key, Word: WordKnown, Action: n.outside, Sets: n.known, Value: text,
			Why: "it is not in " + strings.Join(n.known, " or "),
		})
	}
}

// eachText visits the texts of a value. A number is its text; null is nothing, and
// any other value has no text.
func eachText(v any, pointer string, visit func(at, text string, ok bool)) {
	switch v := v.(type) {
	case nil:
	case string:
		visit(pointer, v, true)
	case json.Number:
		visit(pointer, string(v), true)
	case []any:
		for i, item := range v {
			eachText(item, pointer+"/"+strconv.Itoa(i), visit)
		}
	default:
		visit(pointer, "", false)
	}
}

func (w *walker) addAmount(n *node, pointer string, v any) {
	number, _ := v.(json.Number)
	value, ok := w.exactValue(number)
	switch {
	case v == nil:
		return
	case !ok:
		w.addOutside(n, pointer, "it is no number of at most 40 digits, which a sum needs")
		return
	case value.Sign() < 0:
		w.addOutside(n, pointer, "it is negative, which would lower the sum")
		return
	}
	a := Amount{Pointer: pointer, Key: n.key, Sum: n.sum, Action: n.outside, Value: value}
	if n.sum.By == "" {
		w.found.Amounts = append(w.found.Amounts, a)
		return
	}
	by := w.valueBy(n)
	if one, ok := by.(string); ok {
		a.By = w.byForm(n, one)
		w.found.Amounts = append(w.found.Amounts, a)
		return
	}
	seen := map[string]bool{}
	eachText(by, "", func(_, text string, ok bool) {
		if a.By = w.byForm(n, text); ok && !seen[a.By] {
			seen[a.By] = true
			w.found.Amounts = append(w.found.Amounts, a)
		}
	})
	if len(seen) == 0 { // nothing, or nothing that could be told apart
		a.By = ""
		w.found.Amounts = append(w.found.Amounts, a)
	}
}

// byForm returns the form of a value for each of which a bound counts alone. What may be
// the same counts together: without a kind, as if it were an account.
func (w *walker) byForm(n *node, text string) string {
	kind := sallyport.ValueKind("")
	if at := n.byAt; at != nil && w.args.Values != nil {
		kind = w.args.Kinds[*at]
	} else {
		kind = w.rules.KindOf(n.sum.By)
	}
	return provenance.Canonical(cmp.Or(kind, effect.Account), text)
}

// IsForbidden reports whether no arguments at all are within the ceiling.
func (c *Ceiling) IsForbidden() bool { return c.root.never }

// MayHold reports whether the ceiling may hold a call until a person decides.
func (c *Ceiling) MayHold() bool { return c.root.mayHold() }

func (n *node) mayHold() bool {
	if n == nil {
		return false
	}
	if n.outside == Hold || n.untrusted == Hold || n.items.mayHold() {
		return true
	}
	return slices.ContainsFunc(n.names, func(name string) bool { return n.props[name].mayHold() })
}
