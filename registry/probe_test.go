package registry_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// TestC13_WhatWouldBeRefusedIsNotAskedAbout makes calls that need an approval
// and reach for what the grant does not cover: they are refused with the
// accessor's words, no one is asked, and the call that is covered is held.
func TestC13_WhatWouldBeRefusedIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	for _, tt := range []struct {
		name    string
		caps    sallyport.Capabilities
		touch   sallyport.Touch
		in, out string
		code    sallyport.Code
		text    string
	}{
		{
			"mail",
			sallyport.Capabilities{Mail: &sallyport.MailCapability{To: []string{"*@a.example"}}},
			sallyport.Touch{Capability: "mail", Argument: "x"},
			`["ann@a.example"]`, `["ann@a.example","eve@b.example"]`,
			sallyport.CodeNotAvailable, "recipient eve@b.example is not in the declared recipients",
		},
		{
			"mail that is none",
			sallyport.Capabilities{Mail: &sallyport.MailCapability{To: []string{"*@a.example"}}},
			sallyport.Touch{Capability: "mail", Argument: "x"},
			`"ann@a.example"`, `"ann"`,
			sallyport.CodeInputInvalid, "not an address",
		},
		{
			"host",
			sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}},
			sallyport.Touch{Capability: "network", Argument: "x"},
			`"https://a.example/x"`, `"https://b.example/"`,
			sallyport.CodeExecutionFailed, "HOST_NOT_ALLOWED: b.example",
		},
		{
			"address on the floor",
			sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}},
			sallyport.Touch{Capability: "network", Argument: "x"},
			`"https://a.example/"`, `"http://169.254.169.254/"`,
			sallyport.CodeExecutionFailed, "HOST_NOT_ALLOWED: 169.254.169.254 is a cloud metadata address",
		},
		{
			"file",
			sallyport.Capabilities{FSReach: &sallyport.FSCapability{Write: sallyport.FromPersonality()}},
			sallyport.Touch{Capability: "fs_reach.write", Argument: "x"},
			`"a.txt"`, `"/etc/passwd"`,
			sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: write not permitted for /etc/passwd",
		},
		{
			"file on the floor",
			sallyport.Capabilities{FSReach: &sallyport.FSCapability{Write: sallyport.FromPersonality()}},
			sallyport.Touch{Capability: "fs_reach.write", Argument: "x"},
			`"a.txt"`, `".ssh/id_rsa"`,
			sallyport.CodeExecutionFailed, "hits the always-deny floor",
		},
		{
			"secret",
			sallyport.Capabilities{Secrets: []string{"a/*"}},
			sallyport.Touch{Capability: "secrets", Argument: "x"},
			`"a/b"`, `"a/c"`,
			sallyport.CodeExecutionFailed, "SECRET_NOT_DECLARED: a/c",
		},
		{
			"database",
			sallyport.Capabilities{Database: &sallyport.DatabaseCapability{Connections: []string{"main"}}},
			sallyport.Touch{Capability: "database", Argument: "x"},
			`"main"`, `"other"`,
			sallyport.CodeNotAvailable, "connection other is not in the declared connections",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			names := &named{}
			names.lead("server a")
			d := newDeskOf(t, asking(func(p *sallyport.Personality) {
				p.Network = &sallyport.NetworkPolicy{Allow: []string{"a.example"}}
				p.FSReach = &sallyport.Reach{Write: []string{ws}}
				p.Secrets = []string{"a/b"}
			}), memory.NewApprovals(nil), &sallyport.Backends{
				Databases: names, Mail: names, Secrets: fixedSecrets{}, Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: ws},
			})
			d.hold(func(tool *sallyport.Tool) { tool.Capabilities, tool.Touches = tt.caps, []sallyport.Touch{tt.touch} })
			caller := d.caller()
			caller.Workspace = ws
			res := d.Call(t.Context(), caller, sallyport.Request{Tool: "held", Args: []byte(`{"x":` + tt.out + `}`)})
			if res.OK || res.Code != tt.code || !strings.Contains(res.Error, tt.text) {
				t.Errorf("Call(%s) = %+v, want %s with %q", tt.out, res, tt.code, tt.text)
			}
			if all, err := d.store.List(t.Context(), true); err != nil || len(all) != 0 {
				t.Errorf("after Call(%s) people are asked about %+v, %v", tt.out, all, err)
			}
			caller = d.caller()
			caller.Workspace = ws
			res = d.Call(t.Context(), caller, sallyport.Request{Tool: "held", Args: []byte(`{"x":` + tt.in + `}`)})
			if res.Code != sallyport.CodeApprovalRequired || d.ran.Load() != 0 {
				t.Errorf("Call(%s) = %+v after %d runs, want it held", tt.in, res, d.ran.Load())
			}
		})
	}
}

// TestTouchesAreHeldToTheDeclaration registers tools that say otherwise.
func TestTouchesAreHeldToTheDeclaration(t *testing.T) {
	t.Parallel()
	for name, touch := range map[string]sallyport.Touch{
		"unknown group": {Capability: "files", Argument: "x"}, "undeclared": {Capability: "mail", Argument: "x"},
		"neither": {Capability: "network"}, "both": {Capability: "network", Argument: "x", Item: "https://a.example"},
	} {
		r, err := registry.New(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Register(sallyport.Tool{
			Name: "tool", Run: echo, Touches: []sallyport.Touch{touch},
			Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example"}}},
		})
		if err == nil || !strings.Contains(err.Error(), "Touches") {
			t.Errorf("%s: Register = %v, want a fault", name, err)
		}
	}
}
