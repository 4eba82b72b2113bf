// Package ownregistry finds the registries that a user has set for npm
// and pip on this machine: in their variables and in the files of the user and
// of the machine. Files of a project do not count, since agents may write them.
//
// Start with [Read].
package ownregistry

import (
	"bufio"
	"bytes"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile bounds a settings file, in bytes. Others are passed over.
const maxFile = 1 << 20

// Machine says where the settings of a user are.
type Machine struct {
	// Home is the user's folder.
	Home string
	// Lookup returns an environment variable.
	Lookup func(name string) (value string, ok bool)
	// Root is put before the paths of the machine's files; empty outside of tests.
	Root string
}

// Source is a registry and where it is set. The zero Source is none.
type Source struct {
	// URL is its address, without a user; it ends in a slash.
	URL string
	// At names the file or variable.
	At string
	// Credentials says that the settings hold a token or password for it.
	Credentials bool
}

// Registries are those of a machine.
type Registries struct {
	// NPM and PyPI are set when they are not the public ones.
	NPM, PyPI Source
	// Notes say what else is set and not supported, without any value.
	Notes []string
}

// publicHosts are the hosts that everybody's settings mean.
var publicHosts = []string{"registry.npmjs.org", "pypi.org", "files.pythonhosted.org"}

// Holds reports whether a host, with its port when one is written, is that of a
// public registry or of one that this machine uses.
func (r *Registries) Holds(host string) bool {
	return slices.Contains(publicHosts, host) || host != "" && (host == hostOf(r.NPM.URL) || host == hostOf(r.PyPI.URL))
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// SecretRef returns the reference under which the token of a package registry is
// looked up, or its user and password with a colon between them. It holds the host, so
// that a value goes to no other one. It is empty for a registry to which nothing is
// sent: one that is spoken to in plain on the network.
func SecretRef(registry, address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme != "https" && u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return ""
	}
	return "registries/" + registry + "/" + strings.NewReplacer(":", "_", "[", "", "]", "").Replace(strings.ToLower(u.Host))
}

// Read reads the settings. Files that are not there or cannot be read say nothing.
func Read(m Machine) *Registries {
	r := &Registries{}
	r.readNPM(&m)
	r.readPip(&m)
	return r
}

// setting is one line of a file, or a variable.
type setting struct {
	// section is the group of an INI file in which it stands.
	section, name, value, at string
}

// listNPM lists the settings of npm in the order in which the first one counts.
func (m *Machine) listNPM() (all []setting) {
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		if value, ok := m.Lookup(name); ok {
			all = append(all, setting{name: "registry", value: value, at: "$" + name})
		}
	}
	user, ok := m.Lookup("NPM_CONFIG_USERCONFIG")
	if !ok {
		user = filepath.Join(m.Home, ".npmrc")
	}
	files := []string{user}
	if global, ok := m.Lookup("NPM_CONFIG_GLOBALCONFIG"); ok {
		files = append(files, global)
	}
	for _, path := range []string{"/usr/local/etc/npmrc", "/usr/etc/npmrc", "/etc/npmrc"} {
		files = append(files, filepath.Join(m.Root, path))
	}
	for _, path := range files {
		all = append(all, readFile(path)...)
	}
	return all
}

// readNPM takes the first registry in the order in which npm does, and looks for
// credentials of it in every file.
func (r *Registries) readNPM(m *Machine) {
	all := m.listNPM()
	for _, s := range all {
		switch {
		case s.name == "registry" && r.NPM.At == "":
			r.NPM = newSource(expandVariables(s.value, m.Lookup), s.at)
		case strings.HasSuffix(s.name, ":registry"):
			r.Notes = append(r.Notes, s.at+": the registry of the scope "+strings.TrimSuffix(s.name, ":registry")+" is not used: one registry serves all packages")
		}
	}
	if findNPMCredential(all, r.NPM.URL) != nil {
		r.NPM.Credentials = true
	}
	r.NPM = dropPublic(r.NPM)
}

// listPip lists the settings of pip in the order in which the first one counts.
func (m *Machine) listPip() (all []setting) {
	for _, name := range []string{"PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"} {
		if value, ok := m.Lookup(name); ok {
			all = append(all, setting{section: "global", name: "index-url", value: value, at: "$" + name})
		}
	}
	var files []string
	if path, ok := m.Lookup("PIP_CONFIG_FILE"); ok {
		files = append(files, path)
	}
	config, ok := m.Lookup("XDG_CONFIG_HOME")
	if !ok || config == "" {
		config = filepath.Join(m.Home, ".config")
	}
	files = append(files, filepath.Join(config, "pip", "pip.conf"), filepath.Join(m.Home, ".pip", "pip.conf"),
		filepath.Join(m.Home, "Library", "Application Support", "pip", "pip.conf"),
		filepath.Join(m.Root, "/etc/pip.conf"), filepath.Join(m.Root, "/etc/xdg/pip/pip.conf"))
	for _, path := range files {
		all = append(all, readFile(path)...)
	}
	return all
}

// isIndex reports whether a setting of pip is the index of packages.
func (s *setting) isIndex() bool {
	return (s.section == "global" || s.section == "install") && strings.ReplaceAll(s.name, "_", "-") == "index-url"
}

// readPip takes the first index in the order in which pip does.
func (r *Registries) readPip(m *Machine) {
	all := m.listPip()
	for _, s := range all {
		name := strings.ReplaceAll(s.name, "_", "-")
		switch {
		case s.isIndex() && r.PyPI.At == "":
			r.PyPI = newSource(s.value, s.at)
		case s.section != "global" && s.section != "install":
		case name == "extra-index-url" || name == "find-links":
			r.Notes = append(r.Notes, s.at+": "+name+" is not used: one index serves all packages")
		}
	}
	r.PyPI = dropPublic(r.PyPI)
}

// newSource returns a source without what an address may hold beside its place.
func newSource(text, at string) Source {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Source{At: at}
	}
	s := Source{At: at, Credentials: u.User != nil}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	s.URL = strings.TrimSuffix(u.String(), "/") + "/"
	return s
}

// dropPublic returns no source for a public registry, and for an address that is
// none.
func dropPublic(s Source) Source {
	if s.URL == "" || slices.Contains(publicHosts, hostOf(s.URL)) {
		return Source{}
	}
	return s
}

func schemeOf(text string) string {
	scheme, _, ok := strings.Cut(text, "//")
	if !ok {
		return ""
	}
	return scheme
}

// expandVariables replaces ${NAME} as npm does.
func expandVariables(text string, lookup func(string) (string, bool)) string {
	out := ""
	for {
		before, rest, ok := strings.Cut(text, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return out + text
		}
		value, _ := lookup(name)
		out, text = out+before+value, after
	}
}

// readFile returns the settings of a file in the manner of INI.
func readFile(path string) (list []setting) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil
	}
	section := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFile+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		name, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = strings.ToLower(strings.Trim(line, "[] "))
		case ok:
			list = append(list, setting{section, strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`), path})
		}
	}
	return list
}
