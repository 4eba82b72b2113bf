package importer

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/profiles"
)

// TestAFlagWithoutValueNamesItsForm passes each flag about a server without the
// value.
func TestAFlagWithoutValueNamesItsForm(t *testing.T) {
	for flag, want := range map[string]string{"host": "SERVER=HOST", "pin": "SERVER=VERSION", "plain": "SERVER=NAME"} {
		if _, err := parsePairs(flag, []string{"x"}); err == nil || !strings.HasSuffix(err.Error(), "expected "+want) {
			t.Errorf("parsePairs(%q) = %v, want the form %s", flag, err, want)
		}
	}
}

// TestWhatImportSaysNextCanBePasted uses paths that a shell would expand, and
// flags without which the command would write something else.
func TestWhatImportSaysNextCanBePasted(t *testing.T) {
	i := &clientImport{env: &Environment{ConfigFlags: []string{"a b.yaml"}}, o: &Options{
		Name: "it's here/mcp.json", Personality: "r", Leave: []string{"x"}, Hosts: []string{"y=h:1"}, Pins: []string{"z=1.2.3"}, Observe: true,
	}}
	const want = `sallyport import 'it'\''s here/mcp.json' --config 'a b.yaml' --personality r --leave x --host y=h:1 --pin z=1.2.3 --observe --write`
	if got := i.writeCommand("--yes"); got != want {
		t.Errorf("again = %s, want %s", got, want)
	}
	i.env.UserProgram = "go run ./cmd/own"
	if got := i.writeCommand("--yes"); got != "go run ./cmd/own"+strings.TrimPrefix(want, "sallyport") {
		t.Errorf("again = %s, want the command that starts this program", got)
	}
}

