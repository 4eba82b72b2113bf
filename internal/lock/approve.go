package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// minExpect is the fewest digits of a digest that name it: 128 bits, for which no search
// finds two definitions, of which one is shown.
const minExpect = 32

// Scope is a part of a file: one tool, one server, or all of it.
type Scope struct {
	// Server is the configured name of a server; empty for the whole file.
	Server string
	// Tool is the upstream name of a tool of Server; empty for the whole
	// server.
	Tool string
}

// String returns "server/tool", "server" or "everything".
func (s Scope) String() string {
	switch {
	case s.Server == "":
		return "everything"
	case s.Tool == "":
		return s.Server
	default:
		return Ref(s).String()
	}
}

// ErrAbsent is the error for a scope that a file has nothing in.
var ErrAbsent = errors.New("is not there")

// Mismatch is the error of [File.Approve] when what is to be approved is not
// what was expected.
type Mismatch struct {
	// Scope is what was to be approved.
	Scope Scope
	// Expected is the digest, or its beginning, that was given.
	Expected string
	// Found is the digest of what is there now.
	Found string
}

// Error names both digests.
func (m *Mismatch) Error() string {
	return fmt.Sprintf("%s: expected %s, found %s: it is not what was shown; look at the changes again", cleanName(m.Scope.String()), cleanName(m.Expected), m.Found)
}

// Digest returns the digest of a part of the file, 64 hexadecimal digits:
// names, launches and definitions as the servers sent them. It does not depend
// on what cleaning removed for display, nor on the order of keys or of sets.
// The error is [ErrAbsent].
func (f *File) Digest(s Scope) (string, error) {
	if s.Server == "" {
		if s.Tool != "" {
			return "", fmt.Errorf("tool %s without a server %w", cleanName(s.Tool), ErrAbsent)
		}
		return f.fileDigest(), nil
	}
	server, ok := f.serversOrNil()[s.Server]
	if !ok {
		return "", fmt.Errorf("server %s %w", cleanName(s.Server), ErrAbsent)
	}
	if s.Tool == "" {
		return server.digestAs(s.Server), nil
	}
	tool, ok := server.Tools[s.Tool]
	if !ok {
		return "", fmt.Errorf("tool %s %w", cleanName(s.String()), ErrAbsent)
	}
	return digestOf(map[string]any{"server": s.Server, "tool": s.Tool, "sha256": tool.SHA256}), nil
}

func (f *File) fileDigest() string {
	servers := map[string]string{}
	for name, s := range f.serversOrNil() {
		servers[name] = s.digestAs(name)
	}
	return digestOf(map[string]any{"version": Version, "servers": servers})
}

// digestAs returns the digest of a server under a name.
func (s *Server) digestAs(name string) string {
	m := map[string]any{"server": name, "launch": s.Launch.Digest()}
	if s.Identity != nil {
		m["identity"] = s.Identity.SHA256
	}
	for _, k := range offered {
		list := map[string]string{}
		for name, p := range *s.pinsOf(k) {
			list[name] = p.SHA256
		}
		m[string(k)] = list
	}
	return digestOf(m)
}

// Digest returns the digest of how a server is started or reached and what it
// may touch: everything that is known before it runs.
func (l *Launch) Digest() string {
	n := *l
	n.Command, n.Env, n.Capabilities = append([]string{}, l.Command...), sortedSet(l.Env), group.Normal(&l.Capabilities)
	n.Programs, n.Package = normalizePrograms(l.Programs), l.Package.withoutBefore()
	return digestOf(n)
}

// CapabilitiesDigest returns the digest of the effective declaration.
func (l *Launch) CapabilitiesDigest() string { return digestOf(group.Normal(&l.Capabilities)) }

// Approve returns a copy of the file in which a part is pinned as it is now.
// expect is the digest of that part of now, or at least its first 32 digits,
// as the reviewer was shown it; for any other the error is a [*Mismatch]
// and nothing is pinned. A tool can be pinned only on a server that is. Neither
// file is changed, and the result shares nothing with now that may change.
func (f *File) Approve(now *File, s Scope, expect string) (*File, error) {
	// What is pinned is a copy made before the digest is taken: what changes
	// during an approval is not approved.
	now = now.clone()
	found, err := now.Digest(s)
	if err != nil {
		return nil, err
	}
	if err := checkExpectedDigest(s, expect, found); err != nil {
		return nil, err
	}
	out := f.clone()
	switch {
	case s.Server == "":
		return now, nil
	case s.Tool == "":
		out.Servers[s.Server] = now.Servers[s.Server]
		return out, nil
	}
	server, ok := out.Servers[s.Server]
	if !ok {
		return nil, fmt.Errorf("server %s %w: approve it first", cleanName(s.Server), ErrAbsent)
	}
	if server.Tools == nil {
		server.Tools = map[string]Pin{}
	}
	server.Tools[s.Tool] = now.Servers[s.Server].Tools[s.Tool]
	out.Servers[s.Server] = server
	return out, nil
}

// WithCapabilities returns a copy of the file in which a server may touch something
// else, as [Launch] says. The error is [ErrAbsent].
func (f *File) WithCapabilities(server string, c sallyport.Capabilities, filesStand bool) (*File, error) {
	out := f.clone()
	s, ok := out.Servers[server]
	if !ok {
		return nil, fmt.Errorf("server %s %w", cleanName(server), ErrAbsent)
	}
	s.Capabilities, s.FilesStand = group.Normal(&c), filesStand
	out.Servers[server] = s
	return out, nil
}

// checkExpectedDigest compares what was shown with what is there.
func checkExpectedDigest(s Scope, expect, found string) error {
	want := strings.ToLower(expect)
	if len(want) < minExpect || len(want) > len(found) || strings.Trim(want, "0123456789abcdef") != "" {
		return fmt.Errorf("%s: expected the digest of what was shown, or at least %d digits of it; found %s", cleanName(s.String()), minExpect, found)
	}
	if !strings.HasPrefix(found, want) {
		return &Mismatch{Scope: s, Expected: expect, Found: found}
	}
	return nil
}

// clone copies everything that can be written to.
func (f *File) clone() *File {
	out := &File{Servers: map[string]Server{}}
	for name, s := range f.serversOrNil() {
		s.Launch = s.Launch.clone()
		if s.Identity != nil {
			s.Identity = new(s.Identity.clone())
		}
		for _, k := range offered {
			pins := s.pinsOf(k)
			*pins = clonePins(*pins)
		}
		out.Servers[name] = s
	}
	return out
}

func (l Launch) clone() Launch {
	l.Command, l.Env = slices.Clone(l.Command), slices.Clone(l.Env)
	l.Capabilities, l.Programs = group.Normal(&l.Capabilities), normalizePrograms(l.Programs)
	if l.Binary != nil {
		l.Binary = new(*l.Binary)
	}
	l.Package = l.Package.clone()
	return l
}

// withoutBefore returns a copy of a package with all that is compared.
func (p *Package) withoutBefore() *Package {
	c := p.clone()
	if c != nil {
		c.Before = ""
	}
	return c
}

func (p *Package) clone() *Package {
	if p == nil {
		return nil
	}
	c := *p
	c.Command = slices.Clone(p.Command)
	return &c
}

func clonePins(m map[string]Pin) map[string]Pin {
	if m == nil {
		return nil
	}
	out := make(map[string]Pin, len(m))
	for name, p := range m {
		out[name] = p.clone()
	}
	return out
}

func (p Pin) clone() Pin {
	p.Hidden, p.Definition = maps.Clone(p.Hidden), json.RawMessage(slices.Clone(p.Definition))
	return p
}
