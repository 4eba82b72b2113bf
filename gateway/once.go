package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	// maxAnswersBytes bounds the answers to questions that a client sends: a
	// decision and a reason take a few kilobytes.
	maxAnswersBytes = 64 << 10
	// maxKeptMessage bounds a message that is kept, mostly decoded, for as long
	// as a session or a stream of changes is open.
	maxKeptMessage = 64 << 10
)

// checkLength refuses a message that would be kept and is too long for that.
func (e *messageEnvelope) checkLength(length int) error {
	if (e.method == "initialize" || e.method == methodListen) && length > maxKeptMessage {
		return fmt.Errorf("%s is longer than %d bytes", e.method, maxKeptMessage)
	}
	return nil
}

// checkAnswers checks a set of answers by name: every one must pass [once].
func checkAnswers(answers json.RawMessage) error {
	if len(answers) > maxAnswersBytes {
		return errors.New("the answers are too long")
	}
	if len(answers) == 0 || answers[0] != '{' {
		return nil // the library reports the error
	}
	all, err := appendMembers(nil, answers)
	if err != nil {
		return err
	}
	for i := range all {
		if err := checkAnswer(all[i].value); err != nil {
			return err
		}
	}
	return nil
}

// checkAnswer refuses an answer that is too long or that can be read in two ways. The
// answer may be a decision, and another reader of the same bytes may have taken
// the other meaning. The library ignores the case of the keys of an answer and
// takes the first kind of answer that fits.
func checkAnswer(answer json.RawMessage) error {
	if len(answer) > maxAnswersBytes {
		return errors.New("the answer is too long")
	}
	if len(answer) == 0 || answer[0] != '{' {
		return nil // the library reports the error
	}
	all, err := appendMembers(nil, answer)
	if err != nil {
		return err
	}
	kinds := 0
	for _, kind := range [...]string{"action", "role", "roots"} {
		if valueOf(all, kind) != nil {
			kinds++
		}
	}
	if kinds > 1 {
		return errors.New("the answer is one of several kinds")
	}
	if err := checkSpelling(all, "action", "content", "role", "roots", "model", "stopReason"); err != nil {
		return err
	}
	content := valueOf(all, "content")
	if valueOf(all, "role") == nil {
		// The tool chooses the keys of a form.
		if len(content) > 0 && content[0] == '{' {
			_, err = appendMembers(nil, content)
		}
		return cmp.Or(err, eachSpelled(valueOf(all, "roots"), "uri", "name"))
	}
	return eachSpelled(content, "type", "text")
}

// eachSpelled checks an object, or each object in a list, for keys that are
// spelled like known ones in another case.
func eachSpelled(text json.RawMessage, known ...string) error {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return nil
	}
	var list []json.RawMessage // copies: the message stays unchanged
	if text[0] == '{' {
		list = append(list, text)
	} else if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, object := range list {
		if object[0] != '{' {
			continue
		}
		all, err := appendMembers(nil, object)
		if err == nil {
			err = checkSpelling(all, known...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkSpelling refuses a key that equals a known one except for its case.
func checkSpelling(all []messageMember, known ...string) error {
	for i := range all {
		for _, known := range known {
			if key := string(all[i].key); key != known && strings.EqualFold(key, known) {
				return fmt.Errorf("the key %q must be %q", clipWord(key), known)
			}
		}
	}
	return nil
}
