package install

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"

	"github.com/sallyport/sallyport"
)

// distTag is a tag of a registry, such as latest: no version and no range.
var distTag = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9.-]*$`)

// newest is the tag of the newest version.
const newest = "latest"

// Resolve is a tool of the gate that asks the registry for the version behind
// a tag, latest when the package names none. It installs nothing; its answer
// is read with [Package.Resolved], to be written into the command.
func (s *Store) Resolve(p Package) sallyport.Tool {
	host := s.npm.Host
	if p.Registry == PyPI {
		host = s.index.Host
	}
	return sallyport.Tool{
		Name: "resolve-package", Toolset: "mcp", OutputIsUntrusted: true, ReadOnly: true,
		Description:  "Asks the registry " + string(p.Registry) + " for the newest version of " + p.Name + ".",
		Revision:     p.String(),
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{host}}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			found, err := s.resolveVersion(ctx, c, p)
			if err != nil {
				return sallyport.Result{}, err
			}
			r := sallyport.OK(found.String())
			r.Structured = map[string]any{keyVersion: found.Version}
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
	Info          struct{ Name, Version string }
}

// resolveVersion asks for one version. What the registry says is judged like what an
// operator writes.
func (s *Store) resolveVersion(ctx context.Context, c *sallyport.Call, p Package) (Package, error) {
	tag := cmp.Or(p.Version, newest)
	asked := p
	asked.Version = "0.0.0"
	switch err := asked.Check(); {
	case err != nil:
		return p, sallyport.InputInvalid(err.Error())
	case !distTag.MatchString(tag) || p.Registry == PyPI && tag != newest:
		return p, sallyport.InputInvalid(fmt.Sprintf("%.80q is no tag of %s: write an exact version", tag, p.Name))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.versionURL(p, tag), nil)
	if err != nil {
		return p, newFailure(err, "the registry cannot be asked about %s", p.Name)
	}
	res, err := c.Network.Client().Do(r)
	if err != nil {
		return p, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return p, newFailure(nil, "the registry has no %s@%s: it answers %s", p.Name, tag, res.Status)
	}
	var is versionAnswer
	if err := json.NewDecoder(io.LimitReader(res.Body, maxManifest)).Decode(&is); err != nil {
		return p, newFailure(err, "the registry's answer about %s cannot be read", p.Name)
	}
	if p.Registry == PyPI {
		is.Name, is.Version = pypiSpelling(is.Info.Name), is.Info.Version
	}
	p.Version = is.Version
	if err := p.Check(); err != nil || is.Name != p.Name {
		return p, newFailure(err, "the registry's answer is not about %s, or names no version", p.Name)
	}
	return p, nil
}
