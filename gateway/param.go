package gateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/rawjson"
	"github.com/sallyport/sallyport/schema"
)

// The prefix and the suffix of a header value in base64. The protocol uses
// base64 for texts that a header cannot hold. A value without both is the text
// itself.
const (
	codedPrefix = "=?base64?"
	codedSuffix = "?="
)

// headerParam is an argument that a header repeats.
type headerParam struct {
	*schema.Header
	found int             // how many names of its path were found
	value json.RawMessage // nil when it is absent
}

// checkRepeated checks the headers of a call against its arguments.
func checkRepeated(repeated []schema.Header, h http.Header, args json.RawMessage) error {
	all := make([]headerParam, len(repeated))
	in := make([]*headerParam, len(repeated))
	for i := range repeated {
		all[i].Header = &repeated[i]
		in[i] = &all[i]
	}
	if err := collectValues(in, args, 0); err != nil {
		return err
	}
	for i := range all {
		p := &all[i]
		if why := p.differenceOf(h[p.Name]); why != "" {
			return fmt.Errorf("%s %s the argument %q", p.Name, why, strings.Join(p.Path, "."))
		}
	}
	return nil
}

// collectValues finds the values of arguments whose paths begin with the same names.
// It refuses a name that occurs twice, as the gate does.
func collectValues(in []*headerParam, object json.RawMessage, depth int) error {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	for rest := rawjson.Blank(object[1:]); rest[0] != '}'; {
		key, value, after, err := rawjson.Next(rest)
		if err != nil {
			return err
		}
		rest = after
		var inner []*headerParam
		for _, p := range in {
			if p.Path[depth] != string(key) {
				continue
			}
			if p.found > depth {
				return fmt.Errorf("the argument %q is repeated", strings.Join(p.Path[:depth+1], "."))
			}
			if p.found++; p.found == len(p.Path) {
				p.value = value
			} else {
				inner = append(inner, p)
			}
		}
		if len(inner) > 0 {
			if err := collectValues(inner, value, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// differenceOf says how the headers of an argument contradict it; "" when they do
// not.
func (p *headerParam) differenceOf(values []string) string {
	if p.value == nil || string(p.value) == "null" {
		if len(values) > 0 {
			return "is there without"
		}
		return ""
	}
	switch len(values) {
	case 0:
		return "is missing, which repeats"
	case 1:
	default:
		return "is there more than once for"
	}
	text, ok := decodeHeader(values[0])
	switch {
	case !ok:
		return "is not encoded as the protocol says, for"
	case !equalsArgument(text, p.value):
		return "is not"
	default:
		return ""
	}
}

// decodeHeader returns the text of a header's value.
func decodeHeader(value string) (text string, ok bool) {
	if inside, ok := strings.CutPrefix(value, codedPrefix); ok {
		if inside, ok = strings.CutSuffix(inside, codedSuffix); ok {
			bytes, err := base64.StdEncoding.Strict().DecodeString(inside)
			return string(bytes), err == nil && utf8.Valid(bytes)
		}
	}
	for i := range len(value) {
		if c := value[i]; (c < ' ' || c > '~') && c != '\t' {
			return "", false
		}
	}
	return value, true
}

// equalsArgument reports whether a header's text equals an argument. Whole numbers
// compare as numbers, other values byte by byte. A list, an object and a number
// that is not whole never equal a text.
func equalsArgument(text string, arg json.RawMessage) bool {
	switch arg[0] {
	case '"':
		is, ok := wire.DecodeString(arg)
		return ok && is == text
	case 't', 'f':
		return string(arg) == text
	case '{', '[':
		return false
	default:
		is, ok := wholeNumber(string(arg))
		says, same := wholeNumber(text)
		return ok && same && is == says
	}
}

// wholeNumber returns the value of a JSON number that is whole and that a double
// holds exactly.
func wholeNumber(text string) (n int64, ok bool) {
	// longest exceeds any number in practice; a long exponent costs no time.
	const most, longest = 1<<53 - 1, 40
	if len(text) == 0 || len(text) > longest || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return 0, false
	}
	if _, exponent, has := strings.Cut(strings.ToLower(text), "e"); has {
		if e, err := strconv.Atoi(exponent); err != nil || e < -longest || e > longest {
			return 0, false
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	n = r.Num().Int64()
	return n, -most <= n && n <= most
}
