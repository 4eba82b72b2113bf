package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/tools/internal/reply"
)

const (
	// fetchChars is the length of a fetch_url result in code points.
	fetchChars = 20_000
	// passBytes bounds the text that is handed to the gate, which cuts it to
	// the budget and tells the full length.
	passBytes = 1 << 20
	// errorChars is how much of the page of a failed request is shown.
	errorChars = 2000
	// headChars is room for the first line of a result beside the address.
	headChars = 300
	// accept prefers what needs least conversion after HTML.
	accept = "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.9,application/json;q=0.9,application/xml;q=0.8,*/*;q=0.1"
)

type fetchInput struct {
	URL      string `json:"url" jsonschema:"Absolute http or https address to fetch."`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"Most characters of the document to return, at most 20000. Leave out for as many as fit."`
	Offset   int    `json:"offset,omitempty" jsonschema:"Characters of the document to leave out at the beginning, to continue a cut answer."`
	Raw      bool   `json:"raw,omitempty" jsonschema:"Return the HTML source instead of its readable text."`
}

func fetchPage(ctx context.Context, c *sallyport.Call, in fetchInput, conv *textConverter) (sallyport.Result, error) {
	req, err := reply.NewRequest(ctx, in.URL, accept)
	if err != nil {
		return sallyport.Result{}, err
	}
	c.Emit(sallyport.Progress{Message: "fetching " + req.URL.Host})
	resp, err := c.Network.Client().Do(req)
	if err != nil {
		return sallyport.Result{}, reply.Failure(ctx, req.URL, err)
	}
	defer func() { _ = resp.Body.Close() }() // Nothing was written.
	a, err := reply.Read(resp, false)
	if err != nil {
		return sallyport.Result{}, reply.Failure(ctx, req.URL, err)
	}
	d := &fetchedPage{Answer: a}
	if err := d.renderText(ctx, conv, in.Raw); err != nil {
		return sallyport.Result{}, err
	}
	if d.Status >= http.StatusBadRequest {
		return d.newFailureResult(), nil
	}
	return d.newResult(in.Offset, in.MaxChars, resultBudget(c))
}

// newResult renders the document from an offset. When it does not fit, the
// header says where to continue and the gate cuts the rest, unless the caller
// asked for a length, at which it ends.
func (d *fetchedPage) newResult(offset, maxChars, budget int) (sallyport.Result, error) {
	total := utf8.RuneCountInString(d.text)
	if offset > 0 && offset >= total {
		return sallyport.Result{}, sallyport.InputInvalid(fmt.Sprintf("offset %d is beyond the end of the document, which has %d characters", offset, total))
	}
	rest := dropChars(d.text, offset)
	room := max(budget-headChars-utf8.RuneCountInString(d.URL), 0)
	if maxChars > 0 {
		room = min(room, maxChars)
	}
	fit := text.FirstChars(rest, room)
	head := d.headerLine()
	next := offset + utf8.RuneCountInString(fit)
	if offset > 0 || next < total {
		head += fmt.Sprintf(" -- characters %d-%d of %d", offset, next, total)
	}
	if next < total {
		head += fmt.Sprintf("; continue with offset=%d", next)
		rest = text.FirstBytes(rest, passBytes)
	}
	if maxChars > 0 {
		rest = fit
	}
	r := sallyport.OK("[" + d.URL + "] " + head + "\n\n" + rest)
	r.Source = d.URL
	r.Structured = map[string]any{
		"url": d.URL, "status": d.Status, "content_type": d.ContentType, "title": d.title, "content": fit,
	}
	if next < total || d.Cut {
		r.Structured["truncated"] = true
	}
	return r, nil
}

func (d *fetchedPage) headerLine() string {
	head := fmt.Sprintf("%d %s", d.Status, d.ContentType)
	if d.title != "" {
		head += ", " + text.FirstChars(d.title, headChars/2)
	}
	if d.Cut {
		head += fmt.Sprintf(" (only the first %d MiB were read)", reply.MaxBodyBytes>>20)
	}
	return head
}

// newFailureResult renders an answer with an error status: the status and the
// beginning of what the server says about it.
func (d *fetchedPage) newFailureResult() sallyport.Result {
	answer := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", d.Status, http.StatusText(d.Status))) + " from " + d.URL
	if d.text != "" {
		answer += "\n\n" + text.FirstChars(d.text, errorChars)
	}
	r := sallyport.Err(answer, sallyport.CodeExecutionFailed)
	r.Source = d.URL
	return r
}

// resultBudget returns the number of code points that a result may have.
func resultBudget(c *sallyport.Call) int {
	return min(cmp.Or(c.ResultBudget, fetchChars), fetchChars)
}

// dropChars returns s without its first n code points.
func dropChars(s string, n int) string { return s[len(text.FirstChars(s, n)):] }
