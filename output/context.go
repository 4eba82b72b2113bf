package output

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// credentialName is the end of a name whose value is a credential. Keys that
// are no secrets, such as the one of a cache, are not here.
type credentialName struct {
	text string
	// least is the smallest value; passwords are shorter than tokens.
	least int
}

// names lists those of passwords, then those of tokens and keys.
var names = slices.Concat(
	namesOfLeast(12, "password", "passwd", "passphrase", "pwd", "secret", "_auth", `"auth`),
	namesOfLeast(16,
		"token", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key", "secretkey", "secret_key",
		"secret-key", "privatekey", "private_key", "private-key", "authkey", "auth_key", "auth-key", "signing_key",
		"signingkey", "encryption_key", "encryptionkey", "master_key", "masterkey", "accountkey", "account_key",
		"session_key", "credential", "credentials", "authorization", "x-amz-signature", "?key", "&key", "?sig", "&sig"),
)

func namesOfLeast(least int, texts ...string) (all []credentialName) {
	for _, text := range texts {
		all = append(all, credentialName{text, least})
	}
	return all
}

// contextAnchors returns the anchors of what the surroundings give away.
func contextAnchors() []anchor {
	all := []anchor{
		headAnchor("://", ruleURL, 0),
		headAnchor("bearer", ruleBearer, 0),
		headAnchor("basic", ruleBasic, 0),
		headAnchor("-----b", rulePEM, 0),
		headAnchor("eyJ", ruleJWT, 0),
		headAnchor("password", ruleNetrc, 0),
	}
	for i, n := range names {
		for _, b := range []byte("=:\"'\\") {
			all = append(all, tailAnchor(n.text+string(b), ruleName, i))
		}
	}
	return all
}

// maxBlanks bounds the blanks between a name and its value.
const maxBlanks = 8

// skipBlanks returns the index after at most maxBlanks blanks at i.
func skipBlanks(s string, i int) int {
	for end := i + maxBlanks; i < len(s) && i < end && (s[i] == ' ' || s[i] == '\t'); {
		i++
	}
	return i
}

// skipQuote returns the index after a quotation mark at i, escaped or not.
func skipQuote(s string, i int) int {
	for n := 0; n < maxBackslashes && i+1 < len(s) && s[i] == '\\'; n++ {
		i++
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'' || s[i] == '`') {
		return i + 1
	}
	return i
}

// findValue looks for the value of the name that the separator before end
// follows: name=value, name: value, "name": "value".
func findValue(s string, end, name int) (markedSpan, bool) {
	n := &names[name]
	i := end - 1
	for k := 0; k < maxBlanks && i > 0 && (s[i-1] == ' ' || s[i-1] == '\t'); k++ {
		i--
	}
	if i < len(n.text) || !strings.EqualFold(s[i-len(n.text):i], n.text) {
		return markedSpan{}, false
	}
	i = skipBlanks(s, skipQuote(s, end-1))
	if i >= len(s) || s[i] != '=' && s[i] != ':' {
		return markedSpan{}, false
	}
	i++
	if i < len(s) && (s[i] == '=' || s[i] == '>') {
		i++
	}
	start := skipQuote(s, skipBlanks(s, i))
	if word := skipScheme(s, start); n.text == "authorization" && word > start {
		start = word
	}
	stop := valueEnd(s, start)
	if stop-start < n.least || !looksRandom(s[start:stop]) {
		return markedSpan{}, false
	}
	return markedSpan{start, stop, markValue}, true
}

// skipScheme returns the index after the name of an authentication scheme at i.
func skipScheme(s string, i int) int {
	k := i
	for k < len(s) && k-i < 16 && (isAlnum(s[k]) || s[k] == '-') {
		k++
	}
	if end := skipBlanks(s, k); end > k {
		return end
	}
	return i
}

// valueEnd returns the end of an unbroken value at i; it is i when what is
// there is a reference, a placeholder or an expression. A separator ends the
// value, so that no value is looked at for two names.
func valueEnd(s string, i int) int {
	stop := i
	for stop < len(s) && s[stop] > ' ' && s[stop] < 0x7F && strings.IndexByte("\"'`\\,;:=&<>()[]{}|", s[stop]) < 0 {
		stop++
	}
	v := s[i:stop]
	switch {
	case stop < len(s) && strings.IndexByte("([{<", s[stop]) >= 0,
		strings.HasPrefix(s[stop:], "://"), strings.HasPrefix(v, "$"), strings.HasPrefix(v, "./"),
		strings.HasPrefix(v, "~/"), strings.HasPrefix(v, "/") && strings.Count(v, "/") > 2:
		return i
	}
	for n := 0; n < 2 && stop < len(s) && s[stop] == '='; n++ {
		stop++
	}
	return stop
}

