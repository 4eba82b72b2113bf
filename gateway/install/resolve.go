package install

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// distTag is a tag of a registry, such as latest: no version and no range.
var distTag = text.Pattern(`^[a-zA-Z][a-zA-Z0-9.-]*$`)

// newest is the tag of the newest version.
const newest = "latest"

const (
	// keyWhy is the key of an answer that says why a version was chosen.
	keyWhy = "why"
	// maxVersions bounds what a registry says of all versions of a package, in
	// bytes. Those of a package with a version each night take several MiB.
	maxVersions = 64 << 20
)

// Resolve is a tool of the gate that asks the registry for the version behind
// a tag. When the package names none, that is the newest one which runs on the
// Node of this machine, as npx takes it. It installs nothing; its answer is read
// with [Package.Resolved], to be written into the command, and its text says
// when the newest version is another one.
func (s *Store) Resolve(p Package) sallyport.Tool {
	host := s.npm.Host
	capabilities := sallyport.Capabilities{}
	if p.Registry == PyPI {
		host = s.index.Host
	} else if p.Version == "" {
		capabilities.Process = &sallyport.ProcessCapability{AllowedBinaries: []string{"node"}}
	}
	capabilities.Network = &sallyport.NetworkCapability{AllowedHosts: []string{host}}
	s.needSecret(p.Registry, &capabilities)
	return sallyport.Tool{
		Name: "resolve-package", Toolset: "mcp", OutputIsUntrusted: true, ReadOnly: capabilities.Process == nil,
		Description:  "Asks the registry " + string(p.Registry) + " for the newest version of " + p.Name + ".",
		Revision:     p.String(),
		Capabilities: capabilities,
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			found, why, err := s.resolveVersion(ctx, c, p)
			if err != nil {
				return sallyport.Result{}, err
			}
			r := sallyport.OK(found.String())
			r.Structured = map[string]any{keyVersion: found.Version, keyWhy: why}
			return r, nil
		},
	}
}

// Resolved reads the answer of the tool [Store.Resolve] and returns the package
// with its version.
func (p Package) Resolved(r sallyport.Result) (Package, error) {
	if err := r.Err(); err != nil {
		return Package{}, err
	}
	p.Version, _ = r.Structured[keyVersion].(string)
	return p, p.Check()
}

// WhyVersion reads from the answer of the tool [Store.Resolve] why it is the
// version to take, such as "the newest".
func WhyVersion(r sallyport.Result) string {
	why, _ := r.Structured[keyWhy].(string)
	return why
}

// versionURL returns the URL that a registry answers with a version, from the
// root of npm's and beside the index of PyPI's (PyPI JSON API).
func (s *Store) versionURL(p Package, tag string) string {
	if p.Registry == PyPI {
		return s.index.Scheme + "://" + s.index.Host + "/pypi/" + p.Name + "/json"
	}
	return s.npm.String() + url.PathEscape(p.Name) + "/" + tag
}

// versionAnswer is what registries say of a version: npm at the top, PyPI below info.
type versionAnswer struct {
	Name, Version string
	npmOffer
	Info struct{ Name, Version string }
}

// resolveVersion asks for one version, and says why it is the one to take. What
// the registry says is judged like what an operator writes.
func (s *Store) resolveVersion(ctx context.Context, c *sallyport.Call, p Package) (found Package, why string, err error) {
	tag := cmp.Or(p.Version, newest)
	asked := p
	asked.Version = "0.0.0"
	switch err := asked.Check(); {
	case err != nil:
		return p, "", sallyport.InputInvalid(err.Error())
	case !distTag().MatchString(tag) || p.Registry == PyPI && tag != newest:
		return p, "", sallyport.InputInvalid(fmt.Sprintf("%.80q is no tag of %s: write an exact version", tag, p.Name))
	}
	var is versionAnswer
	if err := s.askRegistry(ctx, c, p, tag, s.versionURL(p, tag), "", maxManifest, &is); err != nil {
		return p, "", err
	}
	if p.Registry == PyPI {
		is.Name, is.Version = pypiSpelling(is.Info.Name), is.Info.Version
	}
	why = "the newest"
	if p.Registry == NPM && p.Version == "" && (is.Engines.Node != "" || is.isDeprecated()) {
		if is.Version, why, err = s.fitNode(ctx, c, p, &is); err != nil {
			return p, "", err
		}
	}
	p.Version = is.Version
	if err := p.Check(); err != nil || is.Name != p.Name {
		return p, "", newFailure(err, "the registry's answer is not about %s, or names no version", p.Name)
	}
	return p, why, nil
}

// fitNode returns the version that npx would take on this machine, given what
// the registry says of the newest.
func (s *Store) fitNode(ctx context.Context, c *sallyport.Call, p Package, is *versionAnswer) (version, why string, err error) {
	node := nodeVersion(ctx, c)
	if is.Engines.runsOn(node) && !is.isDeprecated() {
		return is.Version, "the newest", nil
	}
	var all struct {
		Versions map[string]npmOffer
	}
	// The short form, which npm asks for too.
	const short = "application/vnd.npm.install-v1+json"
	if err := s.askRegistry(ctx, c, p, newest, s.npm.String()+url.PathEscape(p.Name), short, maxVersions, &all); err != nil {
		return "", "", err
	}
	chosen := chooseVersion(all.Versions, node)
	switch {
	case chosen == "" || chosen == is.Version:
		return is.Version, "the newest", nil
	case !is.Engines.runsOn(node):
		return chosen, fmt.Sprintf("the newest that runs on Node %s: %s needs Node %.80s", node, is.Version, is.Engines.Node), nil
	default:
		return chosen, fmt.Sprintf("the newest that is not deprecated: %s is", is.Version), nil
	}
}

// askRegistry reads what the registry says at an address as JSON.
func (s *Store) askRegistry(ctx context.Context, c *sallyport.Call, p Package, tag, address, accept string, most int64, to any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return newFailure(err, "the registry cannot be asked about %s", p.Name)
	}
	who, err := s.readCredential(ctx, c, p.Registry)
	if err != nil {
		return err
	}
	who.signRequest(r)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	res, err := c.Network.Client().Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return newFailure(nil, "the registry has no %s@%s: it answers %s", p.Name, tag, res.Status)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, most)).Decode(to); err != nil {
		return newFailure(err, "the registry's answer about %s cannot be read", p.Name)
	}
	return nil
}
