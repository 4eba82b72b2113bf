package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// ListedPrincipal is a principal as ls --json prints it.
type ListedPrincipal struct {
	// Name is the name.
	Name string `json:"name"`
	// Source is configuration or state.
	Source string `json:"source"`
	// Status is active, stopped, expired, revoked, or tokenless when the
	// principal has no token.
	Status string `json:"status"`
	// Expires is when the token ends, in RFC 3339, or never.
	Expires string `json:"expires"`
	// Permissions are those beside the default ones.
	Permissions []string `json:"permissions"`
	// Personalities are the roles; nil means any.
	Personalities []string `json:"personalities"`
	// Created and Rotated are when the record and its present token were made; zero for
	// one of the configuration.
	Created time.Time `json:"created,omitzero"`
	// Rotated is when the present token was made.
	Rotated time.Time `json:"rotated,omitzero"`
	// Revoked is when the principal was revoked; zero when it was not.
	Revoked time.Time `json:"revoked,omitzero"`
}

// PrintPrincipals prints who may call, and what is stopped.
func PrintPrincipals(p *Printer, entries []auth.Entry, stopped []auth.Switch, now time.Time) error {
	rows := DescribePrincipals(entries, stopped, now)
	if p.JSON {
		if stopped == nil {
			stopped = []auth.Switch{}
		}
		return p.PrintJSON(map[string]any{"principals": rows, "stopped": stopped})
	}
	printListing(p, rows, stopped)
	return nil
}

// DescribePrincipals describes the principals. It includes the local user even when the
// configuration does not mention it.
func DescribePrincipals(entries []auth.Entry, stopped []auth.Switch, now time.Time) []ListedPrincipal {
	local := func(e auth.Entry) bool { return e.Name == sallyport.LocalPrincipal }
	if !slices.ContainsFunc(entries, local) {
		entries = append([]auth.Entry{{Record: auth.Record{Name: sallyport.LocalPrincipal}, Configured: true}}, entries...)
	}
	rows := make([]ListedPrincipal, len(entries))
	for i, e := range entries {
		rows[i] = ListedPrincipal{
			Name: e.Name, Source: "state", Status: principalStatus(&e, stopped, now), Expires: FormatExpiry(e.Expires),
			Permissions: append([]string{}, e.Permissions...), Personalities: e.Personalities,
			Created: e.Created, Rotated: e.Rotated, Revoked: e.Revoked,
		}
		if e.Configured {
			rows[i].Source = "configuration"
		}
	}
	return rows
}

func principalStatus(e *auth.Entry, stopped []auth.Switch, now time.Time) string {
	switch {
	case !e.Revoked.IsZero():
		return "revoked"
	case slices.ContainsFunc(stopped, func(s auth.Switch) bool { return s.Kind == auth.SwitchPrincipal && s.Name == e.Name }):
		return "stopped"
	case e.Live(now), e.Name == sallyport.LocalPrincipal:
		return "active"
	case e.TokenSHA256 == "":
		return "tokenless"
	default:
		return "expired"
	}
}

func printListing(p *Printer, rows []ListedPrincipal, stopped []auth.Switch) {
	table := [][]string{{"NAME", "SOURCE", "STATUS", "EXPIRES", "PERMISSIONS", "PERSONALITIES"}}
	for _, r := range rows {
		roles := strings.Join(r.Personalities, " ")
		if r.Personalities == nil {
			roles = "(any)"
		}
		table = append(table, []string{r.Name, r.Source, r.Status, r.Expires, cmp.Or(strings.Join(r.Permissions, " "), "-"), cmp.Or(roles, "-")})
	}
	p.PrintTable(table)
	if len(stopped) > 0 {
		p.PrintLine("")
	}
	for i := range stopped {
		p.PrintLine("%s", &stopped[i])
	}
}

// NeverExpires is the word for a token that does not expire.
const NeverExpires = "never"

// FormatExpiry describes when a token ends.
func FormatExpiry(at time.Time) string {
	if at.IsZero() {
		return NeverExpires
	}
	return at.UTC().Format(time.RFC3339)
}
