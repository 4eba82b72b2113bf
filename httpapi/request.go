package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/budget"
	"github.com/sallyport/sallyport/internal/task"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/turn"
)

const (
	// maxRequests bounds the requests for actions that run at once, maxEach
	// those of one principal, so that one cannot shut the others out, and
	// longBytes the bytes of bodies that are longer than smallBytes, from when
	// they are read until they are answered. What clients can occupy is about 550
	// MiB, whatever they send.
	maxRequests = 4000
	maxEach     = 1000
	longBytes   = 288 << 20
	smallBytes  = 64 << 10
	// maxWord bounds a session id and the name of a personality, in bytes.
	maxWord = 256
	// quotedBytes bounds a word of the client's in a message to the client.
	quotedBytes = 64
	// bodyWait bounds how long a body may take to arrive.
	bodyWait = time.Minute
)

// executeRequest is the body of a request to execute an action.
type executeRequest struct {
	params      json.RawMessage // as sent: the gate decodes it, strictly
	session     string
	personality string
	dryRun      bool
	task        *sallyport.Task
	said        turn.Context
	attachments []string // the URIs of uploads
}

// decodeRequest reads a body strictly: one JSON object in UTF-8 with known keys, each
// at most once, and nothing after it. The parameters are left to the gate,
// which decodes them itself and records what it refuses.
func decodeRequest(body []byte) (q executeRequest, err error) {
	switch {
	case !utf8.Valid(body):
		return q, errors.New("the body is not valid UTF-8")
	case !json.Valid(body):
		return q, errors.New("the body is not one JSON value")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	// The body is valid, so that reading tokens cannot fail.
	if open, _ := dec.Token(); open != json.Delim('{') {
		return q, errors.New("the body must be an object with the keys params, session, personality, task, turn, attachments and dry_run")
	}
	seen := map[string]bool{}
	for dec.More() {
		token, _ := dec.Token()
		key, _ := token.(string)
		if seen[key] {
			return q, fmt.Errorf("the key %q is repeated", text.ClipBytes(key, quotedBytes))
		}
		seen[key] = true
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return q, errors.New("the body is not one JSON value")
		}
		if err := q.setMember(key, v); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (q *executeRequest) setMember(key string, v json.RawMessage) error {
	switch key {
	case "params":
		if v[0] != '{' {
			return errors.New("params: expected an object")
		}
		q.params = v
		return nil
	case "session":
		return decodeName(key, v, &q.session)
	case "personality":
		return decodeName(key, v, &q.personality)
	case "task":
		var err error
		if q.task, err = task.Decode(v); err != nil {
			return fmt.Errorf("task: %w", err)
		}
		return nil
	case "turn":
		var err error
		if q.said, err = turn.Decode(v); err != nil {
			return fmt.Errorf("turn: %w", err)
		}
		return nil
	case "attachments":
		if v[0] != '[' || json.Unmarshal(v, &q.attachments) != nil || len(q.attachments) > maxFiles {
			return fmt.Errorf("attachments: expected a list of at most %d URIs of uploads", maxFiles)
		}
		return nil
	case "dry_run":
		if v[0] != 't' && v[0] != 'f' {
			return errors.New("dry_run: expected true or false")
		}
		q.dryRun = v[0] == 't'
		return nil
	default:
		return fmt.Errorf("unknown key %q; known are params, session, personality, task, turn, attachments and dry_run", text.ClipBytes(key, quotedBytes))
	}
}

func decodeName(key string, v json.RawMessage, to *string) error {
	if v[0] != '"' || json.Unmarshal(v, to) != nil || !isUsableName(*to) {
		return fmt.Errorf("%s: expected a text of at most %d bytes without control characters", key, maxWord)
	}
	return nil
}

// isUsableName reports whether a text of a client's may name something. Decoders put
// the replacement character where an escape is no character, so that two names
// would become one: a name that holds it is refused.
func isUsableName(s string) bool {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
	return len(s) <= maxWord && !strings.ContainsFunc(s, odd)
}

// errTooLong is a body beyond its bound.
var errTooLong = errors.New("the body is too long")

// readBody returns the whole body. What a long one holds is to be released when it
// is answered. No request waits for those of others: the error is then
// [budget.ErrFull].
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, principal string) (text []byte, held *budget.Holding, err error) {
	defer boundArrival(r.Context(), w)()
	all := boundBody(w, r, s.o.MaxBody)
	text, err = io.ReadAll(io.LimitReader(all, smallBytes))
	if err != nil || len(text) < smallBytes {
		return text, nil, tooLong(err)
	}
	held = s.long.Hold("", principal, nil)
	text, err = held.ReadAll(all, text)
	return text, held, tooLong(err)
}

// boundBody returns the body, of which at most so many bytes are read, and none
// when it is announced as longer. Its error makes the server wait before it
// closes the connection: a client that is still sending gets the answer, not a
// reset.
func boundBody(w http.ResponseWriter, r *http.Request, most int64) io.ReadCloser {
	if r.ContentLength > most {
		most = 0
	}
	return http.MaxBytesReader(w, r.Body, most)
}

// boundArrival bounds the time that a body may take, and ends the wait for it with
// the context. Call stop when it is read: the library lifts the bound then.
func boundArrival(ctx context.Context, w http.ResponseWriter) (stop func()) {
	c := http.NewResponseController(w)
	// Writers that know no deadlines are those of tests.
	_ = c.SetReadDeadline(time.Now().Add(bodyWait))
	watch := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
	return func() { watch() }
}

// tooLong names the error of a body that was cut.
func tooLong(err error) error {
	if cut := (*http.MaxBytesError)(nil); errors.As(err, &cut) {
		return errTooLong
	}
	return err
}
