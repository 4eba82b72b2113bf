package clients

import (
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sallyport/sallyport/internal/text"
)

// secretWords are parts of names that secrets have.
var secretWords = []string{
	"apikey", "auth", "authorization", "bearer", "cookie", "cred", "credential", "credentials", "creds", "dsn", "jwt", "key", "keys",
	"otp", "pass", "passcode", "passphrase", "passwd", "password", "pat", "private", "pw", "pwd", "secret", "secrets", "signature",
	"token", "tokens", "totp",
}

// secretBegin lists how the keys of well-known services begin.
var secretBegin = text.Pattern(`^(gh[opsur]_|github_pat_|glpat-|sk-|sk_|pk_live|rk_live|xox[a-z]-|xapp-|AKIA|ASIA|AIza|ya29\.|npm_|hf_|eyJ[A-Za-z0-9_-]+\.|-----BEGIN |ntn_|secret_|lin_api_|shpat_|dop_v1_|pypi-)`)

var (
	// secretText is what keys look like: one text of their usual signs.
	secretText = text.Pattern(`^[A-Za-z0-9+/=_.~:-]{20,}$`)
	// secretPart is the part of one that is longer than people's words are.
	secretPart = text.Pattern(`[A-Za-z0-9+/]{16,}`)
	// assignment is a name in a text, up to where its value begins.
	assignment = text.Pattern(`([A-Za-z][A-Za-z0-9_.-]*)["'\]})]{0,3}[ \t]*[:=][ \t]*`)
	// uuid is what some services take for a key.
	uuid = text.Pattern(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// SecretName reports whether a name, of a variable, a header or an option, is
// one that secrets have.
func SecretName(name string) bool {
	return slices.ContainsFunc(splitWords(name), func(word string) bool { return slices.Contains(secretWords, word) }) ||
		strings.Contains(strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)), "apikey")
}

// strong are words for secrets that no other word holds, in whatever a name joins
// them with: PGPASSWORD, CLIENTSECRET, authtoken.
var strong = text.Pattern(`passw|passphrase|passcode|secret|credential|apikey|accesskey|privatekey|(token|pass|pwd|auth|cookie|dsn|creds)$`)

// strongName reports whether a name holds such a word.
func strongName(name string) bool {
	return strong().MatchString(strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name)))
}

// splitWords splits a name at signs, and where its case changes.
func splitWords(name string) []string {
	var out []string
	begin, lower := 0, false
	flush := func(end int) {
		if end > begin {
			out = append(out, strings.ToLower(name[begin:end]))
		}
	}
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			begin = i + len(string(r))
		case unicode.IsUpper(r) && lower:
			flush(i)
			begin = i
		}
		lower = unicode.IsLower(r)
	}
	flush(len(name))
	return out
}

// SecretPair reports whether a value looks like a secret, by its name or by
// itself. It errs on that side: what is held back is asked for, and what is
// copied cannot be taken back.
func SecretPair(name, value string) bool {
	switch {
	case value == "":
		return false
	case isTrivial(value):
		return passwordName(name) && len(value) >= minDigits
	case filepath.IsAbs(value):
		return SecretName(name) && !plainPath(value)
	default:
		return SecretName(name) || passwordEnd().MatchString(strings.ToLower(name)) || SecretText(value)
	}
}

// minDigits is the shortest number that is taken for a password.
const minDigits = 4

// passwordEnd ends a word that joins one for a password with another.
var passwordEnd = text.Pattern(`(password|passwd|passphrase|passcode|secret|pwd)$`)

// passwordName reports whether a name ends in a word for what people make up:
// MAX_TOKENS is a number, and so may DB_PASSWORD be.
func passwordName(name string) bool {
	list := splitWords(name)
	return len(list) > 0 && passwordEnd().MatchString(list[len(list)-1]) || len(list) > 0 && slices.Contains([]string{"creds", "otp", "pass", "passphrase", "passwd", "password", "pin", "pw", "pwd", "secret"}, list[len(list)-1])
}

// numberName reports whether a name is one of a single secret or code, which may
// be a number: MAX_TOKENS is none.
func numberName(name string) bool {
	list := splitWords(name)
	return len(list) > 0 && slices.Contains([]string{"apikey", "auth", "code", "key", "pat", "token"}, list[len(list)-1])
}

// plainPath reports whether what begins like a path is one: a key in base64 may
// begin with a slash too.
func plainPath(value string) bool {
	return !strings.ContainsAny(value, "+=") && !slices.ContainsFunc(strings.Split(value, "/"), func(part string) bool {
		return slices.ContainsFunc(secretPart().FindAllString(part, -1), looksRandom)
	})
}

// isTrivial reports whether a value is a number or a switch.
func isTrivial(value string) bool {
	_, err := strconv.ParseFloat(value, 64)
	return err == nil && len(value) < 12 || slices.Contains([]string{"true", "false", "yes", "no", "on", "off"}, strings.ToLower(value))
}

// SecretText reports whether a text, or a word in it, looks like a secret by
// itself: the key of a well-known service, a password in an address, a long
// word at random, or what a text such as "Password=x" or "X-Api-Key: x" names so.
func SecretText(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("=,;\"'()<>[]{}|", r) })
	return secretWord(text) || slices.ContainsFunc(words, secretWord) || assignsSecret(text)
}

// assignsSecret reports whether a text names a part of itself as secrets are named.
func assignsSecret(text string) bool {
	return slices.ContainsFunc(assignment().FindAllStringSubmatchIndex(text, -1), func(at []int) bool {
		name, value := text[at[2]:at[3]], strings.TrimLeft(text[at[1]:], `"'`)
		if end := strings.IndexAny(value, " \t\r\n\"',;)]}"); end >= 0 {
			value = value[:end]
		}
		return (SecretName(name) || passwordEnd().MatchString(strings.ToLower(name))) && SecretPair(name, value)
	})
}

// secretWord is SecretText for a text without what separates words.
func secretWord(text string) bool {
	if secretBegin().MatchString(text) {
		return true
	}
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		_, password := u.User.Password()
		return password || SecretText(u.User.Username()) || slices.ContainsFunc(queryNames(u), queryName) ||
			slices.ContainsFunc(strings.Split(u.Path, "/"), func(part string) bool { return part != "" && SecretText(part) })
	}
	if !secretText().MatchString(text) || strings.HasPrefix(text, "/") {
		return false
	}
	return uuid().MatchString(text) || slices.ContainsFunc(secretPart().FindAllString(text, -1), looksRandom)
}

// queryName is SecretName for a parameter of an address.
func queryName(name string) bool {
	return SecretName(name) || slices.Contains([]string{"access", "code", "k", "sig"}, strings.ToLower(name))
}

func queryNames(u *url.URL) (names []string) {
	for name := range u.Query() {
		names = append(names, name)
	}
	return names
}

// looksRandom reports whether a word is not one that people make: letters and
// digits, and more than three bits to a sign. Hexadecimal has at most four, a
// name of a package rarely a digit in every fourth place.
func looksRandom(text string) bool {
	count := map[rune]float64{}
	digits := 0
	for _, r := range text {
		count[r]++
		if '0' <= r && r <= '9' {
			digits++
		}
	}
	bits := 0.0
	for _, n := range count {
		p := n / float64(len(text))
		bits -= p * math.Log2(p)
	}
	return digits*10 >= len(text) && bits > 3 && strings.ContainsFunc(text, unicode.IsLetter)
}
