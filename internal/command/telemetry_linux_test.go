package command

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestTracesOfChildren runs the program of an action, one that fails, and one that is not
// allowed, and compares what a collector receives with testdata/traces_children.json.
func TestTracesOfChildren(t *testing.T) {
	t.Parallel()
	c := newReceiver(t)
	dir := configured(t, `version: 2
secrets: [{dir: ./secrets}]
telemetry: {otlp: {url: "`+c.url+`", headers: {X-Token: {secret: token, prefix: "Bearer "}}, metrics: 0s}}
personalities:
  ops: {tools: [say, fail, other], safety: {process: {allow: [cat, "false"]}}}
actions:
  - {id: say, parameters: {n: {type: string}}, handler: {exec: {command: [cat, "-"]}}}
  - {id: fail, parameters: {n: {type: string}}, handler: {exec: {command: ["false", "an-argument"]}}}
  - {id: other, parameters: {n: {type: string}}, handler: {exec: {command: [sha256sum, "-"]}}}
`)
	if err := os.Mkdir(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, filepath.Join(dir, "secrets"), "token", "collector-token")
	s := serveHTTP(t, dir)
	for _, tool := range []string{"say", "fail", "other"} {
		_, _ = s.request(t, "POST", "/v1/actions/"+tool+"/execute", `{"params":{"n":"an-argument"},"session":"s1"}`, s.headers("Accept", "application/json"))
	}
	s.stop(t) // what waits is sent
	for _, fault := range c.faults {
		t.Errorf("a request of another form: %s", fault)
	}
	for _, secret := range []string{"an-argument", "sha256sum", dir} {
		if bytes.Contains(c.raw, []byte(secret)) {
			t.Errorf("the collector was told %q", secret)
		}
	}
	c.compareWith(t, "testdata/traces_children.json")
}
