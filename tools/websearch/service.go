package websearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/internal/reply"
)

// The names of the services.
const (
	searxng = "searxng"
	brave   = "brave"
	tavily  = "tavily"
	exa     = "exa"
)

// service is one search service: where it is, how it is asked, how it answers.
type service struct {
	name, title string
	base        *url.URL
	// key is the reference of the secret that it asks for; empty for none.
	key string
	// query returns the parameters of a GET, body what a POST holds; one is nil.
	query func(in webInput) url.Values
	body  func(in webInput) any
	// sign adds the key.
	sign func(h http.Header, key string)
	// read returns the results of an answer, and its price in dollars.
	read func(body []byte) ([]finding, float64, error)
}

// posts reports whether a search is sent as POST.
func (s *service) posts() bool { return s.body != nil }

// newService returns a service, or says what is wrong with how it is described.
func newService(name, address, key string) (*service, error) {
	s := &service{name: name, key: key}
	home := ""
	switch name {
	case searxng:
		s.title, s.query, s.read = "SearXNG", querySearXNG, readSearXNG
	case brave:
		s.title, s.query, s.read, home = "Brave", queryBrave, readBrave, "https://api.search.brave.com/res/v1/web/search"
		s.sign = func(h http.Header, key string) { h.Set("X-Subscription-Token", key) }
	case tavily:
		s.title, s.body, s.read, home = "Tavily", bodyTavily, readTavily, "https://api.tavily.com/search"
		s.sign = func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }
	case exa:
		s.title, s.body, s.read, home = "Exa", bodyExa, readExa, "https://api.exa.ai/search"
		s.sign = func(h http.Header, key string) { h.Set("X-Api-Key", key) }
	default:
		return nil, fmt.Errorf("web_search: %q is no search service: expected searxng, brave, tavily or exa", name)
	}
	switch {
	case (home == "") == (address == ""):
		return nil, errors.New("web_search: the address is that of a SearXNG instance, and of nothing else")
	case (s.sign == nil) != (key == ""):
		return nil, errors.New("web_search: every service but SearXNG has a key")
	case home == "":
		home = address
	}
	var err error
	s.base, err = url.Parse(home)
	if err != nil || s.base.Host == "" || s.base.Scheme != "https" && s.base.Scheme != "http" || s.base.User != nil || s.base.RawQuery != "" || s.base.Fragment != "" {
		return nil, errors.New("web_search: the address of SearXNG is an http or https URL without user, query and fragment")
	}
	if name == searxng {
		s.base = s.base.JoinPath("search")
	}
	return s, nil
}

// newRequest returns the request of a search, with the key.
func (s *service) newRequest(ctx context.Context, c *sallyport.Call, in webInput) (*http.Request, error) {
	u, method, body := *s.base, http.MethodGet, io.Reader(http.NoBody)
	if s.posts() {
		raw, err := json.Marshal(s.body(in))
		if err != nil {
			return nil, err
		}
		method, body = http.MethodPost, bytes.NewReader(raw)
	} else {
		u.RawQuery = s.query(in).Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", reply.UserAgent)
	if s.posts() {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.key != "" {
		secret, err := c.Secrets.Get(ctx, s.key)
		if err != nil {
			return nil, err
		}
		s.sign(req.Header, secret.Reveal())
	}
	return req, nil
}

// querySearXNG asks the JSON format of an instance.
func querySearXNG(in webInput) url.Values {
	q := url.Values{"q": {in.Query}, "format": {"json"}}
	if in.Recency != "" {
		q.Set("time_range", in.Recency)
	}
	return q
}

func readSearXNG(body []byte) (found []finding, cost float64, err error) {
	var a struct {
		Results *[]struct {
			URL, Title, Content string
			PublishedDate       *string
		}
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Results == nil {
		return nil, 0, orNoAnswer(err)
	}
	for _, r := range *a.Results {
		f := finding{url: r.URL, title: r.Title, snippet: r.Content}
		if r.PublishedDate != nil {
			f.published = *r.PublishedDate
		}
		found = append(found, f)
	}
	return found, 0, nil
}

// queryBrave asks for plain text; the service marks the words of the query otherwise.
func queryBrave(in webInput) url.Values {
	q := url.Values{"q": {in.Query}, "count": {strconv.Itoa(in.MaxResults)}, "text_decorations": {"false"}, "result_filter": {"web"}}
	if in.Recency != "" {
		q.Set("freshness", "p"+in.Recency[:1])
	}
	return q
}

func readBrave(body []byte) (found []finding, cost float64, err error) {
	var a struct {
		Type string
		Web  struct {
			Results []struct {
				URL, Title, Description string
				PageAge                 string `json:"page_age"`
			}
		}
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Type != "search" {
		return nil, 0, orNoAnswer(err)
	}
	for _, r := range a.Web.Results { // A search without a result has no web.
		found = append(found, finding{url: r.URL, title: r.Title, snippet: r.Description, published: r.PageAge})
	}
	return found, 0, nil
}

func bodyTavily(in webInput) any {
	b := map[string]any{"query": in.Query, "max_results": in.MaxResults, "search_depth": "basic"}
	if in.Recency != "" {
		b["time_range"] = in.Recency
	}
	return b
}

func readTavily(body []byte) (found []finding, cost float64, err error) {
	var a struct {
		Results *[]struct {
			URL, Title, Content string
			PublishedDate       string `json:"published_date"`
		}
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Results == nil {
		return nil, 0, orNoAnswer(err)
	}
	for _, r := range *a.Results {
		found = append(found, finding{url: r.URL, title: r.Title, snippet: r.Content, published: r.PublishedDate})
	}
	return found, 0, nil
}

// bodyExa asks for the beginning of each page, since a result of Exa has no snippet
// otherwise.
func bodyExa(in webInput) any {
	b := map[string]any{
		"query": in.Query, "numResults": in.MaxResults,
		"contents": map[string]any{"text": map[string]any{"maxCharacters": snippetChars}},
	}
	if days := map[string]int{"day": 1, "week": 7, "month": 31, "year": 366}[in.Recency]; days > 0 {
		b["startPublishedDate"] = time.Now().UTC().AddDate(0, 0, -days).Format(time.RFC3339)
	}
	return b
}

func readExa(body []byte) (found []finding, cost float64, err error) {
	var a struct {
		Results *[]struct {
			URL           string
			Title         *string
			Text          string
			PublishedDate *string
		}
		CostDollars struct{ Total float64 }
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Results == nil {
		return nil, 0, orNoAnswer(err)
	}
	for _, r := range *a.Results {
		f := finding{url: r.URL, snippet: r.Text}
		if r.Title != nil {
			f.title = *r.Title
		}
		if r.PublishedDate != nil {
			f.published = *r.PublishedDate
		}
		found = append(found, f)
	}
	return found, a.CostDollars.Total, nil
}
