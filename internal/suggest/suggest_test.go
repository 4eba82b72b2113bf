package suggest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/internal/yamledit"
	"github.com/sallyport/sallyport/output"
)

const sendSchema = `{"type":"object","properties":{"to":{"type":"string"},"n":{"type":"number"},"mode":{"type":"string","default":"plain"},
	"tags":{"type":"array","items":{"type":"string"}},"more":{"type":"object","properties":{"deep":{"type":"boolean"}}}}}`

// newSend returns a record with one tool, and the tool.
func newSend() (*Record, *Tool) {
	t := &Tool{Tool: sallyport.Tool{Name: "send", Schema: json.RawMessage(sendSchema)}, Grant: &sallyport.Grant{}}
	sets := map[string][]string{"ann": {"contacts", "people"}, "bob": {"contacts"}}
	return New(&Options{
		Tools:  map[string]*Tool{"send": t},
		SetsOf: func(value string) ([]string, error) { return sets[value], nil },
		KindOf: func(string) sallyport.ValueKind { return "mail" },
	}), t
}

func addCall(t *testing.T, r *Record, args string, untrusted bool, decisions ...sallyport.Decision) {
	t.Helper()
	e := &audit.Event{Tool: output.Plain().Text("send"), Args: output.Plain().Text(args), Decisions: decisions, Level: sallyport.LevelFull}
	if err := r.Add(&Call{Event: e, Whole: true, Untrusted: untrusted}); err != nil {
		t.Fatal(err)
	}
}

// draftText returns a draft as YAML, and its remarks.
func draftText(t *testing.T, r *Record, role *Role, wide Wide) (text, remarks string) {
	t.Helper()
	if role.Personality == nil {
		role.Personality = &sallyport.Personality{}
	}
	d := r.Draft(role, wide)
	text, err := yamledit.Write(d.Role)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range d.LeftOut {
		remarks += m.Part + ": " + m.Why + "\n"
	}
	return text, remarks
}

func TestArgumentsAreBoundByWhatWasSeen(t *testing.T) {
	r, _ := newSend()
	for i, to := range []string{"ann", "bob", "ann"} {
		addCall(t, r, fmt.Sprintf(`{"to":%q,"n":%d.5,"tags":["a"],"more":{"deep":true}}`, to, i), false)
	}
	got, remarks := draftText(t, r, &Role{}, Wide{})
	want := `toolset: [send]
arguments:
  send:
    mode: {enum: [plain]}
    more:
      properties:
        deep: {enum: [true]}
    "n": {minimum: 0.5, maximum: 2.5}
    tags:
      items: {enum: [a]}
    to: {known: contacts}
`
	if diff := cmp.Diff(want, got); diff != "" || remarks != "" {
		t.Errorf("Draft() differs (-want +got):\n%s\n%s", diff, remarks)
	}
}

func TestWhatIsSeldomOrManyIsNotBound(t *testing.T) {
	r, _ := newSend()
	for i := range maxValues + 1 {
		addCall(t, r, fmt.Sprintf(`{"to":"x%d"}`, i), false)
	}
	addCall(t, r, `{"n":1}`, false)
	got, remarks := draftText(t, r, &Role{}, Wide{})
	if strings.Contains(got, "to:") || strings.Contains(got, "minimum") || !strings.Contains(remarks, "/to: no bound: it has more than 64 different values") ||
		!strings.Contains(remarks, "/n: no bound: it was seen 1 time alone") {
		t.Errorf("Draft() =\n%s\n%s", got, remarks)
	}
}

func TestWhatCameAfterUntrustedContentIsNotTaken(t *testing.T) {
	r, _ := newSend()
	for range 4 {
		addCall(t, r, `{"to":"carl","n":1}`, false)
	}
	addCall(t, r, `{"to":"mallory","n":1}`, true)
	addCall(t, r, `{"to":"carl","n":900}`, true)
	got, remarks := draftText(t, r, &Role{}, Wide{})
	if strings.Contains(got, "mallory") || strings.Contains(got, "900") || !strings.Contains(remarks, `the value "mallory" was seen only after untrusted content was read`) ||
		!strings.Contains(remarks, "/n: no bound: its lowest or highest value was seen only after untrusted content") {
		t.Errorf("Draft() =\n%s\n%s", got, remarks)
	}
}