// looksRandom reports whether a value looks generated. Generated text changes
// between lower case, upper case and digits about every second character,
// names and words do so every fourth or later and seldom to a digit and back
// twice; one run of twenty is longer than a word.
func looksRandom(v string) bool {
	const longWord, variety, switches = 20, 6, 4
	var seen [128]bool
	var runs, longest, run, chars, digits, distinct, mixed int
	last := byte(0)
	for i := range len(v) {
		b := v[i]
		k := charKind(b)
		if k == 0 {
			last, run = 0, 0
			continue
		}
		chars++
		if k == 'd' {
			digits++
		}
		if !seen[b&127] {
			seen[b&127] = true
			distinct++
		}
		if last != 0 && (k == 'd') != (last == 'd') {
			mixed++
		}
		if k != last && !(k == 'l' && last == 'u' && run == 1) {
			runs, run = runs+1, 0
		}
		last, run = k, run+1
		longest = max(longest, run)
	}
	if longest >= longWord {
		return true
	}
	// At most 3.1 characters a run, measured between generated values of
	// every alphabet and the names in the Go tree.
	return digits > 0 && digits < chars && distinct >= variety && (mixed >= switches || 10*chars <= 31*runs)
}

// charKind returns l, u or d for a lower or upper case letter or a digit,
// else 0.
func charKind(b byte) byte {
	switch {
	case isLower(b):
		return 'l'
	case isUpper(b):
		return 'u'
	case isDigit(b):
		return 'd'
	default:
		return 0
	}
}

// findPassword looks for the password in a URL whose "://" ends at end.
func findPassword(s string, end, _ int) (markedSpan, bool) {
	const most = 1 << 10
	if end < 3 || s[end-3:end] != "://" {
		return markedSpan{}, false
	}
	user := end
	for user < len(s) && user-end < most && urlByte(s[user]) && s[user] != ':' {
		user++
	}
	if user == len(s) || s[user] != ':' {
		return markedSpan{}, false
	}
	start := user + 1
	stop := start
	for stop < len(s) && stop-start < most && (urlByte(s[stop]) || s[stop] == '?' || s[stop] == '#') {
		stop++
	}
	if stop == start || stop == len(s) || s[stop] != '@' || isPlaceholder(s[start:stop]) {
		return markedSpan{}, false
	}
	return markedSpan{start, stop, markURL}, true
}

// urlByte reports whether b may stand in the user part of a URL, RFC 3986
// section 3.2.1, or is often left unescaped there.
func urlByte(b byte) bool {
	return b > ' ' && b != 0x7F && strings.IndexByte("/?#@\"'<>`\\", b) < 0
}

func isPlaceholder(v string) bool {
	for _, word := range [...]string{"pass", "password", "passwd", "pwd", "pw", "secret", "token"} {
		if strings.EqualFold(v, word) {
			return true
		}
	}
	return strings.Trim(v, "x") == "" || strings.Trim(v, "*.") == "" || strings.ContainsAny(v, "${}[]()") || strings.HasPrefix(v, "%s")
}

// findBearer looks for the token after the word that ends at end; RFC 6750
// section 2.1 gives its alphabet.
func findBearer(s string, end, _ int) (markedSpan, bool) {
	const least = 16
	start, ok := credentialsStart(s, end, "bearer")
	if !ok {
		return markedSpan{}, false
	}
	stop := start
	for stop < len(s) && (isBase64(s[stop]) || strings.IndexByte(".~=", s[stop]) >= 0) {
		stop++
	}
	if stop-start < least || !looksRandom(s[start:stop]) {
		return markedSpan{}, false
	}
	return markedSpan{start, stop, markBearer}, true
}

// findBasic looks for base64 of user:password after the word that ends at
// end, RFC 7617.
func findBasic(s string, end, _ int) (markedSpan, bool) {
	const least, most = 6, 1 << 10
	start, ok := credentialsStart(s, end, "basic")
	if !ok {
		return markedSpan{}, false
	}
	stop := padded.skipRun(s[:min(len(s), start+most)], start)
	v := strings.TrimRight(s[start:stop], "=")
	var buf [most]byte
	n, err := base64.RawStdEncoding.Decode(buf[:], []byte(v))
	dec := buf[:n]
	if err != nil || len(v) < least || !utf8.Valid(dec) || bytes.IndexByte(dec, ':') < 0 || slices.Min(dec) < ' ' {
		return markedSpan{}, false
	}
	return markedSpan{start, stop, markBasic}, true
}

// credentialsStart returns the start of what follows a scheme's name that
// ends at end.
func credentialsStart(s string, end int, scheme string) (int, bool) {
	i := end - len(scheme)
	if i < 0 || !strings.EqualFold(s[i:end], scheme) || i > 0 && isAlnum(s[i-1]) {
		return 0, false
	}
	start := skipBlanks(s, end)
	if start == end && strings.HasPrefix(s[end:], "%20") {
		start += 3
	}
	return start, start > end
}
