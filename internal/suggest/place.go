package suggest

import (
	"encoding/json"
	"maps"
	"math/big"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
)

const (
	// maxDepth bounds the objects and lists that arguments are looked at within.
	maxDepth = 4
	// maxPlaces bounds the places of values of one tool.
	maxPlaces = 256
	// maxValues bounds the different values of one place.
	maxValues = 64
	// maxValue bounds a value that is compared, in bytes.
	maxValue = 256
)

// valueKinds is a set of kinds of values.
type valueKinds uint8

const (
	kindNull valueKinds = 1 << iota
	kindBool
	kindNumber
	kindText
	kindList
	kindObject
)

// argPlace is one argument, or a value within one, in the calls of a tool.
type argPlace struct {
	seen  int        // values
	kinds valueKinds // of the values
	// values holds texts and truth values by their JSON; nil once there are too many.
	values map[any]*seenValue
	many   bool
	// low and high bound the numbers, and those of calls that had read nothing untrusted.
	low, high, ownLow, ownHigh *number
	inexact                    bool
	// sets hold every text so far; nil before the first one.
	sets map[string]bool
	// reached is true when a value names what an accessor decided about.
	reached bool
	long    bool
	props   map[string]*argPlace
	items   *argPlace
}

// seenValue says how often a value was seen, and whether once before anything untrusted was
// read.
type seenValue struct {
	count int
	own   bool
}

// number is a number as it was written.
type number struct {
	text  string
	value *big.Rat
}

// sighting is what is known of the call that a value is of.
type sighting struct {
	untrusted bool
	use       *usage
	setsOf    func(value string) ([]string, error)
	decisions []sallyport.Decision
	err       error
}

// addValue adds a value. The declared schema is nil where it cannot be told.
func (p *argPlace) addValue(v any, declared map[string]any, s *sighting, depth int) {
	p.seen++
	switch v := v.(type) {
	case nil:
		p.kinds |= kindNull
	case bool:
		p.kinds |= kindBool
		p.addPlain(v, s)
	case string:
		p.kinds |= kindText
		p.addText(v, s)
	case json.Number:
		p.kinds |= kindNumber
		p.addNumber(v, s)
	case []any:
		p.kinds |= kindList
		p.addItems(v, declared, s, depth)
	case map[string]any:
		p.kinds |= kindObject
		p.addProperties(v, declared, s, depth)
	}
}

func (p *argPlace) addText(v string, s *sighting) {
	if len(v) > maxValue {
		p.long = true
		return
	}
	p.addPlain(v, s)
	if s.namesTouched(v) {
		p.reached = true
	}
	if v == "" || s.setsOf == nil || p.sets != nil && len(p.sets) == 0 || s.err != nil {
		return
	}
	var names []string
	if names, s.err = s.setsOf(v); s.err != nil {
		return
	}
	holding := map[string]bool{}
	for _, name := range names {
		if p.sets == nil || p.sets[name] {
			holding[name] = true
		}
	}
	p.sets = holding
}

// addPlain counts a value that may become one of a list.
func (p *argPlace) addPlain(v any, s *sighting) {
	if p.many {
		return
	}
	one := p.values[v]
	if one == nil {
		if len(p.values) == maxValues {
			p.many, p.values = true, nil
			return
		}
		if p.values == nil {
			p.values = map[any]*seenValue{}
		}
		one = &seenValue{}
		p.values[v] = one
	}
	one.count++
	one.own = one.own || !s.untrusted
}

func (p *argPlace) addNumber(v json.Number, s *sighting) {
	value, ok := ceiling.Exact(v)
	if !ok {
		p.inexact = true
		return
	}
	n := &number{string(v), value}
	p.low, p.high = widen(p.low, p.high, n)
	if !s.untrusted {
		p.ownLow, p.ownHigh = widen(p.ownLow, p.ownHigh, n)
	}
}

// widen returns the bounds that hold a number, too.
func widen(low, high, n *number) (*number, *number) {
	if low == nil || n.value.Cmp(low.value) < 0 {
		low = n
	}
	if high == nil || n.value.Cmp(high.value) > 0 {
		high = n
	}
	return low, high
}

func (p *argPlace) addItems(list []any, declared map[string]any, s *sighting, depth int) {
	items, _ := declared["items"].(map[string]any)
	if items == nil || depth == 0 {
		return
	}
	for _, item := range list {
		if p.items == nil {
			if p.items = s.use.newPlace(); p.items == nil {
				return
			}
		}
		p.items.addValue(item, items, s, depth-1)
	}
}

// addProperties adds the declared parts of an object, and what the schema fills in for
// those that are not there.
func (p *argPlace) addProperties(object, declared map[string]any, s *sighting, depth int) {
	props, _ := declared["properties"].(map[string]any)
	if depth == 0 {
		return
	}
	for name := range maps.Keys(props) {
		sub, _ := props[name].(map[string]any)
		v, ok := object[name]
		if !ok && sub != nil {
			v, ok = sub["default"]
		}
		if !ok {
			continue
		}
		at := p.props[name]
		if at == nil {
			if at = s.use.newPlace(); at == nil {
				return
			}
			if p.props == nil {
				p.props = map[string]*argPlace{}
			}
			p.props[name] = at
		}
		at.addValue(v, sub, s, depth-1)
	}
}

// newPlace returns a place, nil when the tool has too many.
func (u *usage) newPlace() *argPlace {
	if u.places == maxPlaces {
		return nil
	}
	u.places++
	return &argPlace{}
}

// namesTouched reports whether a value names something that an accessor let through: the
// lists of the role bound it.
func (s *sighting) namesTouched(v string) bool {
	host := ""
	if u, err := url.Parse(v); err == nil {
		host = u.Hostname()
	}
	for i := range s.decisions {
		d := &s.decisions[i]
		if d.Step != sallyport.StepAccess || !d.Allowed || v == "" {
			continue
		}
		clean := strings.TrimPrefix(filepath.Clean(v), "./")
		if d.Resource == v || d.Resource == clean || strings.HasSuffix(d.Resource, "/"+clean) {
			return true
		}
		if host != "" && (d.Resource == host || strings.HasPrefix(d.Resource, host+":")) {
			return true
		}
	}
	return false
}
