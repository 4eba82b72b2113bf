package command

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/auth"
)

// TestServeFollowsLogins runs a server while another process logs in and out.
// The server uses a new login, and drops a removed one, without a reload.
func TestServeFollowsLogins(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	dir := configured(t, strings.Replace(g.config(), "ann: {", `ann: {token_sha256: "`+auth.HashToken(tokenOf("ann"))+`", personalities: [default], `, 1))
	s := serveWatched(t, dir)
	const tool, none = "mcp__far__token", `{}`
	s.wants(t, tokenOf("ann"), tool, none, 404)

	from := s.told.len()
	if printed, err := logsIn(t, dir); err != nil {
		t.Fatalf("login: %v\n%s", err, printed)
	}
	s.told.await(t, from, "the MCP server far answers now: 1 tools")
	has(t, s.actionWith(t, tokenOf("ann"), tool, none).Error, "wants a login of ann")

	from = s.told.len()
	runSallyport(t, dir, "logout", "far")
	s.told.await(t, from, "the tools of the MCP server far are not available: the MCP server far wants a login of local: run sallyport login far")
	a := s.actionWith(t, tokenOf("ann"), tool, none)
	if has(t, a.Error, "is not currently available: the MCP server far wants a login of local"); a.Code != "not_available" {
		t.Errorf("a call after the logout = %+v", a)
	}

	from = s.told.len()
	if printed, err := logsIn(t, dir, "--principal", "ann"); err != nil {
		t.Fatalf("login of ann: %v\n%s", err, printed)
	}
	s.told.await(t, from, "the tools of the MCP server far are available again")
	has(t, string(s.wants(t, tokenOf("ann"), tool, none, 200).Data), "you sent Bearer [REDACTED")
	s.stop(t)
}
