package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// secretMark begins a placeholder that names a secret.
const secretMark = "secret:"

// template is a text with placeholders: {name} is the argument of that name,
// {secret:ref} a secret, {{ and }} are the brackets themselves. It is parsed
// once; what takes the place of a placeholder is never parsed.
type template []templatePart

// templatePart is a piece of a template: exactly one field is set.
type templatePart struct{ text, param, secret string }

// parseTemplate reads a template. The empty text is the empty template.
func parseTemplate(s string) (template, error) {
	var t template
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			t = append(t, templatePart{text: text.String()})
			text.Reset()
		}
	}
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			text.WriteString(s)
			break
		}
		text.WriteString(s[:i])
		bracket, rest := s[i], s[i+1:]
		if rest != "" && rest[0] == bracket {
			text.WriteByte(bracket)
			s = rest[1:]
			continue
		}
		if bracket == '}' {
			return nil, errors.New("a } without its {: a bracket that is meant as such is written twice")
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || strings.Contains(name, "{") {
			return nil, errors.New("a { without its }: a bracket that is meant as such is written twice")
		}
		p, err := parsePlaceholder(name)
		if err != nil {
			return nil, err
		}
		flush()
		t = append(t, p)
		s = after
	}
	flush()
	return t, nil
}

func parsePlaceholder(name string) (templatePart, error) {
	ref, secret := strings.CutPrefix(name, secretMark)
	switch {
	case name == "":
		return templatePart{}, errors.New("{} names nothing: expected the name of a parameter, or secret: and a reference")
	case !secret:
		return templatePart{param: name}, nil
	}
	if err := reach.ParseExactRef(ref); err != nil {
		return templatePart{}, fmt.Errorf("{secret:…}: %w", err)
	}
	return templatePart{secret: ref}, nil
}

// String is the inverse of parseTemplate.
func (t template) String() string {
	var b strings.Builder
	for _, p := range t {
		switch {
		case p.param != "":
			b.WriteString("{" + p.param + "}")
		case p.secret != "":
			b.WriteString("{" + secretMark + p.secret + "}")
		default:
			b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(p.text))
		}
	}
	return b.String()
}

func (t template) literalText() (text string, ok bool) {
	switch {
	case len(t) == 0:
		return "", true
	case len(t) == 1 && t[0].param == "" && t[0].secret == "":
		return t[0].text, true
	default:
		return "", false
	}
}

// loneParam returns the parameter of a template that is one placeholder and
// nothing else.
func (t template) loneParam() (param string, ok bool) {
	if len(t) == 1 && t[0].param != "" {
		return t[0].param, true
	}
	return "", false
}

// splitTexts cuts a template at a separator in its texts, never in a placeholder.
func (t template) splitTexts(separator string) []template {
	pieces := []template{nil}
	for _, p := range t {
		for i, text := range strings.Split(p.text, separator) {
			if i > 0 {
				pieces = append(pieces, nil)
			}
			last := &pieces[len(pieces)-1]
			switch {
			case p.param != "" || p.secret != "":
				*last = append(*last, p)
			case text != "":
				*last = append(*last, templatePart{text: text})
			}
		}
	}
	return pieces
}

// callValues is what takes the place of placeholders in one call.
type callValues struct {
	args    map[string]any
	secrets map[string]string
}

// findArgument returns an argument; ok is false when it is absent or null.
func (v *callValues) findArgument(param string) (value any, ok bool) {
	value, ok = v.args[param]
	return value, ok && value != nil
}

// fillText returns the text of a template. Texts of the configuration stand as
// they are, the others pass through encode. ok is false when an argument is
// absent. An error is an argument that has no place in a text.
func (t template) fillText(v *callValues, encode func(string) (string, error)) (text string, ok bool, err error) {
	var b strings.Builder
	for _, p := range t {
		s := p.text
		switch {
		case p.param != "":
			value, given := v.findArgument(p.param)
			if !given {
				return "", false, nil
			}
			if s, err = scalarText(p.param, value); err != nil {
				return "", false, err
			}
		case p.secret != "":
			s = v.secrets[p.secret]
		}
		if p.text == "" && encode != nil {
			if s, err = encode(s); err != nil {
				if p.secret != "" {
					return "", false, &sallyport.Error{
						Code: sallyport.CodeExecutionFailed, Resource: p.secret, Operation: "send",
						Detail: "secret " + p.secret + " cannot be sent: " + err.Error(),
					}
				}
				return "", false, sallyport.InputInvalid("/" + p.param + ": " + err.Error())
			}
		}
		b.WriteString(s)
	}
	return b.String(), true, nil
}

// scalarText returns the text of a value that has one: a string as it is, a
// number or a truth value as JSON writes it.
func scalarText(param string, value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	default:
		return "", sallyport.InputInvalid("/" + param + ": a list or an object has no place in a text")
	}
}
