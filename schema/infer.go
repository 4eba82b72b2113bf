package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	infer "github.com/google/jsonschema-go/jsonschema"
)

// inferInput infers the schema of arguments from a struct. tagged is true when
// tags said more than the types, which their author may have got wrong.
func inferInput[In any]() (raw json.RawMessage, tagged bool, err error) {
	s, err := inferStruct[In]()
	if err != nil {
		return nil, false, err
	}
	dropNull(s)
	tagged, err = applyTags(reflect.TypeFor[In](), s)
	if err != nil {
		return nil, false, err
	}
	raw, err = json.Marshal(s)
	return raw, tagged, err
}

// inferOutput infers the schema of a result from a struct. A nil slice is
// written as null, so that null stays allowed there.
func inferOutput[Out any]() (json.RawMessage, error) {
	s, err := inferStruct[Out]()
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

func inferStruct[T any]() (*infer.Schema, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", t)
	}
	return infer.For[T](nil)
}

// dropNull takes null from the types of slices, where inference puts it
// because a nil slice encodes so. No caller should be told to send it.
func dropNull(s *infer.Schema) {
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Types, s.Type = nil, "array"
	}
	for _, sub := range s.Properties {
		dropNull(sub)
	}
	for _, sub := range []*infer.Schema{s.Items, s.AdditionalProperties} {
		if sub != nil {
			dropNull(sub)
		}
	}
}

// applyTags adds what the tags of a struct's fields say, at every depth.
func applyTags(t reflect.Type, s *infer.Schema) (tagged bool, err error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			return applyTags(t.Elem(), s.Items)
		}
	case reflect.Map:
		if s.AdditionalProperties != nil {
			return applyTags(t.Elem(), s.AdditionalProperties)
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			sub := s.Properties[jsonName(f)]
			if sub == nil || f.Anonymous || !f.IsExported() {
				continue
			}
			here, err := applyField(f, sub)
			if err != nil {
				return false, fmt.Errorf("field %s: %w", f.Name, err)
			}
			below, err := applyTags(f.Type, sub)
			if err != nil {
				return false, err
			}
			tagged = tagged || here || below
		}
	}
	return tagged, nil
}

// jsonName returns the name under which encoding/json knows a field.
func jsonName(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return name
	}
	return f.Name
}

// applyField adds what the tags of one field say. Those of a slice of scalars
// hold for its items, except for the default.
func applyField(f reflect.StructField, s *infer.Schema) (tagged bool, err error) {
	item := s
	if s.Items != nil {
		item = s.Items
	}
	if text, ok := f.Tag.Lookup("enum"); ok {
		tagged = true
		for word := range strings.SplitSeq(text, ",") {
			raw, err := tagValue(item, word)
			if err != nil {
				return false, fmt.Errorf("enum: %w", err)
			}
			item.Enum = append(item.Enum, raw)
		}
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		tagged = true
		if s.Default, err = tagValue(s, text); err != nil {
			return false, fmt.Errorf("default: %w", err)
		}
	}
	for _, limit := range []struct {
		tag string
		to  **float64
	}{{"minimum", &item.Minimum}, {"maximum", &item.Maximum}} {
		if text, ok := f.Tag.Lookup(limit.tag); ok {
			tagged = true
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return false, fmt.Errorf("%s: %w", limit.tag, err)
			}
			*limit.to = &n
		}
	}
	return tagged, nil
}

func tagValue(s *infer.Schema, text string) (json.RawMessage, error) {
	if s.Type == "string" || slices.Contains(s.Types, "string") {
		return appendString(nil, text), nil
	}
	if _, err := Decode([]byte(text), nil); err != nil {
		return nil, err
	}
	return json.RawMessage(text), nil
}
