package profiles

import (
	"net/url"
	"slices"
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

// Of returns the profile of a package, or nil.
func Of(r Registry, name string) *Profile {
	return findProfile(func(p *Profile) bool {
		switch r {
		case NPM:
			return slices.Contains(p.Match.NPM, name)
		case PyPI:
			return slices.Contains(p.Match.PyPI, name)
		default:
			return false
		}
	})
}

// OfImage returns the profile of a container image, whatever its tag, digest
// and registry of Docker, or nil.
func OfImage(image string) *Profile {
	name := ImageName(image)
	return findProfile(func(p *Profile) bool { return slices.Contains(p.Match.Images, name) })
}

// OfURL returns the profile of a remote address, or nil.
func OfURL(address string) *Profile {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil
	}
	return findProfile(func(p *Profile) bool {
		return slices.ContainsFunc(p.Match.URLs, func(known string) bool {
			k, err := url.Parse(known)
			if err != nil || k.Scheme != u.Scheme || !strings.EqualFold(k.Host, u.Host) {
				return false
			}
			base, path := strings.TrimSuffix(k.Path, "/"), strings.TrimSuffix(u.Path, "/")
			return path == base || strings.HasPrefix(path, base+"/")
		})
	})
}

func findProfile(matches func(*Profile) bool) *Profile {
	list := All()
	if i := slices.IndexFunc(list, matches); i >= 0 {
		return list[i]
	}
	return nil
}

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
