package provenance

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
)

// An entity is a piece of a text that names a place: an address, a URL, a host, an
// account or a number.
type entity struct {
	kind sallyport.ValueKind
	text string
}

// visitEntities calls visit for the entities of a text until it returns false. It
// finds more than a person would: a piece too many costs a look into the memory.
func visitEntities(text string, visit func(entity) bool) bool {
	return visitSeen(text, marksOf(text), visit)
}

// visitSeen is visitEntities for a text of which it is known what its bytes stand for.
func visitSeen(text string, seen marks, visit func(entity) bool) bool {
	switch {
	case seen&ofEntity == 0:
		return true
	case len(text) < minValue && seen&hasAt == 0 && seen&(hasStop|hasSlash) != hasStop|hasSlash:
		return true // too short for a host or a number, and no URL
	case seen&(isRune|betweenWords) == 0:
		return visitToken(text, seen, visit)
	}
	var digits digitGroup
	for at := 0; at < len(text); {
		start := at
		end, next, seenHere := endOfToken(text, at)
		if at = next; end == start {
			continue
		}
		token := text[start:end]
		if seenHere&ofEntity != 0 && !visitToken(token, seenHere, visit) || seen&hasDigit != 0 && !digits.addToken(token, visit) {
			return false
		}
	}
	return digits.flush(visit)
}

// marks is a set of what the bytes of a text stand for.
type marks uint16

const (
	hasDigit marks = 1 << iota
	hasAt
	hasStop // a mark between the parts of an address that also ends a sentence
	hasSlash
	hasEquals
	hasCode      // a mark with which the code of a character begins
	isRune       // a part of a character beyond ASCII
	betweenWords // it separates words
	hasFold      // a folded text has another byte for it, or none
)

// ofEntity are the marks without one of which a word names nothing.
const ofEntity = hasDigit | hasAt | hasStop

// classes has what each byte stands for.
var classes = func() (set [256]marks) {
	for c := range set {
		switch {
		case c >= utf8.RuneSelf:
			set[c] = isRune
		case c <= ' ' || c == 0x7f || strings.ContainsRune("<>\"'`()[]{}|,;*", rune(c)):
			set[c] = betweenWords
		case '0' <= c && c <= '9':
			set[c] = hasDigit
		case isCode(byte(c)):
			set[c] = hasCode
		}
		if c >= utf8.RuneSelf || foldedASCII[c] != byte(c) || c == 0 {
			set[c] |= hasFold
		}
	}
	set['@'], set['.'], set[':'], set['/'], set['='] = hasAt, hasStop, hasStop, hasSlash, hasEquals
	return set
}()

// marksOf returns what the bytes of a text stand for.
func marksOf(text string) (seen marks) {
	var other marks // so that two bytes are looked at at once
	for ; len(text) >= 4; text = text[4:] {
		seen |= classes[text[0]] | classes[text[1]]
		other |= classes[text[2]] | classes[text[3]]
	}
	for i := range len(text) {
		seen |= classes[text[i]]
	}
	return seen | other
}

// endOfToken returns where the word that begins at a place ends, where to go on, and
// what the bytes of the word stand for.
func endOfToken(text string, at int) (end, next int, seen marks) {
	for at < len(text) {
		class := classes[text[at]]
		switch {
		case class&(isRune|betweenWords) == 0:
			seen |= class
			at++
		case class&betweenWords != 0:
			return at, at + 1, seen
		default:
			r, size := utf8.DecodeRuneInString(text[at:])
			if unicode.IsSpace(r) || strings.ContainsRune("“”„«»", r) {
				return at, at + size, seen
			}
			at += size
		}
	}
	return at, at, seen
}

// visitToken visits what one word names, of which it is known what its bytes stand for.
func visitToken(token string, seen marks, visit func(entity) bool) bool {
	whole := len(token)
	if token = trimSentence(token); len(token) < whole {
		if seen = marksOf(token); seen&ofEntity == 0 {
			return true // it has the mark that ends a sentence, and no other
		}
	}
	if seen&(hasStop|hasSlash) == hasStop|hasSlash {
		if scheme := indexScheme(token); scheme > 0 {
			start := scheme
			for start > 0 && isSchemeByte(token[start-1]) {
				start--
			}
			return visitURL(token[start:], visit)
		}
	}
	if seen&hasAt != 0 {
		if at := strings.IndexByte(token, '@'); at > 0 {
			start := at
			for start > 0 && token[start-1] != ':' && token[start-1] != '=' {
				start--
			}
			return visit(entity{kind: effect.Mail, text: token[start:]})
		}
		return visitPlain(token, seen, true, visit)
	}
	if seen&hasEquals != 0 {
		value := strings.LastIndexByte(token, '=') + 1
		if name := token[:value]; strings.IndexByte(name, '.') > 0 && !visitPlain(name, seen, false, visit) { // example.com/?q=
			return false
		}
		token = token[value:]
	}
	return visitPlain(token, seen, false, visit)
}

// indexScheme returns where the scheme of a URL ends in a word; -1 when none does.
func indexScheme(token string) int {
	for at := 0; ; at++ {
		colon := strings.IndexByte(token[at:], ':')
		if colon < 0 {
			return -1
		}
		if at += colon; strings.HasPrefix(token[at:], "://") {
			return at
		}
	}
}

