package report

import (
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/app/login"
	"github.com/sallyport/sallyport/internal/text"
)

// PrintConsent prints the page to open and what it is for.
func PrintConsent(p *Printer, what *login.Page) error {
	if p.JSON {
		return p.PrintJSON(map[string]any{
			"server": what.Server, "principal": what.Principal, "url": what.URL, "host": what.Host, "issuer": what.Issuer,
			"scopes": append([]string{}, what.Scopes...), "redirect": what.Redirect, "wait_seconds": int(what.Wait.Seconds()),
		})
	}
	p.PrintLine("Open this page of %s to let %s use the MCP server %s:", text.PrintableLine(what.Host), what.Holder, what.Server)
	p.PrintLine("")
	p.PrintLine("  %s", what.URL)
	p.PrintLine("")
	if len(what.Scopes) > 0 {
		p.PrintLine("scopes   %s", strings.Join(what.Scopes, " "))
	}
	p.PrintLine("issuer   %s", text.PrintableLine(what.Issuer))
	p.PrintLine("waiting  at %s, for %s", what.Redirect, what.Wait)
	return nil
}

// PrintLogin prints the result of a login.
func PrintLogin(p *Printer, got *login.Result) error {
	if p.JSON {
		out := map[string]any{
			"server": got.Server, "principal": got.Principal, "logged_in": true, "issuer": got.Issuer,
			"scopes": append([]string{}, got.Scopes...), "renews": got.Renews,
		}
		if !got.Expires.IsZero() {
			out["expires"] = got.Expires.UTC().Format(time.RFC3339)
		}
		return p.PrintJSON(out)
	}
	until := ""
	switch {
	case got.Renews:
		until = ", until its issuer refuses to renew the token"
	case !got.Expires.IsZero():
		until = " until " + FormatExpiry(got.Expires)
	}
	p.PrintLine("logged in: %s may use %s%s", got.Holder, got.Server, until)
	p.PrintLine("a running serve asks the server within seconds")
	return nil
}

// PrintLogout prints the end of a login.
func PrintLogout(p *Printer, end *login.End) error {
	if p.JSON {
		out := map[string]any{"server": end.Server, "principal": end.Principal, "logged_out": end.Revocation != nil}
		if end.Revocation != nil {
			out["revocation"] = end.Revocation
		}
		return p.PrintJSON(out)
	}
	if end.Revocation == nil {
		p.PrintLine("%s was not logged in at %s", end.Holder, end.Server)
		return nil
	}
	p.PrintLine("logged out: %s has no tokens for %s any more", end.Holder, end.Server)
	p.PrintLine("%s", end.Revocation.Describe())
	return nil
}
