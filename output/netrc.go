package output

import "strings"

// netrcBack bounds what is looked at in front of a password.
const netrcBack = 512

// findNetrc looks for the password of a netrc(5) entry, whose "password" ends
// at end: behind "machine HOST" or "default", with "login USER" or "account
// NAME" in between or not, over one line or several.
func findNetrc(s string, end, _ int) (markedSpan, bool) {
	start := end - len("password")
	if start <= 0 || s[start:end] != "password" || !isSpace(s[start-1]) || end == len(s) || !isSpace(s[end]) {
		return markedSpan{}, false
	}
	words := strings.Fields(s[max(0, start-netrcBack):start])
	for n := len(words); n >= 2 && (words[n-2] == "login" || words[n-2] == "account"); n = len(words) {
		words = words[:n-2]
	}
	n := len(words)
	if n == 0 || words[n-1] != "default" && (n < 2 || words[n-2] != "machine") || !entryBegins(s[:start], words[n-1]) {
		return markedSpan{}, false
	}
	for end < len(s) && isSpace(s[end]) {
		end++
	}
	stop := end
	for stop < len(s) && !isSpace(s[stop]) {
		stop++
	}
	if stop == end || isPlaceholder(s[end:stop]) {
		return markedSpan{}, false
	}
	return markedSpan{end, stop, markValue}, true
}

// entryBegins reports whether the last entry in front of a password,
// "default" or the machine of a name, begins a line: in prose it does not.
func entryBegins(s, name string) bool {
	i := strings.LastIndex(s, name)
	if name != "default" {
		i = strings.LastIndex(s[:i], "machine")
	}
	i = blanksStart(s, i)
	return i == 0 || s[i-1] == '\n'
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }
