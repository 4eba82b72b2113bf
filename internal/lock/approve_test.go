package lock_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/lock"
)

func TestApprovePinsWhatTheDigestNames(t *testing.T) {
	pinned, now := mustPin(t, offer()), mustPin(t, edited(t, "Reads a file.", "Reads any file."))
	for _, scope := range []lock.Scope{{}, {Server: "files"}, {Server: "files", Tool: "read"}} {
		digest, err := now.Digest(scope)
		if err != nil {
			t.Fatal(err)
		}
		for _, expect := range []string{digest, digest[:32], strings.ToUpper(digest[:40])} {
			got, err := pinned.Approve(now, scope, expect)
			if err != nil {
				t.Fatalf("%s: Approve(%s): %v", scope, expect, err)
			}
			if d := cmp.Diff(bytesOf(t, now), bytesOf(t, got)); d != "" {
				t.Errorf("%s: Approve (-want +got):\n%s", scope, d)
			}
		}
	}
	if d := lock.Diff(pinned, mustPin(t, offer())); len(d) > 0 {
		t.Errorf("the pinned file changed: %v", changes(d))
	}
}

func TestApproveRefusesWhatWasNotShown(t *testing.T) {
	pinned, now := mustPin(t, offer()), mustPin(t, edited(t, "Reads a file.", "Reads any file."))
	scope := lock.Scope{Server: "files", Tool: "read"}
	found, _ := now.Digest(scope)
	before, _ := pinned.Digest(scope)
	server, _ := now.Digest(lock.Scope{Server: "files"})
	for _, expect := range []string{"", found[:31], found + "0", "sha256:" + found, before, server, strings.Repeat("0", 64), found[:16] + strings.Repeat("g", 48)} {
		got, err := pinned.Approve(now, scope, expect)
		if err == nil || got != nil || !strings.Contains(err.Error(), found) {
			t.Errorf("Approve(%q) = %v, %v; want an error that names %s", expect, got, err, found)
		}
	}
	_, err := pinned.Approve(now, scope, before)
	if m, ok := errors.AsType[*lock.Mismatch](err); !ok || m.Found != found || m.Expected != before {
		t.Errorf("Approve: %v, want a Mismatch with both digests", err)
	}
}

func TestApproveRefusesWhatIsNotThere(t *testing.T) {
	now := mustPin(t, offer())
	for _, scope := range []lock.Scope{{Server: "other"}, {Server: "files", Tool: "write"}, {Tool: "read"}} {
		if _, err := now.Approve(now, scope, zero); !errors.Is(err, lock.ErrAbsent) {
			t.Errorf("%+v: Approve: %v, want ErrAbsent", scope, err)
		}
	}
	scope := lock.Scope{Server: "files", Tool: "read"}
	digest, _ := now.Digest(scope)
	if _, err := (*lock.File)(nil).Approve(now, scope, digest); !errors.Is(err, lock.ErrAbsent) {
		t.Errorf("a tool of a server that is not pinned: %v, want ErrAbsent", err)
	}
}

