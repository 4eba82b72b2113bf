// Package args writes the argument schemas of the built-in tools: inferred
// from a struct, with the bounds that no struct expresses added to it.
package args

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Property is the schema of one argument. Each method adds a bound and
// returns the property, so that one line describes one argument.
type Property struct{ s *jsonschema.Schema }

// Between bounds a number, both ends included.
func (p Property) Between(low, high int) Property {
	p.s.Minimum, p.s.Maximum = new(float64(low)), new(float64(high))
	return p
}

// Min bounds a number from below.
func (p Property) Min(low int) Property {
	p.s.Minimum = new(float64(low))
	return p
}

// OneOf lists the words that the argument may be.
func (p Property) OneOf(words ...string) Property {
	for _, w := range words {
		p.s.Enum = append(p.s.Enum, w)
	}
	return p
}

// Length bounds a text in code points, both ends included. A high of 0 means
// no upper bound.
func (p Property) Length(low, high int) Property {
	p.s.MinLength = &low
	if high > 0 {
		p.s.MaxLength = &high
	}
	return p
}

// Items bounds the number of items of a list, both ends included.
func (p Property) Items(low, high int) Property {
	p.s.MinItems, p.s.MaxItems = &low, &high
	return p
}

// EachLength bounds the items of a list of texts in code points, both ends included.
func (p Property) EachLength(low, high int) Property {
	Property{p.s.Items}.Length(low, high)
	return p
}

// Format names the format of a text, such as uri.
func (p Property) Format(name string) Property {
	p.s.Format = name
	return p
}

// Default names the value that is filled in when the argument is left out. It
// has to be encodable as JSON.
func (p Property) Default(value any) Property {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("default %v: %v", value, err))
	}
	p.s.Default = raw
	return p
}

// Type replaces the inferred type, for a pointer that stands for an optional
// argument and not for null.
func (p Property) Type(name string) Property {
	p.s.Types, p.s.Type = nil, name
	return p
}

// Schema infers the schema of the arguments from the struct In and lets
// refine add bounds; get panics for a name that In does not have. Schema
// panics when In is not usable, which is a mistake in the program.
func Schema[In any](refine func(get func(name string) Property)) json.RawMessage {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("arguments %T: %v", *new(In), err))
	}
	refine(func(name string) Property {
		p, ok := s.Properties[name]
		if !ok {
			panic(fmt.Sprintf("arguments %T: no %q", *new(In), name))
		}
		return Property{p}
	})
	raw, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("arguments %T: %v", *new(In), err))
	}
	return raw
}
