package action

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/transport"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/schema"
)

const (
	// maxAnswerBytes bounds an answer. What a model is to read is far smaller;
	// what is larger is a download.
	maxAnswerBytes = 5 << 20
	// maxAnswerDepth bounds its nesting: the gate keeps no more.
	maxAnswerDepth = 100
	// excerptChars is how much of a failure's text is shown.
	excerptChars = 2000
)

// transientStatus is a status that may be another one in a moment. The gate runs an
// idempotent tool again after an error that is a timeout.
type transientStatus struct{ status int }

func (p *transientStatus) Error() string { return "status " + strconv.Itoa(p.status) }

// Timeout makes the failure one that passes.
func (p *transientStatus) Timeout() bool { return true }

func (r *compiledRequest) newFailure(what string, cause error) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: r.host, Operation: "request",
		Detail: r.method + " " + r.scheme + "://" + r.host + ": " + what, Err: cause,
	}
}

func (r *compiledRequest) readAnswer(ctx context.Context, resp *http.Response, v *callValues, retried bool) (sallyport.Result, error) {
	source := originOf(resp) + resp.Request.URL.EscapedPath()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	if err != nil {
		return sallyport.Result{Source: source}, transport.Failure(ctx, err, r.newFailure)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return r.newRefusal(resp, body, v, source, retried)
	}
	if len(body) > maxAnswerBytes {
		return sallyport.Result{Source: source}, r.newFailure(fmt.Sprintf("the answer has more than %d MiB", maxAnswerBytes>>20), nil)
	}
	res, tree, err := r.parseBody(resp.Header.Get("Content-Type"), body)
	res.Source, res.CostUSD = source, r.price.of(tree)
	return res, err
}

// originOf is who answered, which after redirects may be another one than the
// definition names.
func originOf(resp *http.Response) string {
	return resp.Request.URL.Scheme + "://" + resp.Request.URL.Host
}

// newRefusal returns the result of an answer that is no success: the status and
// the beginning of what the server says about it.
func (r *compiledRequest) newRefusal(resp *http.Response, body []byte, v *callValues, source string, retried bool) (sallyport.Result, error) {
	status := resp.StatusCode
	text := strings.TrimSpace(fmt.Sprintf("%s %s answered %d %s", r.method, originOf(resp), status, http.StatusText(status)))
	if status < http.StatusBadRequest {
		text += ": a redirect that this action does not follow"
	} else if kind := kindOf(resp.Header.Get("Content-Type"), body); kind != kindOther && len(body) <= maxAnswerBytes {
		said, err := cutExcerpt(body, v.secrets)
		if err != nil {
			return sallyport.Result{}, r.newFailure("the answer could not be cleaned", err)
		}
		text = strings.TrimSpace(text + "\n\n" + said)
	}
	if retried && (status >= http.StatusInternalServerError || status == http.StatusTooManyRequests) {
		return sallyport.Result{Source: source}, &sallyport.Error{
			Code: sallyport.CodeExecutionFailed, Resource: r.host, Operation: "request",
			Detail: text, Err: &transientStatus{status},
		}
	}
	res := sallyport.Err(text, sallyport.CodeExecutionFailed)
	res.Source = source
	return res, nil
}

// cutExcerpt returns the beginning of a body in code points. It removes the
// secrets of the call from the whole body first, because the cleaner does not
// recognise half a secret.
func cutExcerpt(body []byte, secrets map[string]string) (string, error) {
	s := strings.ToValidUTF8(string(body), "\ufffd")
	if len(secrets) > 0 {
		var known []sallyport.Secret
		for _, value := range secrets {
			known = append(known, sallyport.NewSecret(value))
		}
		cleaner, err := output.New(&output.Options{Secrets: known})
		if err != nil {
			return "", err
		}
		s = string(cleaner.Text(s))
	}
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) <= excerptChars {
		return s, nil
	}
	cut := text.FirstChars(s, excerptChars)
	// Where it is cut, a word is left out that may be a secret of others.
	if i := strings.LastIndexFunc(cut, isBoundary); i > len(cut)/2 {
		cut = cut[:i+1]
	}
	return cut, nil
}

