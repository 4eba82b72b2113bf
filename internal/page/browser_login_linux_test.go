package page_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestABrowserComesBackFromAnotherSite signs in through a provider at another site, in a
// browser that holds to SameSite, and by a token.
func TestABrowserComesBackFromAnotherSite(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	p := newProvider(t)
	p.asks, p.URL = true, strings.Replace(p.URL, "127.0.0.1", "localhost", 1)
	s := serve(t, p.issued(""))
	b := openBrowser(t)
	b.open(s.url + "/")
	b.shoot("signin")
	b.run(`document.querySelector('a[href="/page/oidc"]').click()`, nil)
	b.until("the login", `location.hostname === "localhost" && document.readyState === "complete" && document.querySelector("a") !== null`)
	b.run(`document.querySelector("a").click()`, nil)
	b.until("the page", `location.hostname === "127.0.0.1" && location.pathname === "/" && document.readyState === "complete" && document.body?.innerText.includes("oidc:alice") === true`)
	b.shoot("signed-in")
	b.run(`document.querySelector("form.me button").click()`, nil)
	b.until("signing out", `document.readyState === "complete" && document.querySelector("#token") !== null`)
	token := s.newToken(t, "ruth")
	b.run(`document.querySelector("#token").value = "`+token+`"; document.querySelector("#token").form.querySelector("button").click()`, nil)
	b.until("the page of ruth", `location.pathname === "/" && document.readyState === "complete" && document.body?.innerText.includes("ruth · reads only") === true`)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range b.blocked {
		if !strings.Contains(what, "401") && !strings.Contains(what, "favicon") {
			t.Errorf("the browser reports %s", what)
		}
	}
}
