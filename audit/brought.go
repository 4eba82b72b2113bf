package audit

import (
	"bytes"
	"encoding/json"

	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// broughtKey begins the last member of the body of a record that has it.
const broughtKey = `,"brought":`

// maxBrought bounds the text of that member.
const maxBrought = len(broughtKey) + 128

// FindBrought returns what the call of a record brings, nil for nothing. It is the
// last member of the body, after one that every record has.
func (r *Record) FindBrought() *facts.Brought {
	if r.Brought != nil || !bytes.HasSuffix(r.Body, []byte("}}")) {
		return r.Brought
	}
	end := r.Body[max(len(r.Body)-maxBrought, 0) : len(r.Body)-1]
	i := bytes.LastIndex(end, []byte(broughtKey))
	var b facts.Brought
	// In a member of another one, more text would follow.
	if i < 0 || json.Unmarshal(end[i+len(broughtKey):], &b) != nil {
		return nil
	}
	return &b
}

// appendBrought appends the last member of a body.
func appendBrought(b []byte, f *facts.Brought) []byte {
	if f == nil {
		return b
	}
	b = appendTextUnlessEmpty(append(appendKey(b, "brought"), '{'), "session", f.Session)
	b = appendTrue(b, "private", f.Private)
	return append(appendTrue(b, "untrusted", f.Untrusted), '}')
}

// appendCarried appends what a call carried as a member, nothing for nil.
func appendCarried(b []byte, f *facts.Carried) []byte {
	if f == nil {
		return b
	}
	b = append(appendKey(b, "carried"), '{')
	b = appendTexts(b, "pieces", f.Pieces)
	b = appendTrue(b, "more", f.More)
	b = appendTrue(b, "unknown", f.Unknown)
	b = appendTextUnlessEmpty(b, "kinds", f.Kinds)
	b = appendTexts(b, "copied", f.Copied)
	return append(appendTrue(b, "wordless", f.Wordless), '}')
}

// appendTexts appends a list of texts as a member; nothing when it is empty.
func appendTexts(b []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(appendKey(b, key), '[')
	for i, text := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendPlainText(b, text)
	}
	return append(b, ']')
}
