// Package websearch holds the tool web_search, which asks one search service of the
// operator's choice: SearXNG, Brave, Tavily or Exa. [Tool] returns it for a registry.
//
// The tool declares the one host and the one secret of its service, and reaches nothing
// else. What a service answers was written by others: titles and snippets come back as
// untrusted text, shortened, one result below the other.
package websearch

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
	"github.com/sallyport/sallyport/tools/internal/reply"
)

const (
	// toolset is the label of the tool, beside that of fetch_url.
	toolset = "web"
	// maxQueryChars is the longest query that every service takes.
	maxQueryChars = 400
	// maxResults bounds the results, defaultResults are those of a call that says
	// nothing.
	maxResults, defaultResults = 10, 5
	// timeLimit bounds the whole exchange: SearXNG waits for other services.
	timeLimit = 30 * time.Second
	// resultChars bounds a result, snippets included.
	resultChars = 15_000
)

// webInput is the arguments of web_search.
type webInput struct {
	Query      string `json:"query" jsonschema:"What to search for, as one would type it."`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"Most results to return."`
	Recency    string `json:"recency,omitempty" jsonschema:"Only pages of the last day, week, month or year. Leave out for any time."`
}

// Tool returns web_search over a service: "searxng", "brave", "tavily" or "exa". The
// address is that of the SearXNG instance, such as https://search.example.org; the others
// have their own and take an empty one. The key is the reference of the secret with the
// service's key; SearXNG has none. Anything else is an error.
func Tool(service, address, key string) (sallyport.Tool, error) {
	s, err := newService(service, address, key)
	if err != nil {
		return sallyport.Tool{}, err
	}
	t := sallyport.Tool{
		Name: "web_search", Title: "Web Search", Toolset: toolset,
		Description: "Search the web. Answers with title, address and snippet of each result, best first; read a page with fetch_url.",
		Schema: args.Schema[webInput](func(get func(string) args.Property) {
			get("query").Length(1, maxQueryChars)
			get("max_results").Between(1, maxResults).Default(defaultResults)
			get("recency").OneOf("day", "week", "month", "year")
		}),
		Capabilities:   sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{s.base.Host}}},
		Touches:        []sallyport.Touch{{Capability: "network", Item: s.base.Host}},
		MaxResultChars: resultChars, Timeout: timeLimit + 5*time.Second, HonoursDeadline: true, OutputIsUntrusted: true,
		// The same search again is answered from here: it costs money elsewhere.
		Cache: &sallyport.Cache{TTL: 5 * time.Minute},
	}
	if s.key != "" {
		t.Capabilities.Secrets = []string{s.key}
		t.Touches = append(t.Touches, sallyport.Touch{Capability: "secrets", Item: s.key})
	}
	// A search that is sent as POST only reads, but the gate can enforce that of GET alone.
	t.ReadOnly, t.SaysReadOnly = !s.posts(), s.posts()
	t.Idempotent = t.ReadOnly
	return schema.Tool(t, s.searchWeb)
}

// searchWeb runs a call of web_search.
func (s *service) searchWeb(ctx context.Context, c *sallyport.Call, in webInput) (sallyport.Result, error) {
	if strings.TrimSpace(in.Query) == "" {
		return sallyport.Result{}, sallyport.InputInvalid("the query is empty")
	}
	if in.MaxResults == 0 {
		in.MaxResults = defaultResults
	}
	within, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	req, err := s.newRequest(within, c, in)
	if err != nil {
		return sallyport.Result{}, err
	}
	c.Emit(sallyport.Progress{Message: "searching with " + s.title})
	resp, err := c.Network.Client().Do(req)
	if err != nil {
		return sallyport.Result{}, reply.Failure(ctx, shownAddress(req.URL), err)
	}
	defer func() { _ = resp.Body.Close() }() // Nothing was written.
	a, err := reply.Read(resp, true)
	if err != nil {
		return sallyport.Result{}, reply.Failure(ctx, shownAddress(req.URL), err)
	}
	if a.Status != http.StatusOK {
		return sallyport.Result{}, s.newStatusError(a.Status)
	}
	found, cost, err := s.read([]byte(a.Decode()))
	if err != nil || a.Cut {
		return sallyport.Result{}, s.newError("its answer cannot be read", err)
	}
	r := newSearchResult(found, in.MaxResults)
	r.Source, r.CostUSD = "query:"+in.Query, max(cost, 0)
	return r, nil
}

// shownAddress is an address without the query, which is the caller's business.
func shownAddress(u *url.URL) *url.URL { return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path} }

// newStatusError says what a status of the service means, without the words of the
// service.
func (s *service) newStatusError(status int) error {
	what := fmt.Sprintf("it answers %d %s", status, http.StatusText(status))
	switch {
	case s.name == searxng && status == http.StatusForbidden:
		what += ": its settings have to list json under search.formats"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		what += ": the key is missing or not valid"
	case status == http.StatusPaymentRequired, status == http.StatusTooManyRequests, status == 432, status == 433: // those of Tavily
		what += ": the limit of the account or of the moment is used up"
	}
	return s.newError(what, nil)
}

func (s *service) newError(what string, err error) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: s.base.Host, Operation: "get",
		Detail: "cannot search with " + s.title + ": " + what, Err: err,
	}
}