// isBoundary reports whether a character parts words.
func isBoundary(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`",<>{}[]`, r) }

type bodyKind int

const (
	kindOther bodyKind = iota
	kindText
	kindJSON
)

// kindOf judges by the type that the server names, and by the text when it
// names none.
func kindOf(contentType string, body []byte) bodyKind {
	media, _, err := mime.ParseMediaType(cmp.Or(contentType, http.DetectContentType(body)))
	switch {
	case err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter):
		return kindOther
	case media == "application/json", strings.HasSuffix(media, "+json"):
		return kindJSON
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+xml"), media == "application/xml",
		media == "application/yaml", media == "application/x-ndjson", media == "application/javascript":
		return kindText
	default:
		return kindOther
	}
}

// parseBody returns the result of an answer, and the answer itself where it is JSON.
func (r *compiledRequest) parseBody(contentType string, body []byte) (sallyport.Result, any, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	mapped := r.response != Response{}
	is := kindOf(contentType, body)
	switch {
	case len(bytes.TrimSpace(body)) == 0 && !mapped && !r.parse:
		return sallyport.OK(""), nil, nil
	case is != kindJSON && !mapped && !r.parse:
		if mediaType, _, _ := strings.Cut(contentType, ";"); is == kindOther && strings.HasPrefix(strings.ToLower(mediaType), "image/") {
			return pictureResult(mediaType, body), nil, nil
		}
		if is == kindOther {
			return sallyport.Result{}, nil, r.newFailure("the answer is neither JSON nor text", nil)
		}
		return sallyport.OK(strings.ToValidUTF8(string(body), "\ufffd")), nil, nil
	}
	tree, err := schema.Decode(body, &schema.Limits{Depth: maxAnswerDepth, Bytes: maxAnswerBytes})
	if err != nil {
		return sallyport.Result{}, nil, r.newFailure("the answer is not the JSON that was expected: "+err.Error(), nil)
	}
	res := resultOf(tree, body)
	if !mapped {
		return res, tree, nil
	}
	res, err = r.response.pickParts(r, res, tree)
	return res, tree, err
}

// pictureResult returns an answer that is a picture. The gate draws it again, or
// says why it cannot.
func pictureResult(mediaType string, body []byte) sallyport.Result {
	return sallyport.Result{OK: true, Parts: []sallyport.Part{{Kind: sallyport.PartImage, Data: body, MediaType: strings.TrimSpace(mediaType)}}}
}

// resultOf is the rule for JSON without a mapping: an object is the structured
// part and its text the value, a string the value, anything else the member
// result of the structured part. raw is the text of tree.
func resultOf(tree any, raw []byte) sallyport.Result {
	if s, ok := tree.(string); ok {
		return sallyport.OK(s)
	}
	var b bytes.Buffer
	res := sallyport.OK(string(raw))
	if json.Compact(&b, raw) == nil {
		res.Value = b.String()
	}
	res.Structured = structuredOf(tree)
	return res
}

// structuredOf returns an object unchanged and anything else as its member
// result.
func structuredOf(tree any) map[string]any {
	if object, ok := tree.(map[string]any); ok {
		return object
	}
	return map[string]any{"result": tree}
}

func (m *Response) pickParts(r *compiledRequest, res sallyport.Result, tree any) (sallyport.Result, error) {
	if m.Structured != "" {
		part, ok := findPart(tree, m.Structured)
		if !ok {
			return sallyport.Result{}, r.newFailure("the answer has no "+m.Structured, nil)
		}
		res.Structured = structuredOf(part)
		if m.Value == "" {
			text, err := definition.Compact(part)
			if err != nil {
				return sallyport.Result{}, err
			}
			res.Value = string(text)
		}
	}
	if m.Value == "" {
		return res, nil
	}
	part, ok := findPart(tree, m.Value)
	if !ok {
		return sallyport.Result{}, r.newFailure("the answer has no "+m.Value, nil)
	}
	if s, ok := part.(string); ok {
		res.Value = s
		return res, nil
	}
	text, err := definition.Compact(part)
	res.Value = string(text)
	return res, err
}
