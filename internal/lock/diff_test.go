package lock_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/lock"
)

// change is what the table says about one change.
func change(c lock.Change) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Severity, c.Rule, c.Field))
}

func changes(list []lock.Change) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = change(c)
	}
	return out
}

// TestToolChangesHaveTheirSeverity edits the text of one definition.
func TestToolChangesHaveTheirSeverity(t *testing.T) {
	for _, tt := range []struct{ name, from, to, want string }{
		{"no longer read only", `"readOnlyHint":true`, `"readOnlyHint":false,"destructiveHint":false`, "critical lost-read-only annotations/readOnlyHint"},
		{"not idempotent", `"idempotentHint":true`, `"idempotentHint":false`, "high hint-lost annotations/idempotentHint"},
		{"open world", `"openWorldHint":false`, `"openWorldHint":true`, "high hint-lost annotations/openWorldHint"},
		{"hint without meaning", `"readOnlyHint":true`, `"readOnlyHint":true,"destructiveHint":false`, "medium hint-gained annotations"},
		{"title of the annotations", `"readOnlyHint":true`, `"readOnlyHint":true,"title":"X"`, "high text-changed annotations/title"},
		{"unknown annotation", `"readOnlyHint":true`, `"readOnlyHint":true,"x":1`, "high field-changed annotations/x"},
		{"description", `Reads a file.`, `Reads a file. Then send it.`, "high text-changed description"},
		{"title", `"title":"Read"`, `"title":"Read it"`, "high text-changed title"},
		{"hidden characters", `Reads a file.`, "Reads a\u200b file.", "high hidden-changed description"},
		{"hidden and shown", `Reads a file.`, "Reads\u200b files.", "high hidden-changed description|high text-changed description"},
		{"schema description", `"Which"`, `"Which, and why"`, "high text-changed inputSchema/properties/path/description"},
		{"new required argument", `"required":["path"]`, `"required":["path","mode"]`, "high argument-required inputSchema/required"},
		{"argument no longer required", `"required":["path"]`, `"required":[]`, "high input-widened inputSchema/required"},
		{"new argument", `"mode":{`, `"why":{"type":"string"},"mode":{`, "high argument-added inputSchema/properties/why"},
		{"argument gone", `,
			"mode":{"enum":["text","raw"]}`, ``, "high input-changed inputSchema/properties/mode"},
		{"opened", `"additionalProperties":false`, `"additionalProperties":true`, "high input-widened inputSchema/additionalProperties"},
		{"opened by leaving it out", `,"additionalProperties":false`, ``, "high input-widened inputSchema/additionalProperties"},
		{"enum gone", `{"enum":["text","raw"]}`, `{}`, "high input-widened inputSchema/properties/mode/enum"},
		{"enum grown", `["text","raw"]`, `["text","raw","x"]`, "high input-widened inputSchema/properties/mode/enum"},
		{"enum shrunk", `["text","raw"]`, `["text"]`, "medium input-narrowed inputSchema/properties/mode/enum"},
		{"enum reordered", `["text","raw"]`, `["raw","text"]`, "high input-changed inputSchema/properties/mode/enum"},
		{"enum shrunk under not", `{"enum":["text","raw"]}`, `{"not":{"enum":["text"]}}`, "high input-widened inputSchema/properties/mode/enum|high input-changed inputSchema/properties/mode/not"},
		{"another type", `"type":"string","description":"Which"`, `"type":"number","description":"Which"`, "high input-widened inputSchema/properties/path/type"},
		{"fewer characters", `"maxLength":10`, `"maxLength":9`, "medium input-narrowed inputSchema/properties/path/maxLength"},
		{"more characters", `"maxLength":10`, `"maxLength":11`, "high input-widened inputSchema/properties/path/maxLength"},
		{"a bound gone", `,"maxLength":10`, ``, "high input-widened inputSchema/properties/path/maxLength"},
		{"a lower bound", `"maxLength":10`, `"maxLength":10,"minLength":1`, "medium input-narrowed inputSchema/properties/path/minLength"},
		{"several schemas", `"maxLength":10`, `"maxLength":10,"anyOf":[{"const":1}]`, "high input-changed inputSchema/properties/path/anyOf"},
		{"closed", `{"type":"string","description":"Which","maxLength":10}`, `false`, "medium input-narrowed inputSchema/properties/path"},
		{"emptied", `{"type":"string","description":"Which","maxLength":10}`, `true`, "high input-widened inputSchema/properties/path"},
		{"pattern properties", `"required":["path"]`, `"required":["path"],"patternProperties":{"^x":{}}`, "high input-changed inputSchema/patternProperties/^x"},
		{"required of another type", `"required":["path"]`, `"required":["path","path"]`, "high input-changed inputSchema/required"},
		{"schema of another type", `"text":{"type":"string"}`, `"text":1`, "high output-changed outputSchema/properties/text"},
		{"default", `"maxLength":10`, `"maxLength":10,"default":"/"`, "high input-changed inputSchema/properties/path/default"},
		{"output", `"text":{"type":"string"}`, `"text":{"type":"number"}`, "high output-changed outputSchema/properties/text/type"},
		{"output text", `"text":{"type":"string"}`, `"text":{"type":"string","title":"T"}`, "high text-changed outputSchema/properties/text/title"},
		{"output gone", `"outputSchema"`, `"x-outputSchema"`, "high output-changed outputSchema|high field-changed x-outputSchema"},
		{"icons", `a.png`, `b.png`, "medium icons-changed icons"},
		{"meta", `{"a":1}`, `{"a":2}`, "medium meta-changed _meta"},
		{"unknown field", `"_meta"`, `"execution":{"taskSupport":"required"},"_meta"`, "high field-changed execution"},
		{"order of keys", `"readOnlyHint":true,"openWorldHint":false`, `"openWorldHint":false,"readOnlyHint":true`, ""},
		{"spelling of a number", `"a":1`, `"a":1.0`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(changes(lock.Diff(mustPin(t, offer()), mustPin(t, edited(t, tt.from, tt.to)))), "|")
			if got != tt.want {
				t.Errorf("Diff = %s, want %s", got, tt.want)
			}
		})
	}
}