func TestHostileValuesStandInNoRole(t *testing.T) {
	for _, value := range []string{"a\nadmin: {toolset: []}", "\x1b[2J", "a\u202eb", "a\u0085b", "a\u200bb", " a", "# x\ty"} {
		r, _ := newSend()
		var raw strings.Builder // escaped, so that the record holds it as it is
		for _, c := range value {
			fmt.Fprintf(&raw, `\u%04x`, c)
		}
		for range 4 {
			addCall(t, r, `{"to":"`+raw.String()+`"}`, false)
		}
		got, remarks := draftText(t, r, &Role{}, Wide{})
		if strings.Contains(got, "to:") || strings.Contains(got, "admin") || strings.ContainsAny(remarks, "\x1b\u202e\u0085\t") {
			t.Errorf("Draft() of %q =\n%s\n%s", value, got, remarks)
		}
	}
	r, _ := newSend()
	for range 4 {
		addCall(t, r, `{"to":"x: {y}, # z"}`, false)
	}
	if got, _ := draftText(t, r, &Role{}, Wide{}); !strings.Contains(got, `to: {enum: ["x: {y}, # z"]}`) {
		t.Errorf("Draft() =\n%s", got)
	}
}

// TestCallsThatAreNotWholeLeaveArgumentsAlone: a bound could refuse them.
func TestCallsThatAreNotWholeLeaveArgumentsAlone(t *testing.T) {
	r, _ := newSend()
	for range 4 {
		addCall(t, r, `{"n":1}`, false)
	}
	if err := r.Add(&Call{Event: &audit.Event{Tool: output.Plain().Text("send")}}); err != nil {
		t.Fatal(err)
	}
	got, remarks := draftText(t, r, &Role{}, Wide{})
	if got != "toolset: [send]\n" || !strings.Contains(remarks, "its arguments stay as they are today: 1 call cannot be decided again") {
		t.Errorf("Draft() =\n%s\n%s", got, remarks)
	}
}

