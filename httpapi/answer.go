package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/sallyport/sallyport"
)

// writeWait bounds how long one write to a client may take. A client that
// reads nothing for so long is treated as gone.
const writeWait = 30 * time.Second

// successBody is the body of an answer that has one. Status is set in a stream,
// where the response has none of its own.
type successBody struct {
	Success bool             `json:"success"`
	Data    any              `json:"data"`
	Parts   []sallyport.Part `json:"parts,omitempty"`
	CostUSD float64          `json:"cost_usd,omitempty"`
	CallID  string           `json:"call_id,omitempty"`
	Status  int              `json:"status,omitempty"`
}

// failureBody is the body of every other answer.
type failureBody struct {
	Success      bool             `json:"success"`
	Error        string           `json:"error"`
	Code         sallyport.Code   `json:"code"`
	Parts        []sallyport.Part `json:"parts,omitempty"`
	RetryAfterMS *int64           `json:"retry_after_ms,omitempty"`
	ApprovalID   string           `json:"approval_id,omitempty"`
	ExpiresAt    *time.Time       `json:"expires_at,omitempty"`
	CostUSD      float64          `json:"cost_usd,omitempty"`
	CallID       string           `json:"call_id,omitempty"`
	Status       int              `json:"status,omitempty"`
}

// resultBody returns the body for a result. A status other than 0 stands in it
// too.
func resultBody(res *sallyport.Result, status int) any {
	if res.OK {
		out := successBody{Success: true, Data: res.Value, Parts: res.Parts, CostUSD: res.CostUSD, CallID: res.CallID, Status: status}
		if res.Structured != nil {
			out.Data = res.Structured
		}
		return out
	}
	out := failureBody{
		Error: res.Error, Code: res.Code, Parts: res.Parts, ApprovalID: res.ApprovalID,
		CostUSD: res.CostUSD, CallID: res.CallID, Status: status,
	}
	if res.Code == sallyport.CodeRateLimited {
		ms := res.RetryAfter.Milliseconds()
		out.RetryAfterMS = &ms
	}
	if !res.ExpiresAt.IsZero() {
		out.ExpiresAt = &res.ExpiresAt
	}
	return out
}

// statusOf returns the status of a code by the table of the contract. A code
// that is not in it is a failure of the server's.
func statusOf(code sallyport.Code) int {
	for _, spec := range sallyport.Codes() {
		if spec.Code == code && spec.HTTP != 0 {
			return spec.HTTP
		}
	}
	return http.StatusInternalServerError
}

// retryAfter is the value of the Retry-After header: whole seconds, rounded
// up, so that who comes back then is not early.
func retryAfter(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// writeRefusal answers a request that is not a call.
func writeRefusal(w http.ResponseWriter, status int, code sallyport.Code, text string) {
	writeJSON(w, status, failureBody{Error: text, Code: code})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := encodeJSON(v)
	if err != nil {
		// What the gate hands over is plain JSON, so that this cannot happen.
		status, text = http.StatusInternalServerError, []byte(`{"success":false,"error":"The answer cannot be written","code":"execution_failed"}`)
	}
	h := w.Header()
	h.Set("Content-Type", ContentJSON)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	// Writers that know no deadlines are those of tests.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWait))
	w.WriteHeader(status)
	// A client that is gone cannot be told.
	_, _ = w.Write(text)
}

// encodeJSON marshals without escaping what matters in HTML only.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
