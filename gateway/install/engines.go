package install

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/sallyport/sallyport"
)

// engines is what a manifest of npm says about the programs that run it. Old
// manifests have a list or a text there, which npm passes over.
type engines struct{ Node string }

// UnmarshalJSON reads the form that npm reads, and nothing from any other.
func (e *engines) UnmarshalJSON(data []byte) error {
	var form struct {
		Node json.RawMessage `json:"node"`
	}
	if json.Unmarshal(data, &form) == nil {
		_ = json.Unmarshal(form.Node, &e.Node)
	}
	return nil
}

// runsOn reports whether a version of Node satisfies engines. A range that
// cannot be read, and an unknown version, exclude nothing.
func (e engines) runsOn(node string) bool {
	v, err := semver.NewVersion(node)
	if err != nil || strings.TrimSpace(e.Node) == "" {
		return true
	}
	c, err := semver.NewConstraint(e.Node)
	return err != nil || c.Check(v)
}

// npmOffer is what the registry says of one version.
type npmOffer struct {
	Engines    engines
	Deprecated json.RawMessage
}

// isDeprecated reports whether its makers advise against a version: with a text
// that is not empty, or true.
func (v *npmOffer) isDeprecated() bool {
	switch string(bytes.TrimSpace(v.Deprecated)) {
	case "", "null", "false", `""`:
		return false
	default:
		return true
	}
}

// chooseVersion returns the version that npm takes for a name without a version
// where the newest does not run on a Node (npm-pick-manifest): the highest that
// runs there and is not deprecated, else the highest that runs, else none.
func chooseVersion(versions map[string]npmOffer, node string) string {
	var best *semver.Version
	bestDeprecated := false
	for text, is := range versions {
		v, err := semver.StrictNewVersion(text)
		if err != nil || v.Prerelease() != "" || !is.Engines.runsOn(node) {
			continue
		}
		deprecated := is.isDeprecated()
		if best == nil || bestDeprecated && !deprecated || bestDeprecated == deprecated && v.GreaterThan(best) {
			best, bestDeprecated = v, deprecated
		}
	}
	if best == nil {
		return ""
	}
	return best.Original()
}

// nodeVersion asks the node that starts servers for its version. It is empty
// where there is none.
func nodeVersion(ctx context.Context, c *sallyport.Call) string {
	if c.Process == nil {
		return ""
	}
	res, err := c.Process.Spawn(ctx, "node", []string{"--version"}, nil)
	if err != nil || res.ExitCode != 0 {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(string(res.Stdout)), "v")
}
