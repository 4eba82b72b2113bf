package config

import (
	"errors"
	"net/netip"
	"net/url"
)

// Packages says where the packages of launchers such as npx come from. An empty
// address is that of the public registry.
type Packages struct {
	// NPM is the URL of the registry of npm.
	NPM string
	// PyPI is the URL of the index of Python packages (PEP 503).
	PyPI string
	// PyPIFiles is the URL below which the files of the index lie; empty is the
	// host of PyPI when that is set.
	PyPIFiles string
	// AllowPrivate lets loopback, RFC 1918 and unique-local addresses of these
	// hosts through.
	AllowPrivate bool
}

// maxRegistry bounds the address of a registry, in bytes.
const maxRegistry = 2 << 10

func packageKeys() []row {
	registry := func(key, absent, doc, example string, set func(*Packages, string)) row {
		return row{
			KeyDoc: KeyDoc{"packages." + key, TypeText, false, true, absent, doc, example},
			check:  (*scope).parseRegistry, hide: true, set: func(s *scope, v value) { set(&s.cfg.Packages, v.text) },
		}
	}
	return []row{
		{KeyDoc: KeyDoc{"packages", TypeMapping, false, true, "the public registries", "Registries from which the packages of MCP servers are installed. An installation reaches these hosts and no other.", `{npm: "https://npm.example.com/"}`}},
		registry("npm", "https://registry.npmjs.org/", "Registry of npm, whose archives lie below its address: `https`, or `http` to an address of this machine; without a user.",
			"https://npm.example.com/", func(p *Packages, text string) { p.NPM = text }),
		registry("pypi", "https://pypi.org/simple/", "Index of Python packages, in the same forms.",
			"https://pypi.example.com/simple/", func(p *Packages, text string) { p.PyPI = text }),
		registry("pypi_files", "the host of `pypi` where that is given, else https://files.pythonhosted.org/", "Where the files of the index lie, when that is another host.",
			"https://files.example.com/", func(p *Packages, text string) { p.PyPIFiles = text }),
		{
			KeyDoc: KeyDoc{"packages.allow_private", TypeBool, false, true, "false", "Lets loopback, RFC 1918 and unique-local addresses of these hosts through; metadata and link-local addresses stay refused.", "true"},
			set:    func(s *scope, v value) { s.cfg.Packages.AllowPrivate = v.flag },
		},
	}
}

// parseRegistry checks the address of a registry.
func (s *scope) parseRegistry(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxRegistry || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("expected an address such as https://npm.example.com/, without a user, a query and a fragment")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	here := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !here) {
		return "", errors.New("expected https, or http to an address of this machine")
	}
	return text, nil
}
