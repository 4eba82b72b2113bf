package auth

import "strings"

// maxBearerBytes bounds a token before anything looks at it. A token of an
// issuer with many groups has a few thousand bytes; a server's headers have 64
// KiB together.
const maxBearerBytes = 16 << 10

// bearerToken returns the token of the Authorization headers of a request: one
// header, of the scheme Bearer, with a token in the alphabet of RFC 6750. Two
// headers are none: another program on the way may have looked at the other.
func bearerToken(headers []string) (string, bool) {
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(headers[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token = strings.Trim(token, " ")
	return token, tokenText(token)
}

// tokenText reports whether a text is a b64token of RFC 6750.
func tokenText(token string) bool {
	body := strings.TrimRight(token, "=")
	return body != "" && len(token) <= maxBearerBytes && consistsOf(body, "-._~+/")
}

// headerFault says why the Authorization headers of a request hold no token.
func headerFault(headers []string) string {
	switch len(headers) {
	case 0:
		return "the request has no Authorization header"
	case 1:
		return "the Authorization header is not of the scheme Bearer with one token"
	default:
		return "the request has several Authorization headers"
	}
}
