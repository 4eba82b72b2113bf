package sallyport

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

// Result is the outcome of one call. Build it with [OK] or [Err] inside a
// tool; the gate fills CallID. The zero Result is a failure without a code,
// which the gate turns into execution_failed.
type Result struct {
	// OK is true for a success and false for a failure.
	OK bool
	// Value is the text for the model. Empty on failure.
	Value string
	// Structured is an optional JSON object beside Value; nil when there is
	// none. A tool hands it over and must not keep it.
	Structured map[string]any
	// Parts holds what the result has beside Value: pictures, sounds,
	// resources, a prompt's messages. nil means none. A tool hands them over
	// and must not keep them.
	Parts []Part
	// CostUSD is the price of the call in US dollars; 0 when it is free or
	// unknown. A cut of Value does not change it.
	CostUSD float64
	// Error is the text of a failure. Empty on success.
	Error string
	// Code classifies a failure. Empty on success.
	Code Code
	// Crashed is true when the tool panicked. Only the gate sets it.
	Crashed bool
	// Untrusted says that another party wrote of this result, though the tool's
	// OutputIsUntrusted does not say so of all its results: the gate wraps this one
	// and counts it as untrusted content that the conversation has read. A tool sets
	// it for a text that it keeps, by [Call.Tainted].
	Untrusted bool
	// Source names the origin of untrusted output when the arguments do not
	// name it. Empty means that the gate derives it.
	Source string
	// CallID is the id under which the call is recorded.
	CallID string
	// RetryAfter is the wait of a rate_limited; 0 otherwise.
	RetryAfter time.Duration
	// ApprovalID is the id of the held call of an approval_required.
	ApprovalID string
	// ExpiresAt is when a held call expires; the zero time otherwise.
	ExpiresAt time.Time
}

// OK returns a success with a text for the model.
func OK(value string) Result { return Result{OK: true, Value: value} }

// Err returns a failure. An empty code means execution_failed.
func Err(text string, code Code) Result {
	if code == "" {
		code = CodeExecutionFailed
	}
	return Result{Error: text, Code: code}
}

// ErrorResult turns an error into a failure. A result code in the error is
// kept; every other error, scoped refusals included, becomes execution_failed.
// The text is that of the [*Error] in the chain, so that it begins with the
// code whatever a library has wrapped around it. Without an [*Error] it is the
// text of the error itself. A nil error gives an execution_failed without a
// cause.
func ErrorResult(err error) Result {
	if err == nil {
		return Err("the tool returned no result", CodeExecutionFailed)
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok || !e.Code.Valid():
		return Err(err.Error(), CodeExecutionFailed)
	case e.Code.Scoped():
		return Err(e.Error(), CodeExecutionFailed)
	default:
		return Err(e.Error(), e.Code)
	}
}

// Err returns nil for a success and an [*Error] with code and text for a
// failure.
func (r Result) Err() error {
	if r.OK {
		return nil
	}
	return &Error{Code: r.Code, Detail: r.Error}
}

// resultJSON is the wire form of both variants.
type resultJSON struct {
	OK           bool           `json:"ok"`
	Value        *string        `json:"value,omitempty"`
	Structured   map[string]any `json:"structured,omitempty"`
	Parts        []Part         `json:"parts,omitempty"`
	CostUSD      float64        `json:"cost_usd,omitempty"`
	Error        *string        `json:"error,omitempty"`
	Code         Code           `json:"code,omitempty"`
	RetryAfterMS *int64         `json:"retry_after_ms,omitempty"`
	ApprovalID   string         `json:"approval_id,omitempty"`
	ExpiresAt    *time.Time     `json:"expires_at,omitempty"`
	CallID       string         `json:"call_id,omitempty"`
}

// MarshalJSON writes {"ok":true,"value":…} or {"ok":false,"error":…,"code":…}.
func (r Result) MarshalJSON() ([]byte, error) {
	w := resultJSON{OK: r.OK, CostUSD: r.CostUSD, CallID: r.CallID, Structured: r.Structured, Parts: r.Parts}
	if r.OK {
		w.Value = &r.Value
		return plainJSON(w)
	}
	w.Error, w.Code, w.ApprovalID = &r.Error, r.Code, r.ApprovalID
	if r.Code == CodeRateLimited {
		ms := r.RetryAfter.Milliseconds()
		w.RetryAfterMS = &ms
	}
	if !r.ExpiresAt.IsZero() {
		w.ExpiresAt = &r.ExpiresAt
	}
	return plainJSON(w)
}

// plainJSON marshals without the escapes that only HTML needs: the tags of the
// wrapper stay readable where the outer encoder leaves them.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Result) UnmarshalJSON(data []byte) error {
	var w resultJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.OK == (w.Error != nil) {
		return errors.New("result: exactly one of ok and error is expected")
	}
	*r = Result{
		OK: w.OK, Structured: w.Structured, Parts: w.Parts, CostUSD: w.CostUSD,
		Code: w.Code, CallID: w.CallID, ApprovalID: w.ApprovalID,
	}
	if w.Value != nil {
		r.Value = *w.Value
	}
	if w.Error != nil {
		r.Error = *w.Error
	}
	if w.RetryAfterMS != nil {
		r.RetryAfter = time.Duration(*w.RetryAfterMS) * time.Millisecond
	}
	if w.ExpiresAt != nil {
		r.ExpiresAt = *w.ExpiresAt
	}
	return nil
}
