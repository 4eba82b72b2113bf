package lock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/lock"
)

// zero is a digest of the right form.
var zero = strings.Repeat("0", 64)

// offer returns a server with one definition of each kind.
func offer() *lock.Offer {
	return &lock.Offer{
		Launch: lock.Launch{
			Transport: lock.TransportStdio,
			Command:   []string{"npx", "-y", "@example/files"},
			Binary:    &lock.Binary{Path: "/usr/bin/npx", SHA256: zero},
			Package:   &lock.Package{Registry: "npm", Name: "@example/files", Version: "1.2.3", Integrity: "sha512-AAAA", SHA256: zero, Before: "2026-08-31T12:00:00Z", Command: []string{"node", "${package}/files.js"}},
			Programs:  []lock.Binary{{Path: "/srv/files.js", SHA256: zero}, {Path: "/srv/a.js", SHA256: zero}},
			Dir:       "/srv",
			Env:       []string{"TOKEN", "LANG"},
			Capabilities: sallyport.Capabilities{
				Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*.example.com"}},
				FSReach: &sallyport.FSCapability{Read: sallyport.Paths("/data"), Mode: sallyport.FSOverlay},
			},
		},
		Identity:     json.RawMessage(`{"name":"files","version":"1.2.3"}`),
		Instructions: "Use list before read.",
		Tools: []json.RawMessage{json.RawMessage(`{"name":"read","title":"Read","description":"Reads a file.",
			"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Which","maxLength":10},
			"mode":{"enum":["text","raw"]}},"required":["path"],"additionalProperties":false},
			"outputSchema":{"type":"object","properties":{"text":{"type":"string"}}},
			"annotations":{"readOnlyHint":true,"openWorldHint":false,"idempotentHint":true},
			"icons":[{"src":"https://example.com/a.png"}],"_meta":{"a":1}}`)},
		Resources: []json.RawMessage{json.RawMessage(`{"uri":"file:///a","name":"a","description":"A"}`)},
		Templates: []json.RawMessage{json.RawMessage(`{"uriTemplate":"file:///{p}","name":"any"}`)},
		Prompts:   []json.RawMessage{json.RawMessage(`{"name":"ask","description":"Asks","arguments":[{"name":"q"}]}`)},
	}
}

// mustPin pins an offer as the server "files"; nothing may be refused.
func mustPin(t testing.TB, o *lock.Offer) *lock.File {
	t.Helper()
	s, refused, err := lock.Take("files", o, nil)
	if err != nil || len(refused) > 0 {
		t.Fatalf("Take: refused %v, error %v", refused, err)
	}
	return &lock.File{Servers: map[string]lock.Server{"files": s}}
}

// edited returns an offer whose only tool has a text replaced.
func edited(t testing.TB, from, to string) *lock.Offer {
	t.Helper()
	o := offer()
	text := strings.Replace(string(o.Tools[0]), from, to, 1)
	if text == string(o.Tools[0]) {
		t.Fatalf("the tool does not hold %q", from)
	}
	o.Tools[0] = json.RawMessage(text)
	return o
}

// bytesOf is the text of a file.
func bytesOf(t testing.TB, f *lock.File) string {
	t.Helper()
	b, err := f.Bytes()
	if err != nil {
		t.Fatalf("Bytes: %v", err)
	}
	return string(b)
}

// whole is the digest of a whole file.
func whole(t testing.TB, f *lock.File) string {
	t.Helper()
	d, err := f.Digest(lock.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
