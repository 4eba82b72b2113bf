package egress

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
)

// A value takes the place of a stand-in where the stand-in is all that a server
// reads there: a whole header, parameter, cookie, JSON string, user or password.
// Beside other text it might be read as another value, such as behind the
// beginning of an escape, and come back in a form that nothing recognises.

// everyPrefix lists the texts that may stand in front of any stand-in.
var everyPrefix = [...]string{"Bearer ", "token "}

// standInValue is a value that may travel to a host.
type standInValue struct {
	placeholder, value string
	prefixes           []string
}

// misplacedAt says where a stand-in stands that is not a whole value there; empty
// when each of them is.
type misplacedAt string

// errMisplaced is the cause of a refusal for the place of a stand-in.
var errMisplaced = errors.New("a stand-in is no whole value")

func (m misplacedAt) newRefusal(where string) error {
	err := sallyport.HostError(where, "is sent the stand-in of a secret "+string(m)+", where no secret is put in")
	err.Err = errMisplaced
	return err
}

// fixPlace is what the operator may do about a misplaced stand-in.
const fixPlace = "send it as a whole header, query or form parameter, cookie, JSON string, or user or password of Basic credentials, " +
	"or add the text in front of it to the prefixes beside the secret"

func (s *hostSwap) mentionsStandIn(text string) bool {
	return slices.ContainsFunc(s.standIns, func(in standInValue) bool { return strings.Contains(text, in.placeholder) })
}

// mentionedFolded is mentioned for text whose letters have lost their case.
func (s *hostSwap) mentionedFolded(text string) bool {
	return slices.ContainsFunc(s.standIns, func(in standInValue) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(in.placeholder))
	})
}

// matchWhole returns the insertion whose stand-in is text, behind nothing or a
// declared prefix, and that prefix as it is written. decode undoes the escapes
// of the place, once.
func (s *hostSwap) matchWhole(text string, decode func(string) (string, error)) (in standInValue, front string, ok bool) {
	for _, in := range s.standIns {
		front, ok := strings.CutSuffix(text, in.placeholder)
		if !ok {
			continue
		}
		plain, err := decode(front)
		if err == nil && (plain == "" || slices.ContainsFunc(in.prefixes, func(p string) bool { return strings.EqualFold(p, plain) })) {
			return in, front, true
		}
	}
	return in, "", false
}

func asIs(s string) (string, error) { return s, nil }

func (s *hostSwap) fillHeaders(h http.Header) misplacedAt {
	for name, values := range h {
		if s.mentionedFolded(name) {
			return "in the name of a header"
		}
		for i, v := range values {
			filled, bad := s.fillHeader(name, v)
			switch {
			case bad != "":
				return bad
			case filled != v && len(values) > 1:
				return misplacedAt("in the repeated header " + name) // servers join the lines
			}
			values[i] = filled
		}
	}
	return ""
}

// fillHeader fills one field. Clients encode Basic credentials (RFC 7617) before
// they come here.
func (s *hostSwap) fillHeader(name, v string) (string, misplacedAt) {
	if scheme, credentials, ok := parseBasic(v); ok && s.mentionsStandIn(credentials) {
		return s.fillBasic(name, scheme, credentials)
	}
	if !s.mentionsStandIn(v) {
		return v, ""
	}
	if name == "Cookie" {
		return s.fillCookies(v)
	}
	in, front, ok := s.matchWhole(v, asIs)
	if !ok || !isFieldText(in.value) {
		return v, misplacedAt("beside other text in the header " + name)
	}
	return front + in.value, ""
}

// isFieldText reports whether a server reads a value as it is in a field.
func isFieldText(v string) bool {
	return strings.Trim(v, " \t") == v && !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func (s *hostSwap) fillBasic(name, scheme, credentials string) (string, misplacedAt) {
	bad := misplacedAt("beside other text in the Basic credentials of the header " + name)
	user, password, ok := strings.Cut(credentials, ":")
	if !ok {
		return "", bad
	}
	parts := [...]string{user, password}
	for i, part := range parts {
		if !s.mentionsStandIn(part) {
			continue
		}
		in, front, ok := s.matchWhole(part, asIs)
		if !ok || i == 0 && strings.Contains(in.value, ":") {
			return "", bad
		}
		parts[i] = front + in.value
	}
	return scheme + " " + base64.StdEncoding.EncodeToString([]byte(parts[0]+":"+parts[1])), ""
}

func parseBasic(v string) (scheme, credentials string, ok bool) {
	scheme, encoded, ok := strings.Cut(v, " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(encoded), "="))
	return scheme, string(b), err == nil
}

// fillCookies fills the value of a Cookie field (RFC 6265, section 4.2.1).
func (s *hostSwap) fillCookies(v string) (string, misplacedAt) {
	cookies := strings.Split(v, ";")
	for i, one := range cookies {
		if !s.mentionsStandIn(one) {
			continue
		}
		name, value, ok := strings.Cut(one, "=")
		in, front, whole := s.matchWhole(value, asIs)
		if !ok || !whole || s.mentionsStandIn(name) || !isCookieText(in.value) {
			return "", "beside other text in a cookie"
		}
		cookies[i] = name + "=" + front + in.value
	}
	return strings.Join(cookies, ";"), ""
}

// isCookieText reports whether a value is made of the octets of a cookie.
func isCookieText(v string) bool {
	return !strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`",;\`, r) })
}

// fillPairs fills names and values in the form of a query. where says which.
func (s *hostSwap) fillPairs(text, where string) (string, misplacedAt) {
	if !s.mentionsStandIn(text) {
		return text, ""
	}
	pairs := strings.Split(text, "&")
	names := make(map[string]int, len(pairs))
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		names[name]++
	}
	for i, pair := range pairs {
		if !s.mentionsStandIn(pair) {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		in, front, whole := s.matchWhole(value, url.QueryUnescape)
		switch {
		case !ok || !whole || err != nil || s.mentionsStandIn(name):
			return "", misplacedAt("beside other text in " + where)
		case names[plain] > 1:
			return "", misplacedAt("in a repeated parameter of " + where) // servers join them
		}
		pairs[i] = name + "=" + front + url.QueryEscape(in.value)
	}
	return strings.Join(pairs, "&"), ""
}

func (s *hostSwap) fillJSON(text string) (string, misplacedAt) {
	const bad = misplacedAt("beside other text in a JSON body")
	if !s.mentionsStandIn(text) {
		return text, ""
	}
	if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
		return "", "in a body that is no JSON"
	}
	var out strings.Builder
	for {
		// Outside of strings valid JSON has neither quotation marks nor text.
		open := strings.IndexByte(text, '"')
		if open < 0 {
			break
		}
		end := open + 1
		for text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		inner, rest := text[open+1:end], text[end:]
		if s.mentionsStandIn(inner) {
			in, front, ok := s.matchWhole(inner, unquoteJSON)
			if !ok || strings.HasPrefix(strings.TrimLeft(rest[1:], " \t\r\n"), ":") || !utf8.ValidString(in.value) {
				return "", bad
			}
			inner = front + quoteJSON(in.value)
		}
		out.WriteString(text[:open+1] + inner + `"`)
		text = rest[1:]
	}
	out.WriteString(text)
	return out.String(), ""
}

func unquoteJSON(inner string) (text string, err error) {
	err = json.Unmarshal([]byte(`"`+inner+`"`), &text)
	return text, err
}

func quoteJSON(text string) string {
	b, _ := json.Marshal(text) // strings always marshal
	return string(b[1 : len(b)-1])
}
