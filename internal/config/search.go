package config

import (
	"errors"
	"net/url"
)

// The search services.
const (
	SearchSearXNG = "searxng"
	SearchBrave   = "brave"
	SearchTavily  = "tavily"
	SearchExa     = "exa"
)

// Search is the search service that the built-in web_search asks.
type Search struct {
	// Service is one of the Search constants; empty for none.
	Service string
	// URL is the address of the SearXNG instance; empty for any other service.
	URL string
	// KeySecret is the reference of the secret that holds the key of the service; empty
	// for SearXNG.
	KeySecret string
}

func searchKeys() []row {
	return []row{
		{
			KeyDoc: KeyDoc{"search", TypeMapping, false, true, "no `web_search`", "Search service that the built-in `web_search` asks. A role needs its host and its secret.", "{service: brave}"},
			set:    func(*scope, value) {}, done: (*scope).checkSearch,
		},
		{
			KeyDoc: KeyDoc{"search.service", TypeText, true, true, "", "Name of the service: `api.search.brave.com`, `api.tavily.com` and `api.exa.ai` are the hosts of the last three.", "brave"},
			words:  []string{SearchSearXNG, SearchBrave, SearchTavily, SearchExa}, set: func(s *scope, v value) { s.cfg.Search.Service = v.text },
		},
		{
			KeyDoc: KeyDoc{"search.url", TypeText, false, true, "", "Address of the instance, for `searxng`; its settings have to list `json` under `search.formats`.", "https://search.example.org"},
			check:  (*scope).instanceURL, set: func(s *scope, v value) { s.cfg.Search.URL = v.text },
		},
		{
			KeyDoc: KeyDoc{"search.key_secret", TypeText, false, true, "`providers/SERVICE/apiKey`; none for `searxng`", "Reference of the secret that holds the key of the service.", "providers/brave/apiKey"},
			check:  (*scope).exactRef, hide: true, set: func(s *scope, v value) { s.cfg.Search.KeySecret = v.text },
		},
	}
}

// instanceURL reads the address of an instance.
func (s *scope) instanceURL(v string) (string, error) {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("expected an http or https address without user, query and fragment, such as https://search.example.org")
	}
	return v, nil
}

// checkSearch checks the keys of the service together, and names its secret.
func (s *scope) checkSearch(key string) {
	c := &s.cfg.Search
	at, hasURL := s.places[key+".url"]
	ref, hasKey := s.places[key+".key_secret"]
	switch {
	case c.Service == "":
		// The missing key is reported.
	case c.Service != SearchSearXNG && hasURL:
		s.addFault(s.file, at.at, key+".url", "%s.url is the address of a SearXNG instance: %s has its own", key, c.Service)
	case c.Service == SearchSearXNG && hasKey:
		s.addFault(s.file, ref.at, key+".key_secret", "%s.key_secret: searxng has no key", key)
	case c.Service == SearchSearXNG && !hasURL:
		s.addFault(s.file, s.places[key+".service"].at, key+".url", "%s.url is missing: searxng is an instance of your choice", key)
	case c.Service != SearchSearXNG && !hasKey:
		c.KeySecret = "providers/" + c.Service + "/apiKey"
	}
}
