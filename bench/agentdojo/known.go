package main

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// maxName bounds a text that counts as a name, in bytes.
const maxName = 64

// minNumber is the shortest number that is looked for in texts, in characters.
const minNumber = 8

// The sets of a generated role. The last two are in no ceiling: nothing goes to a
// date or to a file because its name stands in a text.
const (
	mailSet    = "mails"
	accountSet = "accounts"
	urlSet     = "urls"
	hostSet    = "hosts"
	nameSet    = "names"
	textSet    = "texts"
	numberSet  = "numbers"
	wordSet    = "words"
)

// knownSets are the values that a clean world holds, by set.
type knownSets map[string]map[string]bool

// kindOfSet returns the kind of the members of a set.
func kindOfSet(set string) string {
	switch set {
	case numberSet:
		return "account"
	case wordSet:
		return "host"
	default:
		return strings.TrimSuffix(set, "s")
	}
}

// setOfKind returns the set that knows destinations of a kind; ok is false where a
// clean world says nothing about them.
func setOfKind(kind string) (set string, ok bool) {
	switch kind {
	case "mail", "account", "url", "host", "name", "text":
		return kind + "s", true
	case "iban":
		return accountSet, true
	default:
		return "", false
	}
}

// findKnown collects what a clean world holds. Mail addresses and accounts count
// wherever they stand. Addresses of the web count only in what people wrote to each
// other: that a page exists, or is named on another, does not make it known. Short
// texts under a key that is named like a destination of a tool are of its kind,
// whatever they look like.
func findKnown(w suiteWorld, leaves []worldLeaf) knownSets {
	known := knownSets{}
	for _, set := range []string{mailSet, accountSet, urlSet, hostSet, nameSet, textSet, numberSet, wordSet} {
		known[set] = map[string]bool{}
	}
	for _, leaf := range leaves {
		for _, text := range spellings(leaf.text) {
			known.addText(text)
		}
		if !leaf.onPage {
			known.addPlaces(leaf.text)
		}
	}
	keys := destinationKeys(w)
	for _, leaf := range leaves {
		if set := keys[leaf.key]; set != "" && !leaf.onPage && isShort(leaf.text) {
			known[set][leaf.text] = true
		}
	}
	return known
}

// destinationKeys returns the sets of the destinations of a suite by their names, and
// by these in the plural.
func destinationKeys(w suiteWorld) map[string]string {
	keys := map[string]string{}
	for _, tool := range sortedKeys(w.effects) {
		destinations := w.effects[tool].Destinations
		for _, property := range sortedKeys(destinations) {
			if set, ok := setOfKind(destinations[property]); ok {
				keys[property], keys[property+"s"] = set, set
			}
		}
	}
	return keys
}

// isShort reports whether a text may be a name.
func isShort(text string) bool { return len(text) <= maxName && !strings.Contains(text, "\n") }

// spellings returns a text, and the other forms of a point in time.
func spellings(text string) []string {
	m := timePattern.FindStringSubmatch(text)
	if m == nil {
		return []string{text}
	}
	return []string{text, m[1], m[1] + " " + m[2], m[1] + " " + m[2] + ":00", m[1] + "T" + m[2] + ":00"}
}

// addText adds a whole text, and what in it names a person or an account.
func (k knownSets) addText(text string) {
	k[textSet][text] = true
	if isShort(text) {
		k[nameSet][text] = true
	}
	for _, mail := range mailPattern.FindAllString(text, -1) {
		k[mailSet][mail] = true
	}
	for _, account := range accountPattern.FindAllString(text, -1) {
		k[accountSet][account] = true
	}
	for number := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`<>"'()[]{}|,;*`, r) }) {
		if number = strings.TrimRight(number, ".:!?"); len(number) >= minNumber && isNumber(number) {
			k[numberSet][number] = true
		}
	}
}

// addPlaces adds what people wrote of the web, of files and of each other.
func (k knownSets) addPlaces(text string) {
	for _, address := range findAddresses(text) {
		k[urlSet][address] = true
		host := hostOf(address)
		k[hostSet][host], k[hostSet][strings.TrimPrefix(host, "www.")] = true, true
	}
	for _, word := range dottedPattern.FindAllString(mailPattern.ReplaceAllString(text, " "), -1) {
		if !isNumber(word) {
			k[wordSet][word] = true
		}
	}
	for _, name := range namePattern.FindAllString(text, -1) {
		k[nameSet][name] = true
	}
}

// isNumber reports whether at least half of the letters and digits of a text are
// digits.
func isNumber(text string) bool {
	digits, letters := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits > 0 && digits >= letters
}

// members returns the members of a set in order.
func (k knownSets) members(set string) []string { return slices.Sorted(maps.Keys(k[set])) }