// TestDigestsAreOfNames: what was shown of one server or tool is not another
// one with the same content.
func TestDigestsAreOfNames(t *testing.T) {
	s, _, err := lock.Take("other", offer(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := mustPin(t, offer())
	f.Servers["other"] = s
	for _, tool := range []string{"", "read"} {
		a, err := f.Digest(lock.Scope{Server: "files", Tool: tool})
		b, err2 := f.Digest(lock.Scope{Server: "other", Tool: tool})
		if err != nil || err2 != nil || a == b {
			t.Errorf("Digest of %q under two servers: %s and %s, want two (%v, %v)", tool, a, b, err, err2)
		}
	}
}

// TestApprovedIsACopy changes the file that was approved from.
func TestApprovedIsACopy(t *testing.T) {
	now := mustPin(t, offer())
	digest := whole(t, now)
	got, err := (*lock.File)(nil).Approve(now, lock.Scope{}, digest)
	if err != nil {
		t.Fatal(err)
	}
	s := now.Servers["files"]
	s.Package.Command[0], s.Programs[0].Path = "sh", "/bin/sh"
	s.Command[0], s.Binary.Path, s.Capabilities.Network.AllowedHosts[0] = "sh", "/bin/sh", "evil.test"
	s.Tools["read"].Definition[0] = 'x'
	s.Tools["x"] = lock.Pin{}
	if whole(t, got) != digest || !strings.HasPrefix(string(got.Servers["files"].Tools["read"].Definition), "{") {
		t.Error("what was approved changes with the file it was taken from")
	}
}

func TestCheckTool(t *testing.T) {
	f := mustPin(t, offer())
	good := offer().Tools[0]
	for _, tt := range []struct{ name, server, definition, why string }{
		{"pinned", "files", string(good), ""},
		{"spelled otherwise", "files", strings.ReplaceAll(string(good), `,"`, ` ,  "`), ""},
		{"unknown server", "other", string(good), "the server other is not pinned"},
		{"unknown tool", "files", `{"name":"write"}`, "the tool is not pinned"},
		{"no name", "files", `{}`, "the definition has no name"},
		{"broken", "files", `{"name":"read"`, "the definition is not valid"},
		{"repeated key", "files", strings.Replace(string(good), "{", `{"name":"x",`, 1), "the definition is not valid"},
		{"changed", "files", strings.Replace(string(good), "Reads", "Sends", 1), "the definition is not the pinned one"},
		{"hidden character", "files", strings.Replace(string(good), "Reads", "Reads\u200b", 1), "the definition is not the pinned one"},
		{"more", "files", strings.Replace(string(good), "{", `{"x":null,`, 1), "the definition is not the pinned one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ok, why := f.CheckDefinition(tt.server, lock.KindTool, json.RawMessage(tt.definition))
			if ok != (tt.why == "") || why != tt.why {
				t.Errorf("CheckDefinition = %v, %q, want %q", ok, why, tt.why)
			}
		})
	}
	if ok, _ := (*lock.File)(nil).CheckDefinition("files", lock.KindTool, good); ok {
		t.Error("a nil file approves")
	}
	o := offer()
	for k, d := range map[lock.Kind]json.RawMessage{lock.KindResource: o.Resources[0], lock.KindTemplate: o.Templates[0], lock.KindPrompt: o.Prompts[0]} {
		if ok, why := f.CheckDefinition("files", k, d); !ok {
			t.Errorf("CheckDefinition(%s): %s, want the pinned one", k, why)
		}
	}
	if ok, _ := f.CheckDefinition("files", lock.KindPrompt, good); ok {
		t.Error("a tool passes for a prompt")
	}
}

func TestCheckLaunch(t *testing.T) {
	f := mustPin(t, offer())
	o := offer()
	if ok, why := f.CheckLaunch("files", &o.Launch); !ok {
		t.Errorf("CheckLaunch: %s, want the pinned one", why)
	}
	o.Env, o.Command = nil, []string{"sh"}
	if ok, why := f.CheckLaunch("files", &o.Launch); ok || why != "another command is run" {
		t.Errorf("CheckLaunch = %v, %q, want the worst change", ok, why)
	}
	if ok, _ := f.CheckLaunch("other", &o.Launch); ok {
		t.Error("a server that is not pinned may start")
	}
}

// TestCheckLaunchAcceptsANarrowing compares launches whose declarations differ. One
// that reaches less is started without a new pin; anything else is not.
func TestCheckLaunchAcceptsANarrowing(t *testing.T) {
	type capabilities = sallyport.Capabilities
	paths := func(list ...string) sallyport.PathList { return sallyport.PathList{Paths: list} }
	wide := func() *lock.Offer {
		o := offer()
		o.Capabilities = capabilities{
			Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*.example.com", "a.test"}},
			FSReach: &sallyport.FSCapability{Read: paths("/data", "/more"), Write: paths("/data/out"), Mode: sallyport.FSOverlay},
		}
		return o
	}
	f := mustPin(t, wide())
	for name, tt := range map[string]struct {
		change func(c *capabilities)
		why    string
	}{
		"a host less":        {func(c *capabilities) { c.Network.AllowedHosts = []string{"*.example.com"} }, ""},
		"a host of several":  {func(c *capabilities) { c.Network.AllowedHosts = []string{"api.example.com"} }, ""},
		"no network":         {func(c *capabilities) { c.Network = nil }, ""},
		"a folder below":     {func(c *capabilities) { c.FSReach.Read = paths("/data/in") }, ""},
		"no writing":         {func(c *capabilities) { c.FSReach.Write = paths() }, ""},
		"nothing":            {func(c *capabilities) { *c = capabilities{} }, ""},
		"another host":       {func(c *capabilities) { c.Network.AllowedHosts = []string{"b.test"} }, "the server may reach something new"},
		"any host":           {func(c *capabilities) { c.Network.AllowedHosts = []string{"*"} }, "the server may reach something new"},
		"a folder above":     {func(c *capabilities) { c.FSReach.Read = paths("/") }, "the server may reach something new"},
		"writes elsewhere":   {func(c *capabilities) { c.FSReach.Write = paths("/more") }, "the server may write, or execute, something new"},
		"writes at once":     {func(c *capabilities) { c.FSReach.Mode = sallyport.FSDirect }, "the server may write, or execute, something new"},
		"less and more":      {func(c *capabilities) { c.FSReach, c.Secrets = nil, []string{"a/b"} }, "the server may reach something new"},
		"a store of its own": {func(c *capabilities) { c.Storage = &sallyport.StorageCapability{Scope: "session"} }, "the server stores elsewhere or otherwise"},
	} {
		now := wide()
		tt.change(&now.Capabilities)
		if ok, why := f.CheckLaunch("files", &now.Launch); ok != (tt.why == "") || why != tt.why {
			t.Errorf("%s: CheckLaunch = %v, %q, want %q", name, ok, why, tt.why)
		}
		now.Env = nil
		if ok, _ := f.CheckLaunch("files", &now.Launch); ok {
			t.Errorf("%s, and without its variables: the server may start", name)
		}
	}
}

// TestTheTimeOfAPackageIsNoPartOfIt changes when a package was resolved: what
// was installed decides.
func TestTheTimeOfAPackageIsNoPartOfIt(t *testing.T) {
	a, later := mustPin(t, offer()), offer()
	later.Package.Before = "2027-01-01T00:00:00Z"
	b := mustPin(t, later)
	if whole(t, a) != whole(t, b) || len(lock.Diff(a, b)) != 0 {
		t.Errorf("another time is a change: %v", lock.Diff(a, b))
	}
	got, err := a.Approve(b, lock.Scope{Server: "files"}, mustDigest(t, b, "files"))
	if err != nil || got.Servers["files"].Package.Before != later.Package.Before {
		t.Errorf("approved %+v, %v, want the new time", got, err)
	}
	if text := bytesOf(t, got); !strings.Contains(text, later.Package.Before) {
		t.Errorf("the file does not hold the time:\n%s", text)
	}
}

func mustDigest(t *testing.T, f *lock.File, server string) string {
	t.Helper()
	d, err := f.Digest(lock.Scope{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
