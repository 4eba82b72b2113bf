package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	// maxAnswersBytes bounds what a client brings as answers to questions: a
	// decision and a word take a few kilobytes.
	maxAnswersBytes = 64 << 10
	// maxKeptMessage bounds a message that is kept, mostly decoded, for as long
	// as a session or a stream of changes is open.
	maxKeptMessage = 64 << 10
)

// short refuses a message that would be kept and is too long for it.
func (e *envelope) short(length int) error {
	if (e.method == "initialize" || e.method == methodListen) && length > maxKeptMessage {
		return fmt.Errorf("%s is longer than %d bytes", e.method, maxKeptMessage)
	}
	return nil
}

// each holds answers by name to what [once] wants of one.
func each(answers json.RawMessage) error {
	if len(answers) > maxAnswersBytes {
		return errors.New("the answers are too long")
	}
	if len(answers) == 0 || answers[0] != '{' {
		return nil // the library says what is wrong
	}
	all, err := members(nil, answers)
	if err != nil {
		return err
	}
	for i := range all {
		if err := once(all[i].value); err != nil {
			return err
		}
	}
	return nil
}

// once refuses an answer that is too long, or that says two things: it may be a
// decision, and who looked at the same bytes before may have taken the other
// one. The library reads the keys of an answer in any case, and takes the first
// kind of answer that it finds.
func once(answer json.RawMessage) error {
	if len(answer) > maxAnswersBytes {
		return errors.New("the answer is too long")
	}
	if len(answer) == 0 || answer[0] != '{' {
		return nil // the library says what is wrong
	}
	all, err := members(nil, answer)
	if err != nil {
		return err
	}
	kinds := 0
	for _, kind := range [...]string{"action", "role", "roots"} {
		if of(all, kind) != nil {
			kinds++
		}
	}
	if kinds > 1 {
		return errors.New("the answer is one of several kinds")
	}
	if err := spelled(all, "action", "content", "role", "roots", "model", "stopReason"); err != nil {
		return err
	}
	content := of(all, "content")
	if of(all, "role") == nil {
		// The keys of a form are the tool's.
		if len(content) > 0 && content[0] == '{' {
			_, err = members(nil, content)
		}
		return cmp.Or(err, eachSpelled(of(all, "roots"), "uri", "name"))
	}
	return eachSpelled(content, "type", "text")
}

// eachSpelled holds an object, or those in a list, to keys as they are known.
func eachSpelled(text json.RawMessage, known ...string) error {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return nil
	}
	var list []json.RawMessage // copies: the message stays as it is
	if text[0] == '{' {
		list = append(list, text)
	} else if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, object := range list {
		if object[0] != '{' {
			continue
		}
		all, err := members(nil, object)
		if err == nil {
			err = spelled(all, known...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spelled refuses a key that is a known one in another case.
func spelled(all []member, known ...string) error {
	for i := range all {
		for _, known := range known {
			if key := string(all[i].key); key != known && strings.EqualFold(key, known) {
				return fmt.Errorf("the key %q must be %q", clip(key), known)
			}
		}
	}
	return nil
}