// visitPlain visits what a word names that is no whole URL and no address, of which, or of
// the word around it, it is known what its bytes stand for. One with whole counts as it stands:
// it begins with "@".
func visitPlain(token string, seen marks, whole bool, visit func(entity) bool) bool {
	if !whole {
		if len(token) < minValue {
			return true
		}
		token = trimLabel(token)
	}
	dot := -1
	if seen&hasStop != 0 {
		dot = strings.IndexByte(token, '.')
	}
	switch digits := seen&hasDigit != 0; {
	case dot > 0 && seen&hasSlash != 0 && strings.IndexByte(token, '/') > dot:
		return visitURL(token, visit)
	case dot > 0 && !(digits && isMostlyDigits(token)):
		return visit(entity{kind: effect.Host, text: hostOf(token)})
	case digits && len(token) >= minValue && !beginsWithDate(token) && isMostlyDigits(token):
		return visit(entity{kind: effect.Account, text: token})
	}
	return true
}

// trimSentence drops the marks that end a sentence.
func trimSentence(token string) string {
	for n := len(token); n > 0; n-- {
		switch token[n-1] {
		case '.', ':', '!', '?':
		default:
			return token[:n]
		}
	}
	return ""
}

// visitURL visits a URL and its host: what stands behind a host can be made up,
// and carry something to it.
func visitURL(url string, visit func(entity) bool) bool {
	host := canonicalURL(url)
	start, end := 0, len(host) // of the host, behind a name and a password
	port := -1
	for i := 0; i < end; i++ {
		switch host[i] {
		case '/', '?', '#':
			end = i
		case '@':
			start, port = i+1, -1
		case ':', '\\':
			if port < 0 {
				port = i
			}
		}
	}
	if port > start {
		end = port
	}
	return visit(entity{kind: effect.URL, text: url}) && visit(entity{kind: effect.Host, text: host[start:end]})
}

// hostOf drops what stands behind a host: a port, or what was asked there.
func hostOf(host string) string {
	for i := range len(host) {
		switch host[i] {
		case ':', '/', '?', '#', '\\':
			if i > 0 {
				return host[:i]
			}
			return host
		}
	}
	return host
}

// trimLabel drops what stands before a host without a whole scheme: "site:" or "https:/".
func trimLabel(token string) string {
	for i := range len(token) {
		if c := token[i]; c == ':' || !isSchemeByte(c) {
			if c == ':' {
				token = token[i+1:]
			}
			for token != "" && (token[0] == '/' || token[0] == '\\') {
				token = token[1:]
			}
			return token
		}
	}
	return token
}

func isSchemeByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '-'
}

// beginsWithDate reports whether a word is a date, or a date and a time: 2026-11-26,
// 26.11.2026 or 2026/11/26T10:00. Agents write dates that they have read all the time.
func beginsWithDate(token string) bool {
	if len(token) < len("2026-11-26") {
		return false
	}
	var divided [len("2026-11-26")]bool
	for i := range divided {
		switch c := token[i]; {
		case c == '-' || c == '.' || c == '/':
			divided[i] = true
		case c < '0' || c > '9':
			return false
		}
	}
	rest := token[len(divided):]
	return (divided == yearFirst || divided == yearLast) && (rest == "" || rest[0] == 'T' || rest[0] == ':')
}

// The marks in a date, where the year comes first and where it comes last.
var (
	yearFirst = [len("2026-11-26")]bool{4: true, 7: true}
	yearLast  = [len("26-11-2026")]bool{2: true, 5: true}
)

// isMostlyDigits reports whether at least half of the letters and digits of a text
// are digits.
func isMostlyDigits(s string) bool {
	digits, letters := countDigits(s)
	return digits > 0 && digits >= letters
}

func countDigits(s string) (digits, letters int) {
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c >= 0x80:
			letters++
		}
	}
	return digits, letters
}

const (
	// maxPiece is the longest piece into which people divide an account or a number,
	// in bytes.
	maxPiece = 4
	// maxGroup bounds the pieces that are joined: an IBAN has at most nine.
	maxGroup = 12
)

// digitGroup holds the short words that stand beside each other, some of which may be
// the pieces of an account or a number.
type digitGroup struct {
	pieces [maxGroup]digitPiece
	n      int
	digits int // of all pieces
}

// digitPiece is a word of maxPiece bytes at most, and how many digits and letters it has.
type digitPiece struct {
	bytes                 [maxPiece]byte
	size, digits, letters uint8
}

func (g *digitGroup) addToken(token string, visit func(entity) bool) bool {
	if token = trimSentence(token); len(token) > maxPiece || token == "" {
		return g.flush(visit)
	}
	digits, letters := countDigits(token)
	if digits+letters < len(token) {
		return g.flush(visit)
	}
	if g.n == maxGroup && !g.flush(visit) {
		return false
	}
	p := &g.pieces[g.n]
	p.size, p.digits, p.letters = uint8(copy(p.bytes[:], token)), uint8(digits), uint8(letters)
	g.n++
	g.digits += digits
	return true
}

// flush visits what neighbouring pieces make together.
func (g *digitGroup) flush(visit func(entity) bool) bool {
	pieces, any := g.pieces[:g.n], g.digits > 0
	if g.n, g.digits = 0, 0; !any {
		return true
	}
	for start := range pieces {
		digits, letters := int(pieces[start].digits), int(pieces[start].letters)
		for end := start + 1; end < len(pieces); end++ {
			digits, letters = digits+int(pieces[end].digits), letters+int(pieces[end].letters)
			if digits+letters < minValue || digits < letters {
				continue
			}
			if !visit(entity{kind: effect.Account, text: joinPieces(pieces[start : end+1])}) {
				return false
			}
		}
	}
	return true
}

func joinPieces(pieces []digitPiece) string {
	var b strings.Builder
	for i := range pieces {
		b.Write(pieces[i].bytes[:pieces[i].size])
	}
	return b.String()
}
