package command

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

// consentTo prints the page to open and what it is for.
func consentTo(p *report.Printer, s *upstream.Server, principal string, what oauth.Consent, redirect string) error {
	if p.JSON {
		return p.PrintJSON(map[string]any{
			"server": s.Name, "principal": s.Holder(principal), "url": what.URL, "host": what.Host, "issuer": what.Issuer,
			"scopes": append([]string{}, what.Scopes...), "redirect": redirect, "wait_seconds": int(loginWait.Seconds()),
		})
	}
	p.PrintLine("Open this page of %s to let %s use the MCP server %s:", text.PrintableLine(what.Host), app.HolderName(s, principal), s.Name)
	p.PrintLine("")
	p.PrintLine("  %s", what.URL)
	p.PrintLine("")
	if len(what.Scopes) > 0 {
		p.PrintLine("scopes   %s", strings.Join(what.Scopes, " "))
	}
	p.PrintLine("issuer   %s", text.PrintableLine(what.Issuer))
	p.PrintLine("waiting  at %s, for %s", redirect, loginWait)
	return nil
}

// reportLogin prints the result of a login.
func reportLogin(p *report.Printer, s *upstream.Server, principal string, status *oauth.Status) error {
	if p.JSON {
		out := map[string]any{
			"server": s.Name, "principal": s.Holder(principal), "logged_in": true, "issuer": status.Issuer,
			"scopes": append([]string{}, status.Scopes...), "renews": status.Renews,
		}
		if !status.Expires.IsZero() {
			out["expires"] = status.Expires.UTC().Format(time.RFC3339)
		}
		return p.PrintJSON(out)
	}
	until := ""
	switch {
	case status.Renews:
		until = ", until its issuer refuses to renew the token"
	case !status.Expires.IsZero():
		until = " until " + report.FormatExpiry(status.Expires)
	}
	p.PrintLine("logged in: %s may use %s%s", app.HolderName(s, principal), s.Name, until)
	p.PrintLine("a running serve asks the server within seconds")
	return nil
}

// argsOf returns the arguments of a login.
func argsOf(principal string) json.RawMessage {
	// Marshalling a map of strings cannot fail.
	text, _ := json.Marshal(map[string]string{"principal": principal})
	return text
}
