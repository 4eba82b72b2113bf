package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport/schema"
)

// Bounds of the claims of a token.
const (
	claimDepth = 16
	claimNodes = 2000
	// maxSubject bounds a name, in bytes; OpenID Connect allows a sub 255.
	maxSubject = 255
)

// tokenClaims is the payload of a token, read strictly: a key that is there
// twice is refused, and names are compared byte by byte.
type tokenClaims map[string]any

func readClaims(payload []byte) (tokenClaims, error) {
	v, err := schema.Decode(payload, &schema.Limits{Depth: claimDepth, Bytes: maxBearerBytes, Nodes: claimNodes})
	if err != nil {
		return nil, fmt.Errorf("the payload %w", err)
	}
	c, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the payload is no object")
	}
	return c, nil
}

func (c tokenClaims) checkParties(issuer, audience string) error {
	if c["iss"] != any(issuer) {
		return errors.New("iss is another issuer")
	}
	switch aud := c["aud"].(type) {
	case string:
		if aud == audience {
			return nil
		}
	case []any:
		if slices.Contains(aud, any(audience)) {
			return nil
		}
	}
	return errors.New("aud names another audience")
}

// checkTimes checks that the token is valid now. Without an end it counts
// never.
func (c tokenClaims) checkTimes(now time.Time) error {
	end, ok, err := c.readTime("exp")
	switch {
	case err != nil:
		return err
	case !ok:
		return errors.New("exp is missing")
	case !now.Before(end.Add(oidcLeeway)):
		return errors.New("the token is expired")
	}
	for _, key := range []string{"nbf", "iat"} {
		at, ok, err := c.readTime(key)
		if err != nil {
			return err
		}
		if ok && now.Add(oidcLeeway).Before(at) {
			return fmt.Errorf("%s is in the future", key)
		}
	}
	return nil
}

// readTime reads seconds since 1970, up to the year 9999.
func (c tokenClaims) readTime(key string) (t time.Time, ok bool, err error) {
	v, ok := c[key]
	if !ok {
		return t, false, nil
	}
	const latest = 253402300799
	number, isNumber := v.(json.Number)
	seconds, err := number.Float64()
	if !isNumber || err != nil || seconds < 0 || seconds > latest {
		return t, false, fmt.Errorf("%s is no moment", key)
	}
	return time.Unix(int64(seconds), 0), true, nil
}

func (c tokenClaims) readName(claim string) (string, error) {
	name, ok := c[claim].(string)
	switch {
	case !ok || name == "":
		return "", fmt.Errorf("%s is missing", claim)
	case len(name) > maxSubject || !utf8.ValidString(name) || strings.ContainsFunc(name, isBlank):
		return "", fmt.Errorf("%s is no name", claim)
	case claim == "email" && c["email_verified"] != any(true):
		return "", errors.New("the issuer did not verify the email address")
	}
	return name, nil
}

// readPermissions reads a list or a text with spaces; an absent claim holds
// none. Anything else refuses the token: what it means cannot be guessed.
func (c tokenClaims) readPermissions(claim string) ([]string, error) {
	var held []string
	switch v := c.lookUp(claim).(type) {
	case nil:
		return nil, nil
	case string:
		held = strings.Fields(v)
	case []any:
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("%s holds something that is no text", claim)
			}
			held = append(held, s)
		}
	default:
		return nil, fmt.Errorf("%s is neither a list nor a text", claim)
	}
	held = unionOf(held, nil)
	return held, checkListed(claim, held)
}

// lookUp returns the claim of a name, or what a name with dots leads to.
func (c tokenClaims) lookUp(claim string) any {
	if v, ok := c[claim]; ok || claim == "" {
		return v
	}
	var at any = map[string]any(c)
	for part := range strings.SplitSeq(claim, ".") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[part]
	}
	return at
}
