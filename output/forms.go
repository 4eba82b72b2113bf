package output

// visibleChars returns the characters of a needle but those that the text may
// have lost.
func visibleChars(raw string) []rune {
	var chars []rune
	for _, u := range splitUnits(raw) {
		if !u.optional || u.r == ' ' {
			chars = append(chars, u.r)
		}
	}
	return chars
}

// collapseRuns returns chars with one blank for several and one backslash for
// several: text is reflowed, and escaped more than once.
func collapseRuns(chars []rune) []rune {
	n := 0
	for _, r := range chars {
		if n > 0 && r == chars[n-1] && (r == ' ' || r == '\\') {
			continue
		}
		chars[n] = r
		n++
	}
	return chars[:n]
}

func bytesAsChars(s string) []rune {
	chars := make([]rune, len(s))
	for i := range len(s) {
		chars[i] = rune(s[i])
	}
	return chars
}

