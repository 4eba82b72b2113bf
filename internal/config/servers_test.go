package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const serversYAML = `version: 1
mcp_servers:
  notes:
    command: [python3, ./notes.py]
    env: {B: "1", A: 2}
  far: {url: "https://mcp.example/mcp"}
personalities:
  a:
    mcp_servers: [far]
`

func TestServers(t *testing.T) {
	c, err := Parse("/etc/s.yaml", []byte(serversYAML), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := []Part{
		{ID: "far", JSON: []byte(`{"url":"https://mcp.example/mcp"}`), Dir: "/etc"},
		{ID: "notes", JSON: []byte(`{"command":["python3","./notes.py"],"env":{"B":"1","A":2}}`), Dir: "/etc"},
	}
	if diff := cmp.Diff(want, c.Servers, cmpopts.IgnoreUnexported(Part{})); diff != "" {
		t.Errorf("Servers differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"far"}, c.Personalities["a"].MCPServers); diff != "" {
		t.Errorf("MCPServers differ (-want +got):\n%s", diff)
	}
	for pointer, place := range map[string]string{"": "3:3", "/command": "4:5", "/command/1": "4:24", "/env/A": "5:19", "/url": "3:3"} {
		if got, want := c.Servers[1].Source(pointer), "/etc/s.yaml:"+place; got != want {
			t.Errorf("Source(%q) = %s, want %s", pointer, got, want)
		}
	}
	f := c.Servers[1].Fault("/env/A", "no")
	if f.Message != "mcp_servers.notes.env.A: no" || f.Line != 5 || f.Column != 19 {
		t.Errorf("Fault = %+v", f)
	}
}

func TestServersExist(t *testing.T) {
	const head = "version: 1\nmcp_servers: {everything: {}, local: {}}\npersonalities:\n  a:\n    mcp_servers: "
	_, err := Parse("s.yaml", []byte(head+"[local, everthing, nothing]\n"), testOptions())
	want := []string{
		`s.yaml:5:26: personalities.a.mcp_servers.1: "everthing" is not defined under mcp_servers; did you mean "everything"?`,
		`s.yaml:5:37: personalities.a.mcp_servers.2: "nothing" is not defined under mcp_servers: expected everything or local`,
	}
	if diff := cmp.Diff(want, faultLines(err)); diff != "" {
		t.Errorf("faults differ (-want +got):\n%s", diff)
	}
}