// TestSchemasInListsAreCompared starts from a schema with choices.
func TestSchemasInListsAreCompared(t *testing.T) {
	const before = `"maxLength":10,"anyOf":[{"enum":[1,2]}],"oneOf":[{"enum":[1,2]}],"not":{"enum":[1,2]},"minLength":2,"$defs":{}`
	was := edited(t, `"maxLength":10`, before)
	for _, tt := range []struct{ name, from, to, want string }{
		{"any of", `"anyOf":[{"enum":[1,2]}]`, `"anyOf":[{"enum":[1]}]`, "medium input-narrowed inputSchema/properties/path/anyOf/0/enum"},
		{"one more", `"anyOf":[{"enum":[1,2]}]`, `"anyOf":[{"enum":[1,2]},{}]`, "high input-changed inputSchema/properties/path/anyOf"},
		{"one of", `"oneOf":[{"enum":[1,2]}]`, `"oneOf":[{"enum":[1]}]`, "high input-changed inputSchema/properties/path/oneOf/0/enum"},
		{"not", `"not":{"enum":[1,2]}`, `"not":{"enum":[1]}`, "high input-changed inputSchema/properties/path/not/enum"},
		{"fewer are asked for", `"minLength":2`, `"minLength":1`, "high input-widened inputSchema/properties/path/minLength"},
		{"no schemas in place of none", `"$defs":{}`, `"$defs":[]`, "high input-changed inputSchema/properties/path/$defs"},
		{"a bound that is no number", `"minLength":2`, `"minLength":"2"`, "high input-changed inputSchema/properties/path/minLength"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := edited(t, `"maxLength":10`, strings.Replace(before, tt.from, tt.to, 1))
			if got := strings.Join(changes(lock.Diff(mustPin(t, was), mustPin(t, is))), "|"); got != tt.want {
				t.Errorf("Diff = %s, want %s", got, tt.want)
			}
		})
	}
}

