package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// personalityKey is the key of one role in the table.
const personalityKey = "personalities.<name>"

// personalityKeys are the keys of a role, the short ones first.
func personalityKeys() []row {
	long := longKeys()
	rows := slices.Clone(long[:1])
	for _, k := range group.FlatKeys() {
		i := slices.IndexFunc(long, func(r row) bool { return r.Key == personalityKey+"."+k.Long })
		flat := long[i]
		flat.Key, flat.means = personalityKey+"."+k.Flat, flat.Key
		flat.Doc = "Short for `" + k.Long + "`; only one of them may be given. " + flat.Doc
		rows = append(rows, flat)
	}
	return append(rows, long[1:]...)
}

func longKeys() []row {
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
			set:    func(s *scope, _ value) { s.fileCeiling() },
		},
		{
			KeyDoc: KeyDoc{p + ".fs_reach.read", TypeTexts, false, true, "none", "What may be read.", `["${workspace}"]`},
			check:  (*scope).resolvePath, set: func(s *scope, v value) { s.fileCeiling().Read = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".fs_reach.write", TypeTexts, false, true, "none", "What may be written.", `["${workspace}/notes"]`},
			check:  (*scope).resolvePath, set: func(s *scope, v value) { s.fileCeiling().Write = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".fs_reach.mode", TypeText, false, true, "what the tool declares", "How writes of child processes reach the disk. `direct`: at once. `overlay`: into a private layer, which is checked and carried over when the child ends well.", "overlay"},
			words:  []string{string(sallyport.FSDirect), string(sallyport.FSOverlay)},
			set:    func(s *scope, v value) { s.p.FSReach.Mode = sallyport.FSMode(v.text) },
		},
		{KeyDoc: KeyDoc{p + ".safety", TypeMapping, false, true, "", "Ceilings on hosts, secrets and binaries, and what may follow what was read.", "{network: {allow: []}}"}},
		{
			KeyDoc: KeyDoc{p + ".safety.network", TypeMapping, false, true, "declared hosts stand, and `*` gives nothing", "Ceiling on hosts.", `{allow: ["*.github.com"]}`},
			set:    func(s *scope, _ value) { s.hostCeiling() },
		},
		{
			KeyDoc: KeyDoc{p + ".safety.network.allow", TypeTexts, false, true, "declared hosts stand; `[]` means no host", "Hosts within reach: `a.b`, `*.b` for any name below b, `*` for any public host, with a port if not 80 or 443.", `["api.example.com", "*.github.com"]`},
			check:  (*scope).parseHost, set: func(s *scope, v value) { s.hostCeiling().Allow = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".safety.network.deny", TypeTexts, false, true, "none", "Hosts out of reach, whatever `allow` says.", `["gist.github.com"]`},
			check:  (*scope).parseHost, set: func(s *scope, v value) { s.p.Network.Deny = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".safety.network.allow_private_urls", TypeBool, false, true, "false", "Lets loopback, RFC 1918 and unique-local addresses through; metadata and link-local addresses stay refused.", "false"},
			set:    func(s *scope, v value) { s.p.Network.AllowPrivate = v.flag },
		},
		{
			KeyDoc: KeyDoc{p + ".safety.network.allow_private", TypeTexts, false, true, "none", "Single loopback, RFC 1918 and unique-local addresses with their port that are let through, beside `allow_private_urls` for all. Each also counts as an entry of `allow`. The listeners of Sallyport itself stay refused.", `["127.0.0.1:8080"]`},
			check:  (*scope).privateAddress, set: func(s *scope, v value) { s.p.Network.Private = v.list },
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
			KeyDoc: KeyDoc{p + ".safety.input.allow", TypeTexts, false, true, "declared input stands; `[]` means none", "Whom tools may ask: the `person` behind the caller, its `model`, or for its list of `folders`.", "[person]"},
			words:  []string{string(sallyport.InputPerson), string(sallyport.InputModel), string(sallyport.InputFolders)},
			set:    func(s *scope, v value) { s.p.Input = inputKinds(v.list) },
		},
		{
			KeyDoc: KeyDoc{p + ".approvals", TypeMapping, false, true, "no tool waits for a human", "Tools that a human decides about.", "{require: [email-send], wait: 30s}"},
			set:    func(s *scope, _ value) { s.p.Approvals = &sallyport.Approvals{Wait: defaultWait, WaitForPerson: true} }, done: (*scope).checkApprovals,
		},
		{
			KeyDoc: KeyDoc{p + ".approvals.require", TypeTexts, false, true, "none", "Tools by name, each of whose calls is held until a human decides.", "[email-send, terminal]"},
			check:  (*scope).toolName, set: func(s *scope, v value) { s.p.Approvals.Require = v.list },
		},
		{
			KeyDoc: KeyDoc{p + ".approvals.wait", TypeText, false, true, "30s while a person is connected who can decide, else 0s", "How long a call waits for the decision, `0s` to `1h`; then it answers `approval_required`.", "30s"},
			check:  durationCheck(0, maxWait), set: func(s *scope, v value) { s.p.Approvals.Wait, s.p.Approvals.WaitForPerson = keptSpan(v.text), false },
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

// fileCeiling returns the file ceiling of the role, made by the first key of it.
func (s *scope) fileCeiling() *sallyport.Reach {
	if s.p.FSReach == nil {
		s.p.FSReach = &sallyport.Reach{}
	}
	return s.p.FSReach
}

// hostCeiling returns the network ceiling of the role, made by the first key of it.
func (s *scope) hostCeiling() *sallyport.NetworkPolicy {
	if s.p.Network == nil {
		s.p.Network = &sallyport.NetworkPolicy{}
	}
	return s.p.Network
}

// inputKinds tells an empty list apart from none.
func inputKinds(list []string) []sallyport.InputKind {
	out := make([]sallyport.InputKind, len(list))
	for i := range list {
		out[i] = sallyport.InputKind(list[i])
	}
	return out
}

// toolEntry reads a tool's name or "@label". Whether a tool of that name
// exists is known when the tools are registered.
func (s *scope) toolEntry(v string) (string, error) {
	if strings.HasPrefix(v, "mcp__") {
		return "", errors.New("tools of MCP servers are chosen by mcp_servers, not here")
	}
	if !nameOK(strings.TrimPrefix(v, "@")) {
		return "", fmt.Errorf(`%s is not a tool: expected a name, or a label such as "@file", of %s`, yamldoc.Quote(v), nameForm)
	}
	return v, nil
}

// privateAddress reads an address that no list but its own lets through.
func (s *scope) privateAddress(v string) (string, error) {
	at, err := netip.ParseAddrPort(v)
	a := at.Addr()
	switch {
	case err != nil || at.Port() == 0:
		return "", fmt.Errorf("%s is not an address with a port: expected one such as 127.0.0.1:8080 or [::1]:8080", yamldoc.Quote(v))
	case a.Is4In6() || a.Zone() != "" || !a.IsLoopback() && !a.IsPrivate():
		return "", fmt.Errorf("%s is not a loopback, RFC 1918 or unique-local address, and no others are let through one by one", yamldoc.Quote(v))
	}
	return at.String(), nil
}

func (s *scope) secretRef(v string) (string, error) {
	r, err := reach.ParseRef(v)
	if err != nil {
		return "", fmt.Errorf("%s is not a secret reference: %w", yamldoc.Quote(v), err)
	}
	return r.String(), nil
}
