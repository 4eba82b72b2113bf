package importer

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/ownregistry"
	"github.com/sallyport/sallyport/internal/text"
)

// ownRegistry is a registry of this machine that the configuration takes over.
type ownRegistry struct {
	// Key is its key below packages.
	Key string `json:"key"`
	URL string `json:"url"`
	At  string `json:"at"`
}

// planRegistries takes over the registries from which the machine itself installs
// the packages of the servers. What the configuration says stays.
func (i *clientImport) planRegistries(p *serverPlan) {
	own, there := i.env.Registries(), &i.config.Packages
	add := func(key string, r install.Registry, s ownregistry.Source, written string) {
		switch {
		case s.URL == "":
		case written != "":
			if strings.TrimSuffix(written, "/")+"/" == s.URL && p.needsRegistry(r) {
				i.planCredential(p, r, s, false)
			}
		case !p.installsFrom(r):
		case !usableRegistry(s.URL):
			p.addRemark("%s: the registry %s is not taken over: it has to be https, or http to an address of this machine", s.At, s.URL)
		default:
			p.registries = append(p.registries, ownRegistry{key, s.URL, s.At})
			p.addRemark("packages of %s come from %s, as %s says", r, s.URL, s.At)
			i.planCredential(p, r, s, true)
		}
	}
	add("npm", install.NPM, own.NPM, there.NPM)
	add("pypi", install.PyPI, own.PyPI, there.PyPI)
	if p.installsFrom(install.NPM) || p.installsFrom(install.PyPI) {
		for _, note := range own.Notes {
			p.addRemark("%s", note)
		}
	}
}

// addRemark adds a remark about the whole import.
func (p *serverPlan) addRemark(format string, args ...any) {
	p.remarks = append(p.remarks, text.PrintableLine(text.OneLine(fmt.Sprintf(format, args...))))
}

// installsFrom reports whether a server that is written comes from a registry.
func (p *serverPlan) installsFrom(r install.Registry) bool {
	return slices.ContainsFunc(p.readyServers(), func(s *plannedServer) bool {
		pkg, _, _ := install.Parse(s.entry.Command)
		return pkg.Registry == r
	})
}

// needsRegistry reports whether a server comes from a registry that the role gets, also
// when it is declared already.
func (p *serverPlan) needsRegistry(r install.Registry) bool {
	return slices.ContainsFunc(p.servers, func(s *plannedServer) bool {
		pkg, _, _ := install.Parse(s.entry.Command)
		return pkg.Registry == r && (s.state == stateReady || s.state == stateDeclared)
	})
}

// usableRegistry reports whether a configuration may name an address.
func usableRegistry(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// renderRegistries returns the lines below the key packages.
func (p *serverPlan) renderRegistries() (lines []string) {
	for _, r := range p.registries {
		lines = append(lines, "# As "+text.PrintableLine(r.At)+" says.", r.Key+": "+strconv.Quote(r.URL))
	}
	return lines
}

// withRegistries returns what a configuration says of packages after the import.
func (p *serverPlan) withRegistries(was config.Packages) config.Packages {
	for _, r := range p.registries {
		switch r.Key {
		case "npm":
			was.NPM = r.URL
		case "pypi":
			was.PyPI = r.URL
		}
	}
	return was
}