// FuzzRenderValue checks that a text of a client means the same in a configuration, or
// is refused there.
func FuzzRenderValue(f *testing.F) {
	for _, s := range []string{"", "a b", `"\`, "# x", "{a: b}", "yes", "1e3", "é\u202e\x1b[0m\x00\ufeff\ufffd", "- a\n\tb\r", "${workspace}", "'", "\U0010ffff", "a: b", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		text := "version: 1\nmcp_servers:\n  a:\n    command: " + renderValue([]any{s}) + "\n    env: " + renderValue(map[string]any{s: s}) + "\n"
		c, err := config.Parse("/d/sallyport.yaml", []byte(text), nil)
		if err != nil {
			return
		}
		var got struct {
			Command []string
			Env     map[string]string
		}
		if err := json.Unmarshal(c.Servers[0].JSON, &got); err != nil || got.Command[0] != s || got.Env[s] != s {
			t.Errorf("%q is written as %s and read as %q, %v (%v)", s, text, got.Command, got.Env, err)
		}
	})
}

// FuzzServerName checks that every server gets a valid name.
func FuzzServerName(f *testing.F) {
	for _, s := range []string{"", "a", "GitHub (work)", "__a__", "a_-_b", strings.Repeat("x_", 40), "-", "日本"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := serverName(s)
		if err := lock.CheckServer(name); err != nil {
			t.Errorf("serverName(%q) = %q: %v", s, name, err)
		}
		if lock.CheckServer(s) == nil && name != s && strings.Trim(s, "_-") == s && !repeatedSign.MatchString(s) {
			t.Errorf("serverName(%q) = %q, want it kept", s, name)
		}
		if err := lock.CheckServer(numberName(name, s)); err != nil {
			t.Errorf("numbered(%q) = %q: %v", name, numberName(name, s), err)
		}
	})
}

// TestSeenHostsAreNotGrantedBesideSecrets checks that a host which an observed
// server reached is only named in a remark when its secrets would go there.
func TestSeenHostsAreNotGrantedBesideSecrets(t *testing.T) {
	for state, want := range map[serverState]bool{stateReady: true, stateBlocked: false} {
		p := &plannedServer{state: state}
		(&clientImport{}).addObservedHosts(p, []string{"seen.example"})
		if granted := p.entry.Capabilities.Network != nil; granted != want {
			t.Errorf("a server that is %s: granted = %v, want %v", state, granted, want)
		}
		if said := strings.Contains(strings.Join(p.notes, " "), "seen.example"); said == want {
			t.Errorf("a server that is %s: notes %q", state, p.notes)
		}
	}
}

// TestNothingElseIsChanged compares an extended configuration with the one
// before.
func TestNothingElseIsChanged(t *testing.T) {
	load := func(text string) *config.Config {
		t.Helper()
		c, err := config.Parse("/d/sallyport.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const roles = "version: 1\npersonalities:\n  default: {toolset: []}\n  cursor: {toolset: [], mcp_servers: [one]}\n"
	const one, other = "  one: {command: [python3]}\n", "  mine: {command: [sh]}\n"
	i := &clientImport{config: load("version: 1\npersonalities: {default: {toolset: []}}\nmcp_servers:\n" + other)}
	p := &serverPlan{role: "cursor", servers: []*plannedServer{{name: "one", state: stateReady}}}
	for _, tt := range []struct{ text, want string }{
		{roles + "mcp_servers:\n" + one + other, ""},
		{roles + "mcp_servers:\n" + one, "change the server mine"},
		{roles + "mcp_servers:\n" + one + "  mine: {command: [bash]}\n", "change the server mine"},
		{roles + "mcp_servers:\n" + one + other + "  more: {command: [sh]}\n", "another server"},
		{strings.Replace(roles, "[one]", "[]", 1) + "mcp_servers:\n" + one + other, "not give the servers to the personality cursor"},
		{strings.Replace(roles, "default: {toolset: []}", "default: {}", 1) + "mcp_servers:\n" + one + other, "change the personality default"},
		{strings.Replace(roles, "  default: {toolset: []}\n", "", 1) + "mcp_servers:\n" + one + other, "remove the personality default"},
		{roles + "  more: {toolset: []}\nmcp_servers:\n" + one + other, "make the personality more"},
		{roles + "mcp_servers:\n" + one + other + "state: memory\n", "change state"},
		{roles + "mcp_servers:\n" + one + other + "security: {require_auth: false}\n", "change security"},
		{roles + "mcp_servers:\n" + one + other + "actions: [{id: a, description: d, handler: {exec: {command: [sh]}}}]\n", "change an action"},
	} {
		err := i.compareConfig(p, load(tt.text))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("compare = %v, want %q, for\n%s", err, tt.want, tt.text)
		}
	}
}

// TestAConfigurationThatChangedIsSaidSo has another program add a server after the
// configuration was read.
func TestAConfigurationThatChangedIsSaidSo(t *testing.T) {
	t.Parallel()
	const path, before = "/d/sallyport.yaml", "version: 1\npersonalities: {default: {toolset: []}}\n"
	const after = before + "mcp_servers: {mine: {command: [sh]}}\n"
	read := func(d *Draft) (*config.Config, error) { return config.Parse(path, d.Texts[path], nil) }
	inForce, err := config.Parse(path, []byte(before), nil)
	if err != nil {
		t.Fatal(err)
	}
	i := &clientImport{config: inForce, env: &Environment{ReadConfig: read}, o: &Options{}}
	for base, changed := range map[string]bool{before: false, after: true} {
		d := &Draft{Paths: []string{path}, Texts: map[string][]byte{path: []byte(after)}, old: map[string][]byte{path: []byte(base)}}
		if err := i.verifyDraft(&serverPlan{role: "cursor"}, d); err == nil || errors.Is(err, onestep.ErrChanged) != changed {
			t.Errorf("verifyDraft() = %v, changed %t", err, changed)
		}
	}
}

// TestABroadFolderIsSaid names folders that hold the user's home, for a server with a
// profile and one without.
func TestABroadFolderIsSaid(t *testing.T) {
	t.Parallel()
	for _, known := range []*profiles.Profile{nil, profiles.Of(profiles.NPM, "@modelcontextprotocol/server-filesystem")} {
		for path, want := range map[string]bool{"/": true, "/home": true, "/home/u": true, "/home/u/work": false} {
			p := &plannedServer{profile: known}
			p.entry.Capabilities.FSReach = &sallyport.FSCapability{Read: sallyport.Paths(path)}
			p.noteProposal("/home/u")
			if got := strings.Contains(strings.Join(p.notes, "\n"), path+" holds far more than one server needs"); got != want {
				t.Errorf("known %v, %s: %q", known != nil, path, p.notes)
			}
		}
	}
}
