package profiles

import (
	"strings"
	"testing"
)

// TestEveryProfileIsValid reads all profiles and finds two of one package.
func TestEveryProfileIsValid(t *testing.T) {
	t.Parallel()
	list, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 25 {
		t.Errorf("%d profiles, want at least 25", len(list))
	}
}

// TestDecodeRefuses gives each kind of fault to the reader.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const begin = "title: X\nmatch: {npm: [x]}\n"
	for _, tt := range []struct{ name, text, want string }{
		{"x.yaml", "title: X\n", "match names nothing"},
		{"X_.yaml", begin, "no name of a profile"},
		{"x.yaml", "match: {npm: [x]}\n", "title is missing"},
		{"x.yaml", begin + "more: 1\n", `unknown field "more"`},
		{"x.yaml", begin + "title: Y\n", "title"},
		{"x.yaml", "title: X\nmatch: {npm: [\"x@1\"]}\n", "no name of a package"},
		{"x.yaml", "title: X\nmatch: {images: [\"x:1\"]}\n", "no name of an image"},
		{"x.yaml", "title: X\nmatch: {images: [x]}\n", "nothing takes the place of an image"},
		{"x.yaml", "title: X\nmatch: {urls: [\"http://x.example\"]}\n", "no https address"},
		{"x.yaml", begin + "instead: {npm: y, url: \"https://x.example\"}\n", "exactly one of npm, pypi and url"},
		{"x.yaml", begin + "instead: {url: \"https://x.example\", bearer: T}\n", "names a secret of env"},
		{"x.yaml", begin + "capabilities: {secrets: [a]}\n", "cannot propose secrets"},
		{"x.yaml", begin + "capabilities: {network: {allowedHosts: [\"*\"]}}\n", "names its hosts"},
		{"x.yaml", begin + "capabilities: {network: {allowedHosts: [\"https://x\"]}}\n", "x"},
		{"x.yaml", begin + "capabilities: {network: {hosts: [x.example]}}\n", "hosts"},
		{"x.yaml", begin + "capabilities: {fs_reach: {read: [/etc]}}\n", "not below ${state}"},
		{"x.yaml", begin + "cwd: \"${workspace}\"\ncapabilities: {fs_reach: {write: [\"${state}\"]}}\n", "is not ${state}"},
		{"x.yaml", begin + "cwd: \"${state}\"\ncapabilities: {fs_reach: {read: [\"${state}\"]}}\n", "may write"},
		{"x.yaml", begin + "capabilities: {fs_reach: {write: from-personality}}\n", "names paths"},
		{"x.yaml", begin + "capabilities: {process: {allowedBinaries: [\"*\"]}}\n", "no name of a binary"},
		{"x.yaml", begin + "capabilities: {process: {allowedBinaries: [sh], execFrom: [/x]}}\n", "execFrom"},
		{"x.yaml", begin + "env: {NODE_OPTIONS: {plain: true}}\n", "no variable"},
		{"x.yaml", begin + "env: {A: {}}\n", "exactly one"},
		{"x.yaml", begin + "env: {A: {plain: true, secret: true}}\n", "exactly one"},
		{"x.yaml", begin + "env: {A: {state: ../x}}\n", "not below the state folder"},
		{"x.yaml", begin + "env: {A: {set: \"${home}\"}}\n", "begins with ${chromium}"},
		{"x.yaml", begin + "env: {A: {path: all}}\n", "read or write"},
		{"x.yaml", begin + "arguments: {paths: all}\n", "read or write"},
		{"x.yaml", begin + "arguments: {secrets: {--key: A}}\n", "a secret of env"},
		{"x.yaml", begin + "arguments: {add: [\"--a=${self}\"]}\n", "cannot be added"},
		{"x.yaml", begin + "version: latest\n", "not exact"},
		{"x.yaml", begin + "effects: {send: {does: [outwards]}}\n", "expected each of read"},
		{"x.yaml", begin + "effects: {send: {does: [read, outward]}}\n", "read contradicts"},
		{"x.yaml", begin + "effects: {send: {does: [outward], destinations: {to: post}}}\n", "expected one of mail"},
		{"x.yaml", begin + "effects: {send: {does: [outward], to: mail}}\n", `unknown field "to"`},
		{"x.yaml", begin + "effects: {send: {destinations: {to: mail}}}\n", "send needs does"},
		{"x.yaml", "title: X\nmatch: {urls: [\"https://x.example\"]}\neffects: {send: {does: [outward]}}\n", "of a package"},
		{"x.yaml", begin + "beside: [\"A B\"]\n", "no name of a package"},
		{"x.yaml", begin + "proof: {tool: t}\n", "proof needs"},
		{"x.yaml", begin + "remote: {url: \"https://x.example\", login: magic}\n", "not none, oauth or token"},
		{"x.yaml", begin + "remarks: [\"\"]\n", "empty"},
	} {
		if _, err := Decode(tt.name, []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Decode(%q) = %v, want %q", tt.text, err, tt.want)
		}
	}
}

// TestTwoProfilesOfOnePackageAreRefused gives one package to two profiles.
func TestTwoProfilesOfOnePackageAreRefused(t *testing.T) {
	t.Parallel()
	one, two := &Profile{Name: "one", Match: Match{NPM: []string{"x"}}}, &Profile{Name: "two", Match: Match{NPM: []string{"x"}}}
	if err := checkUnique([]*Profile{one, two}); err == nil {
		t.Error("two profiles of one package are accepted")
	}
}

// TestMatch finds profiles by what client files hold.
func TestMatch(t *testing.T) {
	t.Parallel()
	name := func(p *Profile) string {
		if p == nil {
			return ""
		}
		return p.Name
	}
	for _, tt := range []struct{ got, want string }{
		{name(Of(NPM, "@modelcontextprotocol/server-memory")), "memory"},
		{name(Of(PyPI, "@modelcontextprotocol/server-memory")), ""},
		{name(Of(PyPI, "mcp-server-git")), "git"},
		{name(Of("other", "mcp-server-git")), ""},
		{name(OfImage("mcp/memory")), "memory"},
		{name(OfImage("docker.io/mcp/memory:latest")), "memory"},
		{name(OfImage("ghcr.io/github/github-mcp-server@sha256:00")), "github"},
		{name(OfImage("localhost:5000/mcp/memory")), ""},
		{name(OfURL("https://api.githubcopilot.com/mcp/x/repos")), "github"},
		{name(OfURL("https://api.githubcopilot.com/mcpx")), ""},
		{name(OfURL("https://API.githubcopilot.com/mcp/")), "github"},
		{name(OfURL("http://api.githubcopilot.com/mcp/")), ""},
		{name(OfURL("https://mcp.exa.ai/mcp?tools=a")), "exa"},
		{name(OfURL("https://mcp.exa.ai.example/mcp")), ""},
		{name(OfURL("not an address")), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("found %q, want %q", tt.got, tt.want)
		}
	}
}
