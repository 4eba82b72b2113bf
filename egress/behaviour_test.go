package egress

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// behaviourCase is one case of testdata/behaviour.json.
type behaviourCase struct {
	Area, Name string
	Input      struct {
		URL, Fn, Start   string
		AllowLocalhost   bool
		TrustedHosts     []string
		Patterns         []string
		Declared         []string
		PersonalityAllow []string `json:"personality_allow"`
		Redirects        map[string]string
		ResolvesTo       json.RawMessage `json:"resolves_to"`
		Policy           struct {
			Allow, Deny  []string
			AllowPrivate bool `json:"allow_private_urls"`
		}
	}
	Expect struct {
		Allow, OK      *bool
		ReasonContains string `json:"reason_contains"`
		ErrorPrefix    string `json:"error_prefix"`
		Final          string
		Hops           int
		CheckedOnly    bool `json:"connects_to_checked_address_only"`
	}
}

// skipBehaviour quotes the line of the contract that a case contradicts.
var skipBehaviour = map[string]string{
	"async http://192.0.0.8/ private-ok": "contract 2, Hosts: allow_private_urls lifts loopback, RFC 1918 and unique-local addresses only",
	"async http://[::]/ private-ok":      "contract 2, Hosts: allow_private_urls lifts loopback, RFC 1918 and unique-local addresses only",
	"async http://[ff02::1]/ private-ok": "contract 2, Hosts: allow_private_urls lifts loopback, RFC 1918 and unique-local addresses only",
}

// wording maps texts that cases ask for to those of the contract, section 3.
var wording = map[string]string{
	"cloud-metadata":      "is a cloud metadata address",
	"URL_SCHEME_REJECTED": "the URL carries user info",
	"private":             "private",
}

func TestBehaviour(t *testing.T) {
	t.Parallel()
	for _, c := range readCases[behaviourCase](t, "testdata/behaviour.json") {
		t.Run(c.Area+"/"+c.Name, func(t *testing.T) {
			if why := skipBehaviour[c.Name]; why != "" {
				t.Skip(why)
			}
			if c.Input.Redirects != nil {
				runRedirects(t, c)
				return
			}
			runBehaviour(t, c)
		})
	}
}

// grantOf spells a case's policy as a grant. A policy without a list means
// every host there.
func grantOf(c behaviourCase) sallyport.NetworkGrant {
	in := c.Input
	g := sallyport.NetworkGrant{Allow: in.Policy.Allow, Deny: in.Policy.Deny, AllowPrivate: in.Policy.AllowPrivate}
	switch {
	case in.AllowLocalhost:
		// The operator names loopback and nothing else.
		g.Allow, g.AllowPrivate = []string{"localhost:11434", "127.0.0.1:11434", "[::1]:11434"}, true
	case in.TrustedHosts != nil:
		g.Allow, g.AllowPrivate = in.TrustedHosts, true
	case in.Patterns != nil:
		g.Allow = in.Patterns
	case in.Declared != nil:
		g.Allow = in.Declared
	case g.Allow == nil:
		g.Allow = []string{"*"}
	}
	return g
}

func behaviourAnswers(t *testing.T, c behaviourCase) map[string][][]netip.Addr {
	switch raw := string(c.Input.ResolvesTo); {
	case c.Input.ResolvesTo == nil || raw == "null":
		// A resolver that knows the .internal zone (reserved by ICANN for
		// private use) gives private addresses for it.
		out := public()
		out["something.internal"] = [][]netip.Addr{addrs("10.0.0.53")}
		return out
	case raw == `"error"`:
		return nil
	case strings.HasPrefix(raw, `["first `):
		return map[string][][]netip.Addr{"": {addrs("93.184.216.34"), addrs("127.0.0.1")}}
	default:
		return addresses(t, c.Input.ResolvesTo)
	}
}

func runBehaviour(t *testing.T, c behaviourCase) {
	w := newWorld(t, behaviourAnswers(t, c), func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "ok") })
	cl := w.client(t, grantOf(c), Options{})
	_, err := ParseURL(c.Input.URL)
	if err == nil {
		_, err = get(bind(cl, nil), c.Input.URL)
	}
	if c.Expect.CheckedOnly {
		if d := w.dials(); err != nil || len(d) != 1 || d[0].Addr().String() != "93.184.216.34" {
			t.Errorf("dialled %v (%v), want the checked address once", d, err)
		}
		return
	}
	if got := err == nil; got != *c.Expect.Allow {
		t.Errorf("fetch(%q) allowed = %t (%v), want %t", c.Input.URL, got, err, *c.Expect.Allow)
	}
	e, _ := errors.AsType[*sallyport.Error](err)
	if want := c.Expect.ReasonContains; want != "" && !strings.Contains(e.Error(), wording[want]) {
		t.Errorf("fetch(%q) = %v, want %q", c.Input.URL, e, wording[want])
	}
	if want := c.Expect.ErrorPrefix; want != "" && !strings.HasPrefix(e.Error(), want+": ") {
		t.Errorf("fetch(%q) = %v, want it to begin with %s", c.Input.URL, e, want)
	}
}

func runRedirects(t *testing.T, c behaviourCase) {
	hops := 0
	w := newWorld(t, addresses(t, c.Input.ResolvesTo), func(rw http.ResponseWriter, r *http.Request) {
		short, _, _ := strings.Cut(r.Host, ".")
		to := c.Input.Redirects[short]
		if to != "" {
			to = "http://" + to + strings.TrimPrefix(r.Host, short) + "/"
		} else {
			to = c.Input.Redirects["https://"+r.Host+r.URL.Path]
		}
		if to != "" {
			hops++
			http.Redirect(rw, r, to, http.StatusFound)
		}
	})
	cl := w.client(t, grantOf(c), Options{})
	resp, err := bind(cl, nil).Get(c.Input.Start)
	if got := err == nil; got != *c.Expect.OK {
		t.Fatalf("fetch(%q) = %v, want ok %t", c.Input.Start, err, *c.Expect.OK)
	}
	if err != nil {
		wantRefused(t, "fetch", err, c.Expect.ErrorPrefix)
		return
	}
	defer resp.Body.Close()
	if got := resp.Request.URL.String(); got != c.Expect.Final || hops != c.Expect.Hops {
		t.Errorf("fetch(%q) ends at %s after %d hops, want %s after %d", c.Input.Start, got, hops, c.Expect.Final, c.Expect.Hops)
	}
}
