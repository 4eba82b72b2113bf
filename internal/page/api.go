package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/rawjson"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/signin"
)

const (
	// maxWait bounds how long a program waits for the decision about a held call.
	maxWait = 60 * time.Second
	// waitPause is the pause between two looks at a held call that is waited for.
	waitPause = 300 * time.Millisecond
	// maxListed bounds the held calls that are listed.
	maxListed = 1000
)

// heldAnswer is a held call for a program that decides, with the digests that a yes names.
type heldAnswer struct {
	report.HeldCall
	// Shown maps each answer that allows something to the digest that it has to name.
	Shown map[string]string `json:"shown,omitempty"`
}

// apiRoutes returns the routes for programs that decide for people.
func (s *Site) apiRoutes() []httpapi.Route {
	row := func(method, pattern, content, doc string, h http.HandlerFunc) httpapi.Route {
		return httpapi.Route{Method: method, Pattern: pattern, Auth: true, Content: content, Doc: doc, Handler: s.forDeciders(h)}
	}
	return []httpapi.Route{
		row("GET", "/v1/approvals", "", "Lists the held calls.", s.listApprovals),
		row("GET", "/v1/approvals/events", "", "Says as events that the held calls changed.", s.streamEvents),
		row("GET", "/v1/approvals/{id}", "", "Shows a held call, or waits until it is decided.", s.getApproval),
		row("POST", "/v1/approvals/{id}", httpapi.ContentJSON, "Decides about a held call.", s.decideApproval),
	}
}

// forDeciders lets those through who may decide. Who calls tools may not, whatever
// permissions it has, nor may one that was stopped.
func (s *Site) forDeciders(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := auth.PrincipalFrom(r.Context())
		if !ok || !signin.MayDecide(&p) {
			httpapi.Refuse(w, http.StatusForbidden, "deciding needs the permission "+signin.PermissionDecide+" and a principal that takes no role: personalities: []")
			return
		}
		if kind, _, err := s.rt.Switches.Stopped(r.Context(), p.Name, "", ""); kind != "" || err != nil {
			httpapi.Refuse(w, http.StatusForbidden, "this principal was stopped, or it is not known whether it was")
			return
		}
		next(w, r)
	})
}

func (s *Site) answerHeld(r *http.Request, a *sallyport.Approval) heldAnswer {
	answer := heldAnswer{HeldCall: report.AnswerHeld(a, s.rt.DescribeQuestion(r.Context(), a))}
	if a.StateAt(time.Now()) == sallyport.ApprovalPending {
		h := s.describeHeld(r.Context(), a)
		answer.Shown = map[string]string{answerOnce: h.Digest}
		if h.Always != "" {
			answer.Shown[answerAlways] = h.Always
		}
		if h.Rule != "" {
			answer.Shown[answerSession] = h.Rule
		}
	}
	return answer
}

// listApprovals lists the held calls that are pending or approved, or with all=true those
// that are over, too.
func (s *Site) listApprovals(w http.ResponseWriter, r *http.Request) {
	list, err := s.rt.Approvals.List(r.Context(), r.URL.Query().Get("all") == "true")
	if err != nil {
		s.failAPI(w, err)
		return
	}
	list = list[max(len(list)-maxListed, 0):]
	yeses, err := s.rt.DescribeYeses(r.Context(), list)
	if err != nil {
		s.failAPI(w, err)
		return
	}
	answers := make([]report.HeldCall, 0, len(list))
	for i := range list {
		answers = append(answers, report.AnswerHeld(&list[i], app.Question{Approvers: yeses[list[i].ID]}))
	}
	writeAPI(w, http.StatusOK, map[string]any{"approvals": answers})
}

// getApproval shows a held call. With wait=SECONDS it answers once the call is decided, or
// over, or the time is up.
func (s *Site) getApproval(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.Atoi(r.URL.Query().Get("wait"))
	if r.URL.Query().Has("wait") && (err != nil || seconds < 0) {
		writeAPI(w, http.StatusBadRequest, failureOf(sallyport.CodeInputInvalid, "wait: expected a number of seconds"))
		return
	}
	p, _ := auth.PrincipalFrom(r.Context())
	ctx, done, ok := s.streams.Begin(r.Context(), p.Name)
	if !ok {
		w.Header().Set("Retry-After", "5")
		httpapi.Refuse(w, http.StatusServiceUnavailable, "too many requests wait")
		return
	}
	defer done()
	end := time.Now().Add(min(time.Duration(min(seconds, int(maxWait/time.Second)))*time.Second, maxWait))
	for {
		a, err := s.rt.Approvals.Get(ctx, r.PathValue("id"))
		if err != nil {
			s.failAPI(w, err)
			return
		}
		if a.State != sallyport.ApprovalPending || !time.Now().Before(end) || ctx.Err() != nil {
			writeAPI(w, http.StatusOK, s.answerHeld(r, &a))
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(waitPause):
		}
	}
}

// decideApproval decides about a held call.
func (s *Site) decideApproval(w http.ResponseWriter, r *http.Request) {
	p, _ := auth.PrincipalFrom(r.Context())
	d, err := decodeDecision(w, r)
	if err != nil {
		writeAPI(w, http.StatusBadRequest, failureOf(sallyport.CodeInputInvalid, "The body is no decision: "+cleanText(err.Error())))
		return
	}
	d.ID, d.by = r.PathValue("id"), p.Name
	if _, err := s.decideCall(r.Context(), d); err != nil {
		s.failAPI(w, err)
		return
	}
	a, err := s.rt.Approvals.Get(r.Context(), d.ID)
	if err != nil {
		s.failAPI(w, err)
		return
	}
	writeAPI(w, http.StatusOK, s.answerHeld(r, &a))
}

func failureOf(code sallyport.Code, why string) any {
	return map[string]any{"success": false, "error": why, "code": code}
}

// failAPI answers a request about a held call that could not be carried out.
func (s *Site) failAPI(w http.ResponseWriter, err error) {
	status, code := http.StatusConflict, sallyport.CodeInputInvalid
	switch {
	case errors.Is(err, sallyport.ErrApprovalUnknown):
		status, code = http.StatusNotFound, sallyport.CodeNotAvailable
	case errors.Is(err, sallyport.ErrApprovalOwn), errors.Is(err, approvals.ErrNotApprover):
		status, code = http.StatusForbidden, sallyport.CodePermissionDenied
	}
	writeAPI(w, status, failureOf(code, cleanText(err.Error())))
}

// decodeDecision reads a body strictly: one object with known keys, each at most once.
func decodeDecision(w http.ResponseWriter, r *http.Request) (*decision, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		return nil, err
	}
	if text = rawjson.Blank(text); !utf8.Valid(text) || !json.Valid(text) || text[0] != '{' {
		return nil, errors.New("expected one object in UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	_, _ = dec.Token() // the object is valid, so that reading cannot fail
	d, seen := &decision{}, map[string]bool{}
	known := map[string]*string{"answer": &d.Answer, "shown": &d.Shown, "reason": &d.Reason}
	for dec.More() {
		token, _ := dec.Token()
		key, _ := token.(string)
		if known[key] == nil || seen[key] {
			return nil, fmt.Errorf("the key %q is not known, or repeated: expected answer, shown and reason", key)
		}
		seen[key] = true
		if err := dec.Decode(known[key]); err != nil {
			return nil, fmt.Errorf("%s: expected a text", key)
		}
	}
	return d, nil
}

func writeAPI(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", httpapi.ContentJSON)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWait))
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that is gone cannot be told
}