// TestDestructiveIsCritical starts from a tool that writes and does not
// destroy.
func TestDestructiveIsCritical(t *testing.T) {
	gentle := edited(t, `"readOnlyHint":true`, `"destructiveHint":false`)
	for _, to := range []string{`"destructiveHint":true`, `"x":1`} {
		got := changes(lock.Diff(mustPin(t, gentle), mustPin(t, edited(t, `"readOnlyHint":true`, to))))
		if !slices.Contains(got, "critical became-destructive annotations/destructiveHint") {
			t.Errorf("%s: Diff = %v, want became-destructive", to, got)
		}
	}
}

// TestServerChangesHaveTheirSeverity changes everything else of an offer.
func TestServerChangesHaveTheirSeverity(t *testing.T) {
	c := func(edit func(*sallyport.Capabilities)) func(*lock.Offer) {
		return func(o *lock.Offer) { edit(&o.Capabilities) }
	}
	for _, tt := range []struct {
		name string
		edit func(*lock.Offer)
		want string
	}{
		{"transport", func(o *lock.Offer) { o.Transport = lock.TransportHTTP }, "critical transport-changed transport"},
		{"argument", func(o *lock.Offer) { o.Command = append(o.Command, "--all") }, "critical command-changed command"},
		{"order of arguments", func(o *lock.Offer) { slices.Reverse(o.Command) }, "critical command-changed command"},
		{"binary moved", func(o *lock.Offer) { o.Binary.Path = "/tmp/npx" }, "critical binary-changed binary"},
		{"binary changed", func(o *lock.Offer) { o.Binary.SHA256 = strings.Repeat("1", 64) }, "critical binary-changed binary"},
		{"binary unknown", func(o *lock.Offer) { o.Binary = nil }, "critical binary-changed binary"},
		{"program changed", func(o *lock.Offer) { o.Programs[0].SHA256 = strings.Repeat("1", 64) }, "critical program-changed programs"},
		{"program added", func(o *lock.Offer) { o.Programs = append(o.Programs, lock.Binary{Path: "/x.js", SHA256: zero}) }, "critical program-changed programs"},
		{"another folder", func(o *lock.Offer) { o.Dir = "/tmp" }, "critical cwd-changed cwd"},
		{"package files", func(o *lock.Offer) { o.Package.SHA256 = strings.Repeat("1", 64) }, "critical package-changed package"},
		{"package program", func(o *lock.Offer) { o.Package.Command[1] = "${package}/other.js" }, "critical package-changed package"},
		{"package version", func(o *lock.Offer) { o.Package.Version = "1.2.4" }, "critical package-changed package"},
		{"package content", func(o *lock.Offer) { o.Package.Integrity = "sha512-BBBB" }, "critical package-changed package"},
		{"url", func(o *lock.Offer) { o.URL = "https://mcp.example.com/" }, "critical url-changed url"},
		{"variable", func(o *lock.Offer) { o.Env = append(o.Env, "HOME") }, "high env-gained env"},
		{"variable gone", func(o *lock.Offer) { o.Env = o.Env[:1] }, "low env-lost env"},
		{"order of variables", func(o *lock.Offer) { slices.Reverse(o.Env) }, ""},
		{"host", c(func(c *sallyport.Capabilities) { c.Network.AllowedHosts = append(c.Network.AllowedHosts, "evil.test") }), "critical reach-gained capabilities/network"},
		{"host on another port", c(func(c *sallyport.Capabilities) {
			c.Network.AllowedHosts = []string{"*.example.com", "a.example.com:22"}
		}), "critical reach-gained capabilities/network"},
		{"host that was covered", c(func(c *sallyport.Capabilities) {
			c.Network.AllowedHosts = append(c.Network.AllowedHosts, "a.example.com")
		}), "low capabilities-reworded capabilities"},
		{"narrower host", c(func(c *sallyport.Capabilities) { c.Network.AllowedHosts[0] = "a.example.com" }), "low reach-lost capabilities/network"},
		{"any host", c(func(c *sallyport.Capabilities) { c.Network.AllowedHosts = append(c.Network.AllowedHosts, "*") }), "critical reach-gained capabilities/network"},
		{"a host for any host", c(func(c *sallyport.Capabilities) { c.Network.AllowedHosts = []string{"*", "*.example.com"} }), "critical reach-gained capabilities/network"},
		{"no host", c(func(c *sallyport.Capabilities) { c.Network = nil }), "low reach-lost capabilities/network"},
		{"secret", c(func(c *sallyport.Capabilities) { c.Secrets = []string{"a/b"} }), "critical reach-gained capabilities/secrets"},
		{"path", c(func(c *sallyport.Capabilities) { c.FSReach.Read = sallyport.Paths("/database") }), "critical reach-gained capabilities/fs_reach/read|low reach-lost capabilities/fs_reach/read"},
		{"path below", c(func(c *sallyport.Capabilities) { c.FSReach.Read = sallyport.Paths("/data/a") }), "low reach-lost capabilities/fs_reach/read"},
		{"path out of the folder", c(func(c *sallyport.Capabilities) { c.FSReach.Read = sallyport.Paths("/data", "/data/../etc") }), "critical reach-gained capabilities/fs_reach/read"},
		{"left to the personality", c(func(c *sallyport.Capabilities) { c.FSReach.Read = sallyport.FromPersonality() }), "critical reach-gained capabilities/fs_reach/read|low reach-lost capabilities/fs_reach/read"},
		{"files without a list of a role", func(o *lock.Offer) { o.FilesStand = true }, "critical reach-gained files_stand"},
		{"write", c(func(c *sallyport.Capabilities) { c.FSReach.Write = sallyport.Paths("/data") }), "critical write-gained capabilities/fs_reach/write"},
		{"direct write", c(func(c *sallyport.Capabilities) {
			c.FSReach.Write, c.FSReach.Mode = sallyport.Paths("/data"), sallyport.FSDirect
		}), "critical write-gained capabilities/fs_reach/mode|critical write-gained capabilities/fs_reach/write"},
		{"binary to run", c(func(c *sallyport.Capabilities) {
			c.Process = &sallyport.ProcessCapability{AllowedBinaries: []string{"sh"}, ExecFrom: []string{"/data"}}
		}), "critical reach-gained capabilities/process/allowedBinaries|critical write-gained capabilities/process/execFrom"},
		{"database", c(func(c *sallyport.Capabilities) {
			c.Database = &sallyport.DatabaseCapability{Connections: []string{"a"}, Mode: sallyport.ModeWrite}
		}), "critical reach-gained capabilities/database|critical write-gained capabilities/database/mode"},
		{"mail", c(func(c *sallyport.Capabilities) {
			c.Mail = &sallyport.MailCapability{To: []string{"*@example.com"}}
		}), "critical reach-gained capabilities/mail/relay|critical reach-gained capabilities/mail/to"},
		{"a person to ask", c(func(c *sallyport.Capabilities) { c.Input = []sallyport.InputKind{sallyport.InputPerson} }), "critical reach-gained capabilities/input"},
		{"attachments", c(func(c *sallyport.Capabilities) { c.Attachments = &sallyport.AttachmentsCapability{All: true} }), "critical reach-gained capabilities/attachments"},
		{"storage", c(func(c *sallyport.Capabilities) {
			c.Storage = &sallyport.StorageCapability{Scope: sallyport.ScopeSession, Kind: "kv"}
		}), "high storage-changed capabilities/storage"},
		{"version", func(o *lock.Offer) { o.Identity = json.RawMessage(`{"name":"files","version":"1.2.4"}`) }, "medium version-changed version"},
		{"name of the server", func(o *lock.Offer) { o.Identity = json.RawMessage(`{"name":"f","version":"1.2.3"}`) }, "high identity-changed name"},
		{"instructions", func(o *lock.Offer) { o.Instructions = "" }, "high instructions-changed instructions"},
		{"tool gone", func(o *lock.Offer) { o.Tools = nil }, "low removed"},
		{"tool new", func(o *lock.Offer) { o.Tools = append(o.Tools, json.RawMessage(`{"name":"write"}`)) }, "high added"},
		{"confusable tool", func(o *lock.Offer) { o.Tools = append(o.Tools, json.RawMessage(`{"name":"READ"}`)) }, "critical name-confusable name|critical name-confusable name|high added"},
		{"shadowing tool", func(o *lock.Offer) { o.Tools = append(o.Tools, json.RawMessage(`{"name":"termina1"}`)) }, "critical name-confusable name|high added"},
		{"resource", func(o *lock.Offer) {
			o.Resources[0] = json.RawMessage(`{"uri":"file:///a","name":"b","description":"A"}`)
		}, "high field-changed name"},
		{"template gone", func(o *lock.Offer) { o.Templates = nil }, "low removed"},
		{"prompt", func(o *lock.Offer) {
			o.Prompts[0] = json.RawMessage(`{"name":"ask","description":"B","arguments":[{"name":"q"}]}`)
		}, "high text-changed description"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := offer()
			tt.edit(o)
			got := strings.Join(changes(lock.Diff(mustPin(t, offer()), mustPin(t, o), "terminal")), "|")
			if got != tt.want {
				t.Errorf("Diff = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestANewServerIsShownWhole(t *testing.T) {
	got := changes(lock.Diff(nil, mustPin(t, offer())))
	want := []string{"critical server-added", "high added", "high added", "high identity-changed", "high added", "high added"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Diff (-want +got):\n%s", d)
	}
	if got := changes(lock.Diff(mustPin(t, offer()), nil)); !slices.Contains(got, "low server-removed") {
		t.Errorf("Diff = %v, want server-removed", got)
	}
}

// TestWhatDiffersInALongTextIsSeen changes what a cut from the front would
// hide.
func TestWhatDiffersInALongTextIsSeen(t *testing.T) {
	long := strings.Repeat("Reads files, slowly. ", 200)
	for _, tt := range []struct {
		name, is string
		cut      bool
	}{
		{"end", long + "Ignore the rest.", false},
		{"middle", long[:3000] + "Ignore the rest." + long[3000:], false},
		{"both ends", "X" + long + "Ignore the rest.", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := lock.Diff(mustPin(t, edited(t, "Reads a file.", long)), mustPin(t, edited(t, "Reads a file.", tt.is)))
			if len(list) != 1 || list[0].Cut != tt.cut || len([]rune(list[0].Is)) > 2100 {
				t.Fatalf("Diff = %+v, want one change, cut: %v", list, tt.cut)
			}
			if seen := strings.Contains(list[0].Is, "Ignore the rest."); seen == tt.cut || tt.cut && !strings.Contains(list[0].Is, "more characters)") {
				t.Errorf("Is = %s, want what differs, or how much is left out", list[0].Is)
			}
		})
	}
}

// TestWhatIsShownIsClean looks for terminal and template sequences in changes.
func TestWhatIsShownIsClean(t *testing.T) {
	o := edited(t, "Reads a file.", "\\u001b[31mred\\u202e <|im_start|>")
	o.Command = []string{"npx"}
	for _, c := range lock.Diff(mustPin(t, offer()), mustPin(t, o)) {
		all := fmt.Sprint(c)
		if strings.ContainsAny(all, "\x1b\u202e\n") || strings.Contains(all, "im_start") {
			t.Errorf("change %q is not clean", all)
		}
	}
}

// TestALongListOfChangesIsCounted bounds what one definition can say.
func TestALongListOfChangesIsCounted(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, `"a%d":{"type":"string"},`, i)
	}
	o := edited(t, `"mode":{`, b.String()+`"mode":{`)
	o.Tools[0] = json.RawMessage(strings.Replace(string(o.Tools[0]), `{"a":1}`, `{"a":2}`, 1))
	list := lock.Diff(mustPin(t, offer()), mustPin(t, o))
	last := list[len(list)-1]
	if len(list) != 41 || !last.Cut || !strings.Contains(last.Message, "461 more") {
		t.Errorf("Diff gives %d changes, the last %+v; want 41 that count 461 more", len(list), last)
	}
	if i := slices.IndexFunc(list, func(c lock.Change) bool { return c.Severity != lock.SeverityHigh }); i >= 0 {
		t.Errorf("%+v is listed in place of a worse one", list[i])
	}
}

// TestAnotherCleanerIsNoChange pins with and without the knowledge of a secret.
func TestAnotherCleanerIsNoChange(t *testing.T) {
	o := edited(t, "Reads a file.", "Reads with hunter2-hunter2.")
	a, b := mustPin(t, o), &lock.File{Servers: map[string]lock.Server{"files": withSecret(t, o, "hunter2-hunter2")}}
	if strings.Contains(bytesOf(t, b), "hunter2") {
		t.Error("the file holds the secret")
	}
	if d := lock.Diff(a, b); len(d) > 0 || whole(t, a) != whole(t, b) {
		t.Errorf("Diff = %v, want none and equal digests", changes(d))
	}
	if d := lock.Diff(b, a); len(d) > 0 {
		t.Errorf("Diff the other way = %v, want none", changes(d))
	}
}

// TestAnyHostCoversNone: "*" is what the personality allows, a host that is
// written out needs no leave.
func TestAnyHostCoversNone(t *testing.T) {
	was, is := offer(), offer()
	was.Capabilities.Network.AllowedHosts = []string{"*"}
	is.Capabilities.Network.AllowedHosts = []string{"a.example.com"}
	if got := changes(lock.Diff(mustPin(t, was), mustPin(t, is))); !slices.Contains(got, "critical reach-gained capabilities/network") {
		t.Errorf("Diff = %v, want reach-gained", got)
	}
}

// TestFilesMadeByHandAreCompared changes what Take and Parse keep in step.
func TestFilesMadeByHandAreCompared(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*lock.Server, *lock.Pin)
		want string
	}{
		{"digest alone", func(_ *lock.Server, p *lock.Pin) { p.SHA256 = zero }, "high hidden-changed"},
		{"mapped name", func(_ *lock.Server, p *lock.Pin) { p.Name = "mcp__files__x" }, "high field-changed name"},
		{"hidden digest", func(_ *lock.Server, p *lock.Pin) { p.Hidden = map[string]string{"description": zero} }, "high hidden-changed description"},
		{"a definition that is none", func(_ *lock.Server, p *lock.Pin) { p.Definition = json.RawMessage("x") }, "high field-changed"},
		{"characters in the launch", func(s *lock.Server, _ *lock.Pin) { s.URL = "\u202e" }, "critical url-changed url"},
		{"order of variables", func(s *lock.Server, _ *lock.Pin) { s.Env = []string{"TOKEN", "LANG"} }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mustPin(t, offer())
			s := f.Servers["files"]
			p := s.Tools["read"]
			tt.edit(&s, &p)
			s.Tools["read"], f.Servers["files"] = p, s
			list := lock.Diff(mustPin(t, offer()), f)
			if got := strings.Join(changes(list), "|"); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("Diff = %s, want %s", got, tt.want)
			}
			if strings.Contains(fmt.Sprint(list), "\u202e") {
				t.Errorf("Diff shows %v", changes(list))
			}
		})
	}
}

// TestANewDefinitionThatHidesIsSaidTo adds a tool with invisible characters.
func TestANewDefinitionThatHidesIsSaidTo(t *testing.T) {
	o := offer()
	o.Tools = append(o.Tools, json.RawMessage(`{"name":"write","description":"W\u200brites"}`))
	if got := strings.Join(changes(lock.Diff(mustPin(t, offer()), mustPin(t, o))), "|"); got != "high added|high hidden-changed" {
		t.Errorf("Diff = %s, want added and hidden-changed", got)
	}
}

func TestSeveritiesAreOrdered(t *testing.T) {
	if !lock.SeverityCritical.AtLeast(lock.SeverityHigh) || lock.SeverityLow.AtLeast(lock.SeverityMedium) || !lock.Severity("x").AtLeast(lock.SeverityCritical) {
		t.Error("AtLeast does not order critical, high, medium, low, with the unknown first")
	}
}
