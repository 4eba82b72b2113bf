package profiles

import (
	"strings"
)

// Registry is the registry of a package.
type Registry string

const (
	// NPM is npm's.
	NPM Registry = "npm"
	// PyPI is the Python Package Index.
	PyPI Registry = "pypi"
)

// ImageName returns the name of an image without tag, digest and the registry
// that Docker means by itself.
func ImageName(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	for _, begin := range []string{"index.docker.io/", "docker.io/", "library/"} {
		name = strings.TrimPrefix(name, begin)
	}
	return name
}

// Launch returns what is declared in place of an image of the profile, or nil
// when nothing takes its place.
func (p *Profile) Launch() *Launch {
	switch {
	case p.Instead != nil:
		return p.Instead
	case len(p.Match.NPM) > 0:
		return &Launch{NPM: p.Match.NPM[0]}
	case len(p.Match.PyPI) > 0:
		return &Launch{PyPI: p.Match.PyPI[0]}
	default:
		return nil
	}
}

// Hosts returns the hosts that the profile proposes.
func (p *Profile) Hosts() []string {
	if p.Capabilities.Network == nil {
		return nil
	}
	return p.Capabilities.Network.AllowedHosts
}
