package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// callFate is what became of a call.
type callFate string

// The fates of calls.
const (
	callRan     callFate = "ran"
	callHeld    callFate = "held"
	callRefused callFate = "refused"
	// callFailed is a call that failed when it was recorded, too: of a tool that the
	// suite does not have, or with arguments that are none of its.
	callFailed callFate = "failed"
)

// gatedCall is a call that went through the gate.
type gatedCall struct {
	fate callFate
	// id is the call in the record, code and why what the caller was told, approval
	// the request that a person has to decide.
	id, code, why, approval string
	took                    time.Duration
}

// executeAnswer is what the gate answers to a call.
type executeAnswer struct {
	Success bool   `json:"success"`
	Code    string `json:"code"`
	Error   string `json:"error"`
	CallID  string `json:"call_id"`
	// ApprovalID is that of a call that is held.
	ApprovalID string `json:"approval_id"`
}

// replayRun makes the calls of a run one after the other, as one principal. What is
// held or refused does not change what follows: the model that was recorded did not
// know of it. It knew what it had read, so that a held call which only reads is
// approved and made again: else the gate would not have seen what later calls carry.
// The words of the user go along with the first call of each session where they are
// not empty.
func (g *gateProcess) replayRun(ctx context.Context, w suiteWorld, r *recordedRun, principal int, words string) ([]gatedCall, error) {
	told := map[int]bool{}
	calls := make([]gatedCall, len(r.Calls))
	for i := range r.Calls {
		c := &r.Calls[i]
		with := words
		if told[c.session] {
			with = ""
		}
		told[c.session] = true
		var err error
		if calls[i], err = g.replayCall(ctx, serverName(r.Suite), c, principal, with); err == nil && calls[i].fate == callHeld && w.effects[c.Tool].onlyReads() {
			err = g.approveReading(ctx, serverName(r.Suite), c, principal, &calls[i])
		}
		if err == nil && calls[i].code == "not_available" && w.hasTool(c.Tool) {
			err = fmt.Errorf("a tool of the suite is not there: %s", calls[i].why)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s %s %s: call %d, %s: %w", r.Model, r.Suite, r.UserTask, r.InjectionTask, i, c.Tool, err)
		}
	}
	return calls, nil
}

// approveReading approves a held call, as a person would who lets an agent look, and
// makes it again.
func (g *gateProcess) approveReading(ctx context.Context, server string, c *recordedCall, principal int, held *gatedCall) error {
	if out, err := g.command(ctx, "approvals", "approve", held.approval).CombinedOutput(); err != nil {
		return fmt.Errorf("approvals approve %s: %w\n%s", held.approval, err, out)
	}
	again, err := g.replayCall(ctx, server, c, principal, "")
	if err == nil && again.fate != callRan {
		err = fmt.Errorf("it is %s although it was approved: %s", again.fate, again.why)
	}
	return err
}

// replayCall makes one call.
func (g *gateProcess) replayCall(ctx context.Context, server string, c *recordedCall, principal int, words string) (done gatedCall, err error) {
	body, err := encodeCall(c, words)
	if err != nil {
		return done, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/v1/actions/"+url.PathEscape("mcp__"+server+"__"+c.Tool)+"/execute", bytes.NewReader(body))
	if err != nil {
		return done, err
	}
	q.Header.Set("Authorization", "Bearer "+g.tokens[principal])
	q.Header.Set("Content-Type", "application/json")
	g.server.expect(c)
	begun := time.Now()
	res, err := g.client.Do(q)
	if err != nil {
		return done, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	done.took = time.Since(begun)
	if err != nil {
		return done, err
	}
	var answer executeAnswer
	if err := json.Unmarshal(text, &answer); err != nil {
		return done, fmt.Errorf("%s: %s", res.Status, text)
	}
	done.id, done.code, done.why, done.approval = answer.CallID, answer.Code, answer.Error, answer.ApprovalID
	arrived, err := g.server.hasArrived()
	if err != nil {
		return done, err
	}
	done.fate, err = fateOf(&answer, arrived, strings.HasPrefix(c.resultText(), failedPrefix))
	return done, err
}

// encodeCall returns the request of a call.
func encodeCall(c *recordedCall, words string) ([]byte, error) {
	request := map[string]any{"session": "session-" + strconv.Itoa(c.session), "params": json.RawMessage(`{}`)}
	if len(c.Args) > 0 && !bytes.Equal(c.Args, []byte("null")) {
		request["params"] = c.Args
	}
	if words != "" {
		request["task"] = map[string]string{"words": words}
	}
	return json.Marshal(request)
}

// fateOf reads the answer to a call. That the tool was reached is what counts: it may
// have failed, as it did when it was recorded.
func fateOf(a *executeAnswer, arrived, failed bool) (callFate, error) {
	switch {
	case arrived:
		return callRan, nil
	case a.Code == "approval_required":
		return callHeld, nil
	case a.Code == "input_invalid" && failed, a.Code == "not_available":
		return callFailed, nil
	case a.Code == "permission_denied", a.Code == "approval_denied", a.Code == "input_invalid":
		return callRefused, nil
	default:
		return "", fmt.Errorf("the gate answered %q (%s) and did not call the tool", a.Code, a.Error)
	}
}