func TestTheCeilingOfTodayStays(t *testing.T) {
	r, _ := newSend()
	for range 4 {
		addCall(t, r, `{"to":"ann","n":3,"mode":"x"}`, false)
	}
	today := `arguments:
  send: {n: {maximum: 5, minimum: 4, else: hold}, to: {known: people}, mode: {enum: [x, y]}, tags: false}
  other: {n: false}
approvals: {require: [send]}
`
	got, _ := draftText(t, r, &Role{Text: readRole(t, today)}, Wide{})
	want := `arguments:
  send:
    "n": {maximum: 5, minimum: 4, else: hold}
    to: {known: people}
    mode: {enum: [x, "y"], allOf: [{enum: [x]}]}
    tags: false
  other: {"n": false}
approvals: {require: [send]}
toolset: [send]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Draft() differs (-want +got):\n%s", diff)
	}
}

func TestAPartThatIsWideStaysAsItIs(t *testing.T) {
	r, _ := newSend()
	for range 4 {
		addCall(t, r, `{"n":3}`, false)
	}
	got, remarks := draftText(t, r, &Role{Text: readRole(t, "tools: [send, other]\n"), Personality: &sallyport.Personality{Sources: map[string]string{"tools": "f:1:1"}}},
		Wide{"toolset": "a", "arguments.send": "b"})
	if got != "tools: [send, other]\n" || !strings.Contains(remarks, "toolset: stays as it is today: a\n") || !strings.Contains(remarks, "arguments.send: stays as it is today: b\n") {
		t.Errorf("Draft() =\n%s\n%s", got, remarks)
	}
}

func TestUnusedToolsOfAServerAreClosed(t *testing.T) {
	tools := map[string]*Tool{}
	for _, name := range []string{"mcp__bank__pay", "mcp__bank__close", "mcp__mail__read", "note"} {
		tools[name] = &Tool{Tool: sallyport.Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)}, Grant: &sallyport.Grant{}}
	}
	r := New(&Options{Tools: tools})
	for _, name := range []string{"mcp__bank__pay", "unknown", "mcp__news__read", "mcp__gone__read"} {
		if err := r.Add(&Call{Event: &audit.Event{Tool: output.Plain().Text(name), Args: "{}"}, Whole: true}); err != nil {
			t.Fatal(err)
		}
	}
	got, remarks := draftText(t, r, &Role{Personality: &sallyport.Personality{MCPServers: []string{"bank", "mail", "news"}}}, Wide{})
	if want := "toolset: []\nmcp_servers: [bank, news]\narguments: {mcp__bank__close: false}\n"; got != want {
		t.Errorf("Draft() =\n%s", got)
	}
	for _, said := range []string{"unknown: 1 call of it, which the role does not offer today", "mcp__news__read: 1 call of it, which its server does not offer today; the server stays", "mcp__gone__read: 1 call of it, which the role"} {
		if !strings.Contains(remarks, said) {
			t.Errorf("remarks lack %q:\n%s", said, remarks)
		}
	}
}

func access(capability, resource, why string) sallyport.Decision {
	return sallyport.Decision{Step: sallyport.StepAccess, Allowed: true, Capability: capability, Resource: resource, Why: why}
}

// newReaching returns a record of a tool that may touch something of each list.
func newReaching(children bool) (*Record, *Tool) {
	r, tool := newSend()
	tool.Capabilities = sallyport.Capabilities{
		Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}, Secrets: []string{"keys/*"},
		FSReach: &sallyport.FSCapability{Read: sallyport.PathList{FromPersonality: true}, Write: sallyport.PathList{FromPersonality: true}},
	}
	if children {
		tool.Capabilities.Process = &sallyport.ProcessCapability{AllowedBinaries: []string{"*"}}
		tool.Grant.Process.Binaries = []string{"*"}
	}
	tool.Grant.Network.Allow, tool.Grant.Secrets = []string{"*.example.com", "127.0.0.1:80"}, []string{"keys/*"}
	tool.Grant.Network.Private = []string{"127.0.0.1:80"}
	tool.Grant.FS = sallyport.FSGrant{Read: []string{"/w"}, Write: []string{"/w/out"}}
	return r, tool
}

func TestListsHoldWhatWasTouched(t *testing.T) {
	r, _ := newReaching(false)
	refused := access(group.Network, "b.example.com", "no")
	refused.Allowed = false
	addCall(t, r, `{}`, false, access(group.Network, "a.example.com", "dial"), access(group.Network, "127.0.0.1:80", "dial"), refused,
		access(group.Secrets, "keys/x", "get"), access("fs_reach.read", "/w/docs/a", ""), access("fs_reach.read", "/elsewhere", ""))
	addCall(t, r, `{}`, true, access(group.Network, "c.example.com", "dial"))
	role := &Role{
		Personality: &sallyport.Personality{Network: &sallyport.NetworkPolicy{Private: []string{"127.0.0.1:80", "127.0.0.1:81"}}},
		Spell:       func(path string) string { return "${workspace}" + strings.TrimPrefix(path, "/w") },
	}
	got, remarks := draftText(t, r, role, Wide{})
	want := `toolset: [send]
safety:
  network: {allow_private: ["127.0.0.1:80"], allow: ["a.example.com", "c.example.com"]}
  secrets: {allow: ["keys/x"]}
fs_reach: {read: ["${workspace}/docs/a"], write: []}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Draft() differs (-want +got):\n%s", diff)
	}
	for _, said := range []string{"look at c.example.com: it was touched only after untrusted content was read", "send fs_reach.read: what it touched in 1 place is beyond the role today"} {
		if !strings.Contains(remarks, said) {
			t.Errorf("remarks lack %q:\n%s", said, remarks)
		}
	}
}

