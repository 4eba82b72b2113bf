package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxAnswersBytes bounds the answers to questions that a client sends: a
// decision and a reason take a few kilobytes.
const maxAnswersBytes = 64 << 10

// CheckAnswers checks a set of answers by name: every one must pass [CheckAnswer].
func CheckAnswers(answers json.RawMessage) error {
	if len(answers) > maxAnswersBytes {
		return errors.New("the answers are too long")
	}
	if len(answers) == 0 || answers[0] != '{' {
		return nil // its reader reports the error
	}
	all, err := appendMembers(nil, answers)
	if err != nil {
		return err
	}
	for i := range all {
		if err := CheckAnswer(all[i].Value); err != nil {
			return err
		}
	}
	return nil
}

// CheckAnswer refuses an answer that is too long or that can be read in two ways. The
// answer may be a decision, and another reader of the same bytes may have taken
// the other meaning. The types of answers ignore the case of keys, and the kind of
// an answer is the first that fits.
func CheckAnswer(answer json.RawMessage) error {
	if len(answer) > maxAnswersBytes {
		return errors.New("the answer is too long")
	}
	if len(answer) == 0 || answer[0] != '{' {
		return nil // its reader reports the error
	}
	all, err := appendMembers(nil, answer)
	if err != nil {
		return err
	}
	kinds := 0
	for _, kind := range [...]string{"action", "role", "roots"} {
		if all.Value(kind) != nil {
			kinds++
		}
	}
	if kinds > 1 {
		return errors.New("the answer is one of several kinds")
	}
	if err := checkSpelling(all, "action", "content", "role", "roots", "model", "stopReason"); err != nil {
		return err
	}
	content := all.Value("content")
	if all.Value("role") == nil {
		// The tool chooses the keys of a form.
		if len(content) > 0 && content[0] == '{' {
			_, err = appendMembers(nil, content)
		}
		return cmp.Or(err, eachSpelled(all.Value("roots"), "uri", "name"))
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
func checkSpelling(all Members, known ...string) error {
	for i := range all {
		for _, known := range known {
			if key := string(all[i].Key); key != known && strings.EqualFold(key, known) {
				return fmt.Errorf("the key %q must be %q", clipWord(key), known)
			}
		}
	}
	return nil
}
