package config

import (
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

// Type names what a key holds.
type Type string

// The types.
const (
	// TypeText is one line of text.
	TypeText Type = "text"
	// TypeNumber is a whole number.
	TypeNumber Type = "number"
	// TypeDecimal is a number that may have a decimal point.
	TypeDecimal Type = "decimal number"
	// TypeBool is true or false.
	TypeBool Type = "true/false"
	// TypeTexts is a list of texts.
	TypeTexts Type = "list of text"
	// TypeMapping is a mapping with the keys of the table.
	TypeMapping Type = "mapping"
	// TypeTextOrMapping is a mapping, or the text of its most important key.
	TypeTextOrMapping Type = "text or mapping"
	// TypeNames is a mapping whose keys are names that the operator chooses.
	TypeNames Type = "mapping by name"
	// TypeChoices is a list of mappings, each with exactly one of the keys of
	// the table.
	TypeChoices Type = "list of one-key mappings"
	// TypeActions is a list of actions, of which the table has the id alone.
	TypeActions Type = "list of actions"
	// TypeServer is an upstream server, of which the table has nothing.
	TypeServer Type = "server"
)

// KeyDoc documents one key: a row of the table.
type KeyDoc struct {
	// Key is the dotted key; "<name>" stands for a chosen name, "[]" for the
	// elements of a list.
	Key string
	// Type is what the key holds; empty while it is not supported.
	Type Type
	// Required is true when every mapping that may have the key has it.
	Required bool
	// Supported is false while the feature is not built; the key is then
	// refused by name.
	Supported bool
	// Default says what an absent key means.
	Default string
	// Doc says in one sentence what the key does.
	Doc string
	// Example is a value in YAML.
	Example string
}

// row is a key with what reading it does.
type row struct {
	KeyDoc
	// check judges one text and returns the form that is kept; nil keeps the
	// text as it is.
	check func(*scope, string) (string, error)
	// words lists the only texts that the key may hold; nil means any.
	words []string
	// short is the key below that a text in place of the mapping stands for.
	short string
	// set stores the value; nil stores nothing.
	set func(*scope, value)
	// refersTo is the key whose names the texts must exist under. While that
	// key is not supported, only an empty list is accepted.
	refersTo string
	// hide keeps the value out of snippets: people put secrets here.
	hide bool
	// some is true when an empty mapping by name is refused, since it would
	// not be what an absent one is.
	some bool
	// adds is true when the key may stand in several files and what is below
	// it adds up.
	adds bool
	// means is the key that this one is another spelling of: one value is
	// stored for both, so that only one of them may be given.
	means string
	// done judges the keys of a mapping together, when all are read.
	done func(s *scope, key string)
}

// value is what a row's set receives: the field of its type.
type value struct {
	text string
	// list is never nil for a list, so that [] and an absent key differ.
	list []string
	flag bool
}

const personalityKey = "personalities.<name>"

// allKeys returns the table. Supporting a key is a matter of its row alone.
func allKeys() []row {
	return slices.Concat(topKeys(), principalKeys(), securityKeys("security", "default_permissions", "require_auth", "audit_log"), oidcKeys(),
		connectionKeys(), actionKeys(), serverKeys(), packageKeys(), sandboxKeys(), personalityKeys(), flowKeys())
}

func topKeys() []row {
	return []row{
		{KeyDoc: KeyDoc{"version", TypeNumber, true, true, "", "Version of this format.", "1"}, check: (*scope).checkVersion},
		{
			KeyDoc: KeyDoc{"workspace", TypeText, false, true, "the folder of the first file", "Folder at which relative paths of tool calls are anchored.", "."},
			check:  (*scope).workspacePath, set: func(s *scope, v value) { s.cfg.Workspace = v.text },
		},
		{
			KeyDoc: KeyDoc{"state", TypeText, false, true, "sqlite:.sallyport/state.db", "Where state lives: `sqlite:PATH`, or `memory` to forget it at exit.", "sqlite:.sallyport/state.db"},
			check:  (*scope).parseState, hide: true,
		},
		{
			KeyDoc: KeyDoc{"limits", TypeText, false, true, "state", "Where the counters of rate limits live: `state`, shared by every process that uses it, or `memory` of each process.", "state"},
			check:  (*scope).parseLimits, hide: true, set: func(s *scope, v value) { s.cfg.Limits = v.text },
		},
		{
			KeyDoc: KeyDoc{"secrets", TypeChoices, false, true, "no secrets", "Where secret values come from, asked in this order.", "[{env: SALLYPORT_SECRET_}, {dir: ./secrets}]"},
			set:    func(s *scope, _ value) { s.cfg.Secrets = []SecretBackend{} },
		},
		{
			KeyDoc: KeyDoc{"secrets[].env", TypeText, false, true, "", "Prefix of environment variables: `PREFIX_` serves `a/bKey` from `PREFIX_A_BKEY`.", "SALLYPORT_SECRET_"},
			check:  (*scope).envPrefix, hide: true,
			set: func(s *scope, v value) { s.addBackend(SecretBackend{EnvPrefix: v.text}) },
		},
		{
			KeyDoc: KeyDoc{"secrets[].dir", TypeText, false, true, "", "Folder with one file per secret reference.", "./secrets"},
			check:  (*scope).resolvePath,
			set:    func(s *scope, v value) { s.addBackend(SecretBackend{Dir: v.text}) },
		},
		{KeyDoc: KeyDoc{"personalities", TypeNames, false, true, "one personality `default` without files and without a network ceiling", "What each role of an agent may touch at most.", "{researcher: {toolset: [\"@file\"]}}"}, some: true},
	}
}

func personalityKeys() []row {
	const p = personalityKey
	return []row{
		{KeyDoc: KeyDoc{p, TypeMapping, false, true, "", "One role; the name has 1 to 64 letters, digits, `_` or `-`.", "{toolset: []}"}},
		{
			KeyDoc: KeyDoc{p + ".description", TypeText, false, true, "", "Text for people.", "Reads the web, writes notes."},
			set:    func(s *scope, v value) { s.p.Description = v.text },
		},
		{
			KeyDoc: KeyDoc{p + ".toolset", TypeTexts, false, true, "all tools; `[]` means none", "Tools by name, or by label as `@file`.", `["@file", fetch_url]`},
			check:  (*scope).toolEntry, set: func(s *scope, v value) { s.p.Toolset = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".mcp_servers", TypeTexts, false, true, "none", "Upstream MCP servers whose tools are visible.", "[notes]"},
			set:    func(s *scope, v value) { s.p.MCPServers = v.list }, refersTo: "mcp_servers",
		},
		{
			KeyDoc: KeyDoc{p + ".plugins", TypeTexts, false, true, "none", "Plugins whose tools are visible.", "[]"},
			set:    func(s *scope, v value) { s.p.Plugins = v.list }, refersTo: "plugins",
		},
		{
			KeyDoc: KeyDoc{p + ".fs_reach", TypeMapping, false, true, "no files", "Folders and files within reach; a folder covers everything below it.", `{read: ["${workspace}"]}`},
			set:    func(s *scope, _ value) { s.p.FSReach = &sallyport.Reach{} },
		},
		{
			KeyDoc: KeyDoc{p + ".fs_reach.read", TypeTexts, false, true, "none", "What may be read.", `["${workspace}"]`},
			check:  (*scope).resolvePath, set: func(s *scope, v value) { s.p.FSReach.Read = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".fs_reach.write", TypeTexts, false, true, "none", "What may be written.", `["${workspace}/notes"]`},
			check:  (*scope).resolvePath, set: func(s *scope, v value) { s.p.FSReach.Write = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".fs_reach.mode", TypeText, false, true, "what the tool declares", "How writes of child processes reach the disk. `direct`: at once. `overlay`: into a private layer, which is checked and carried over when the child ends well.", "overlay"},
			words:  []string{string(sallyport.FSDirect), string(sallyport.FSOverlay)},
			set:    func(s *scope, v value) { s.p.FSReach.Mode = sallyport.FSMode(v.text) },
		},
		{KeyDoc: KeyDoc{p + ".safety", TypeMapping, false, true, "", "Ceilings on hosts, secrets and binaries, and what may follow what was read.", "{network: {allow: []}}"}},
		{
			KeyDoc: KeyDoc{p + ".safety.network", TypeMapping, false, true, "declared hosts stand, and `*` gives nothing", "Ceiling on hosts.", `{allow: ["*.github.com"]}`},
			set:    func(s *scope, _ value) { s.p.Network = &sallyport.NetworkPolicy{} },
		},
		{
			KeyDoc: KeyDoc{p + ".safety.network.allow", TypeTexts, false, true, "declared hosts stand; `[]` means no host", "Hosts within reach: `a.b`, `*.b` for any name below b, `*` for any public host, with a port if not 80 or 443.", `["api.example.com", "*.github.com"]`},
			check:  (*scope).parseHost, set: func(s *scope, v value) { s.p.Network.Allow = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".safety.network.deny", TypeTexts, false, true, "none", "Hosts out of reach, whatever `allow` says.", `["gist.github.com"]`},
			check:  (*scope).parseHost, set: func(s *scope, v value) { s.p.Network.Deny = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".safety.network.allow_private_urls", TypeBool, false, true, "false", "Lets loopback, RFC 1918 and unique-local addresses through; metadata and link-local addresses stay refused.", "false"},
			set:    func(s *scope, v value) { s.p.Network.AllowPrivate = v.flag },
		},
		{KeyDoc: KeyDoc{p + ".safety.secrets", TypeMapping, false, true, "declared references stand", "Ceiling on secret references.", `{allow: ["providers/*"]}`}},
		{
			KeyDoc: KeyDoc{p + ".safety.secrets.allow", TypeTexts, false, true, "declared references stand; `[]` means no secret", "References within reach: exact, or `prefix/*`.", `["providers/*"]`},
			check:  (*scope).secretRef, set: func(s *scope, v value) { s.p.Secrets = v.list },
		},
		{KeyDoc: KeyDoc{p + ".safety.process", TypeMapping, false, true, "declared binaries stand", "Ceiling on the binaries that tools start.", `{allow: [git]}`}},
		{
			KeyDoc: KeyDoc{p + ".safety.process.allow", TypeTexts, false, true, "declared binaries stand; `[]` means no binary", "Binaries within reach: a name that the fixed search path finds, an absolute path, or `*` for any name.", "[git]"},
			check:  (*scope).parseBinary, set: func(s *scope, v value) { s.p.Process = v.list },
		},
		{KeyDoc: KeyDoc{p + ".safety.input", TypeMapping, false, true, "declared input stands", "Ceiling on whom tools ask behind their caller.", `{allow: [person]}`}},
		{
			KeyDoc: KeyDoc{p + ".safety.input.allow", TypeTexts, false, true, "declared input stands; `[]` means nobody", "Whom tools may ask: the `person` behind the caller, its `model`, or for its list of `folders`.", "[person]"},
			words:  []string{string(sallyport.InputPerson), string(sallyport.InputModel), string(sallyport.InputFolders)},
			set:    func(s *scope, v value) { s.p.Input = inputKinds(v.list) },
		},
		{
			KeyDoc: KeyDoc{p + ".approvals", TypeMapping, false, true, "no tool waits for a human", "Tools that a human decides about.", "{require: [email-send], wait: 30s}"},
			set:    func(s *scope, _ value) { s.p.Approvals = &sallyport.Approvals{Wait: defaultWait} }, done: (*scope).checkApprovals,
		},
		{
			KeyDoc: KeyDoc{p + ".approvals.require", TypeTexts, false, true, "none", "Tools by name, each of whose calls is held until a human decides.", "[email-send, terminal]"},
			check:  (*scope).toolName, set: func(s *scope, v value) { s.p.Approvals.Require = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".approvals.wait", TypeText, false, true, "30s", "How long a call waits for the decision, `0s` to `1h`; then it answers `approval_required`.", "30s"},
			check:  durationCheck(0, maxWait), set: func(s *scope, v value) { s.p.Approvals.Wait = keptSpan(v.text) },
		},
		{
			KeyDoc: KeyDoc{p + ".approvals.expires", TypeText, false, true, "the default of the runtime", "How long a held call may be decided and the decision used, `1s` to `30d`, not less than `wait`.", "1h"},
			check:  durationCheck(time.Second, maxExpiry), set: func(s *scope, v value) { s.p.Approvals.Expires = keptSpan(v.text) },
		},
		{
			KeyDoc: KeyDoc{p + ".approvals.elicit", TypeBool, false, true, "true", "Lets an MCP client that can ask a person put a held call before them. `false` leaves it to `sallyport approvals`.", "false"},
			set:    func(s *scope, v value) { s.p.Approvals.OperatorOnly = !v.flag },
		},
	}
}

// table finds rows by key and the keys that are valid below one.
type table struct {
	rows  []row
	byKey map[string]*row
	// below lists the last segments of the keys directly below a key.
	below map[string][]string
}

func newTable(rows []row) *table {
	t := &table{rows: rows, byKey: make(map[string]*row, len(rows)), below: map[string][]string{}}
	for i := range rows {
		key := rows[i].Key
		t.byKey[key] = &rows[i]
		parent, last := splitKey(key)
		t.below[parent] = append(t.below[parent], last)
	}
	return t
}

// childRow returns the row of a key directly below another one, nil when there
// is none. A name from a file may hold dots, a name of the table does not.
func (t *table) childRow(parent, name string) *row {
	if strings.Contains(name, ".") {
		return nil
	}
	return t.byKey[joinKey(parent, name)]
}

// isSupported reports whether a key is in the table and built.
func (t *table) isSupported(key string) bool {
	r := t.byKey[key]
	return r != nil && r.Supported
}

// supportedBelow lists the supported keys directly below a key.
func (t *table) supportedBelow(parent string) []string {
	var names []string
	for _, name := range t.below[parent] {
		if t.isSupported(joinKey(parent, name)) {
			names = append(names, name)
		}
	}
	return names
}

// findElsewhere returns the only key of the table that ends in a name, for a
// key that is at the wrong place; "" when there is none or several.
func (t *table) findElsewhere(name string) string {
	found := ""
	for i := range t.rows {
		if _, last := splitKey(t.rows[i].Key); last == name && !strings.HasPrefix(t.rows[i].Key, layersKey) {
			if found != "" {
				return ""
			}
			found = t.rows[i].Key
		}
	}
	return found
}

func splitKey(key string) (parent, last string) {
	i := strings.LastIndexByte(key, '.')
	if i < 0 {
		return "", key
	}
	return key[:i], key[i+1:]
}

// inputKinds tells an empty list apart from none.
func inputKinds(list []string) []sallyport.InputKind {
	out := make([]sallyport.InputKind, len(list))
	for i := range list {
		out[i] = sallyport.InputKind(list[i])
	}
	return out
}