// TestWhatChildrenOpenIsNotGuessed: the record does not say what they read.
func TestWhatChildrenOpenIsNotGuessed(t *testing.T) {
	r, _ := newReaching(true)
	addCall(t, r, `{}`, false, access(group.Process, "git", "spawn git"), access(group.Process, "/usr/bin/less", "a child of git ran it"))
	u := r.tools["send"]
	for name, want := range map[string][]string{"fs_reach.read": {"/w"}, "fs_reach.write": {"/w/out"}, "network": nil, "process": {"git"}} {
		reach, _ := group.FindReach(name)
		if got := u.needed(reach); !slices.Equal(got, want) {
			t.Errorf("needed(%s) = %v, want %v", name, got, want)
		}
	}
	for _, e := range []*audit.Event{{Level: sallyport.LevelNone}, {Level: sallyport.LevelFull, Cached: true}} {
		r, tool := newReaching(true)
		e.Tool, e.Args = output.Plain().Text("send"), "{}"
		if err := r.Add(&Call{Event: e, Whole: true}); err != nil {
			t.Fatal(err)
		}
		network, _ := group.FindReach("network")
		if got := r.tools["send"].needed(network); !slices.Equal(got, tool.Grant.Network.Allow) {
			t.Errorf("needed(network) at level %s = %v", e.Level, got)
		}
	}
}

func TestAGrantThatIsWiderOrLosesSomethingIsSeen(t *testing.T) {
	for _, tt := range []struct {
		name string
		now  func(g *sallyport.Grant)
		part string
	}{
		{"the same", func(*sallyport.Grant) {}, ""},
		{"a lost host", func(g *sallyport.Grant) { g.Network.Allow = []string{"b.example.com"} }, "network"},
		{"another host", func(g *sallyport.Grant) { g.Network.Allow = []string{"*.example.com", "b.org"} }, "network"},
		{"a folder above", func(g *sallyport.Grant) { g.FS.Read = []string{"/"} }, "fs_reach"},
		{"a lost path", func(g *sallyport.Grant) { g.FS.Read = []string{"/w/docs/b"} }, "fs_reach"},
		{"private addresses", func(g *sallyport.Grant) { g.Network.AllowPrivate = true }, "network"},
		{"a private address", func(g *sallyport.Grant) { g.Network.Private = []string{"127.0.0.1:9"} }, "network"},
		{"a deny list that is gone", func(g *sallyport.Grant) { g.Network.Deny = nil }, "network"},
		{"every secret", func(g *sallyport.Grant) { g.Secrets = []string{"keys/*", "other/x"} }, "secrets"},
	} {
		r, tool := newReaching(false)
		tool.Grant.Network.Deny = []string{"x.example.com"}
		addCall(t, r, `{}`, false, access(group.Network, "a.example.com", "dial"), access("fs_reach.read", "/w/docs/a", ""))
		now, wide := *tool.Grant, Wide{}
		tt.now(&now)
		if ok := r.CheckGrant("send", &now, wide); ok != (tt.part == "") || len(wide) > 1 || tt.part != "" && wide[tt.part] == "" {
			t.Errorf("%s: CheckGrant() = %v, %v", tt.name, ok, wide)
		}
	}
}

func TestACallThatFlipsLeavesItsPartWide(t *testing.T) {
	wide := Wide{}
	if !wide.KeepCall("send", &replay.Verdict{Outcome: replay.Refused, Step: sallyport.StepGrant, Why: "x"}) || wide["arguments.send"] == "" ||
		!wide.KeepCall("send", &replay.Verdict{Outcome: replay.Refused, Step: sallyport.StepVisible}) || wide["toolset"] == "" ||
		wide.KeepCall("send", &replay.Verdict{Outcome: replay.Refused, Step: sallyport.StepGrant}) {
		t.Errorf("KeepCall() leaves %v wide", wide)
	}
}
