package output

import "strings"

// findJWT looks for a compact JWS or JWE, RFC 7515 and 7516: at least two
// dots, the first part a JSON object.
func findJWT(s string, end, _ int) (markedSpan, bool) {
	const least = 10
	start := end - 3
	if start < 0 || s[start:end] != "eyJ" || start > 0 && dashed.contains(s[start-1]) {
		return markedSpan{}, false
	}
	i := dashed.skipRun(s, end)
	if i-start < least || i >= len(s) || s[i] != '.' {
		return markedSpan{}, false
	}
	part := i + 1
	i = dashed.skipRun(s, part)
	encrypted := i == part // the direct key of a JWE is empty
	if !encrypted && i-part < least || i >= len(s) || s[i] != '.' {
		return markedSpan{}, false
	}
	return markedSpan{start, dotted.skipRun(s, i), markJWT}, true
}

// findKey looks for a private key in PEM, RFC 7468, or OpenPGP armour whose
// "-----B" ends at end. Without its end line a header takes the lines of
// base64 that follow.
func findKey(s string, end, _ int) (markedSpan, bool) {
	const rule, most = "-----", 64
	start := end - len("-----B")
	if start < 0 || !strings.HasPrefix(s[start:], "-----BEGIN ") {
		return markedSpan{}, false
	}
	label := s[end:min(len(s), end+most)]
	n := strings.Index(label, rule)
	if n < 0 || !strings.Contains(label[:n], "PRIVATE KEY") {
		return markedSpan{}, false
	}
	body := end + n + len(rule)
	k := strings.Index(s[body:], rule)
	if k < 0 || !strings.HasPrefix(s[body+k:], "-----END ") {
		return markedSpan{start, skipKeyLines(s, body), markKey}, true
	}
	if !hasDigits(s[body : body+k]) {
		return markedSpan{start, body, markKey}, true
	}
	stop := body + k + len(rule)
	if n := strings.Index(s[stop:min(len(s), stop+most)], rule); n >= 0 {
		stop += n + len(rule)
	}
	return markedSpan{start, stop, markKey}, true
}

// leastLine is the smallest run of base64 that counts as a line of a key.
const leastLine = 16

// hasDigits reports whether text has a line of a key in it.
func hasDigits(text string) bool {
	for i := 0; i < len(text); i++ {
		end := padded.skipRun(text, i)
		if end-i >= leastLine {
			return true
		}
		i = end
	}
	return false
}

// skipKeyLines returns the end of the lines of base64 at i, as they are or with
// escaped line ends.
func skipKeyLines(s string, i int) int {
	for {
		k := i
		for k < len(s) && (s[k] <= ' ' || s[k] == '\\' && k+1 < len(s) && (s[k+1] == 'n' || s[k+1] == 'r')) {
			if s[k] == '\\' {
				k++
			}
			k++
		}
		end := padded.skipRun(s, k)
		if end-k < leastLine {
			return i
		}
		i = end
	}
}
