package report

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/text"
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
func PrintAnnouncement(ctx context.Context, p *Printer, rt *app.Runtime, role *sallyport.Personality, address, token string) error {
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
	for _, line := range listTrials(ctx, rt, role.Name) {
		p.PrintLine("  %s %s", self, line)
	}
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
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)                            // a person reads it
	_ = e.Encode(map[string]any{"mcpServers": entry}) // maps of strings can be encoded
	return string(bytes.TrimSpace(line.Bytes()))
}

// listTrials returns the commands to try in a role: a call that is allowed and one that
// is refused where the role has read_file and both hold, else the list of its tools.
func listTrials(ctx context.Context, rt *app.Runtime, role string) []string {
	t := rt.InForce()
	flag := ""
	if chosen, err := t.Config.Choose(""); err != nil || chosen.Name != role {
		flag = " --personality " + text.ShellWord(role)
	}
	caller := &sallyport.Caller{
		Principal: sallyport.Principal{Name: sallyport.LocalPrincipal}, Personality: role,
		Platform: sallyport.PlatformCLI, Workspace: t.Config.Workspace,
	}
	mayRead := func(path string) bool { return t.Registry.Path(ctx, caller, "read_file", "read", path).Allowed }
	_, err := os.Stat(filepath.Join(t.Config.Workspace, "README.md"))
	has := slices.ContainsFunc(t.Registry.List(caller), func(tool sallyport.Tool) bool { return tool.Name == "read_file" })
	if err != nil || !has || !mayRead("README.md") || mayRead("/etc/passwd") {
		return []string{"tools" + flag + "   # what the role " + role + " has"}
	}
	return []string{
		`call read_file '{"path":"README.md","end_line":5}'` + flag + "   # allowed",
		`call read_file '{"path":"/etc/passwd"}'` + flag + "              # refused",
	}
}
