package report

import (
	"encoding/json"
	"net"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
)

// Announcement is what serve --json prints.
type Announcement struct {
	// URL is where the server listens.
	URL string `json:"url"`
	// Workspace is the folder that it serves.
	Workspace string `json:"workspace"`
	// Personality is the role of callers that name none.
	Personality string `json:"personality"`
	// Token is the bearer token of the local user where this start made it.
	Token string `json:"token,omitempty"`
	// Enforced lists the limits that hold.
	Enforced []Enforcement `json:"enforced"`
}

// ReachableAddress returns an address that a client can call. A listener on all
// addresses of the machine has an address that no client can call.
func ReachableAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// PrintAnnouncement prints where the server listens, how to connect, what to try, and
// what is enforced.
func PrintAnnouncement(p *Printer, rt *app.Runtime, role *sallyport.Personality, address, token string) error {
	url := rt.ServerURL(ReachableAddress(address)) + "/mcp"
	if p.JSON {
		return p.PrintJSON(Announcement{url, rt.InForce().Config.Workspace, role.Name, token, DescribeEnforcement(rt)})
	}
	shown := token
	p.PrintLine("sallyport serves %s", url)
	p.PrintLine("workspace    %s", rt.InForce().Config.Workspace)
	if role.Description != "" {
		p.PrintLine("personality  %s: %s", role.Name, role.Description)
	} else {
		p.PrintLine("personality  %s", role.Name)
	}
	if token != "" {
		p.PrintLine("token        %s", token)
		p.PrintLine("             printed only now, kept as a hash; serve --new-token replaces it")
	} else {
		shown = "<token>"
		p.PrintLine("token        made at the first start; serve --new-token replaces it")
	}
	p.PrintLine("")
	p.PrintLine("paste into an MCP client:")
	p.PrintLine("  %s", httpEntry(url, shown))
	if rt.Builtin {
		p.PrintLine("or let it start the server itself: %s init, then %s connect claude-code --print", rt.Env.ProgramName(), rt.Env.ProgramName())
	} else {
		p.PrintLine("or let it start the server itself: %s connect claude-code --print", rt.Env.ProgramName())
	}
	p.PrintLine("")
	p.PrintLine("try, from another terminal in %s:", rt.Env.Dir)
	self := rt.Env.ProgramName()
	p.PrintLine("  %s call read_file '{\"path\":\"README.md\",\"end_line\":5}'   # allowed", self)
	p.PrintLine("  %s call read_file '{\"path\":\"/etc/passwd\"}'              # refused", self)
	p.PrintLine("  %s audit tail", self)
	p.PrintLine("  %s page   # prints a link to the page where people see and decide", self)
	p.PrintLine("")
	PrintEnforcement(p, DescribeEnforcement(rt))
	return nil
}

// httpEntry returns the line for a client that reads mcpServers as JSON.
func httpEntry(url, token string) string {
	entry := map[string]any{"sallyport": map[string]any{
		"type": "http", "url": url, "headers": map[string]string{"Authorization": "Bearer " + token},
	}}
	// Marshalling maps of strings cannot fail.
	text, _ := json.Marshal(map[string]any{"mcpServers": entry})
	return string(text)
}
