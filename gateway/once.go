package gateway

import (
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
// one. The library reads the keys of an answer in any case.
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
	for i := range all {
		for _, known := range [...]string{"action", "content"} {
			if key := string(all[i].key); key != known && strings.EqualFold(key, known) {
				return fmt.Errorf("the key %q must be %q", clip(key), known)
			}
		}
	}
	if content := of(all, "content"); len(content) > 0 && content[0] == '{' {
		_, err = members(nil, content)
	}
	return err
}
