package profiles

import (
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// checkCapabilities refuses what a declaration of a server refuses.
func (p *Profile) checkCapabilities(f *faults) {
	c := &p.Capabilities
	for _, name := range group.Unusable(c, "network", "fs_reach", "process") {
		f.add("capabilities: a profile cannot propose %s", name)
	}
	if c.Network != nil {
		patterns, err := reach.ParseHosts(c.Network.AllowedHosts)
		if err != nil {
			f.add("capabilities: %w", err)
		}
		if slices.ContainsFunc(patterns, reach.HostPattern.Any) {
			f.add("capabilities: a profile names its hosts")
		}
	}
	if fs := c.FSReach; fs != nil {
		for _, path := range slices.Concat(fs.Read.Paths, fs.Write.Paths) {
			if path != State && !strings.HasPrefix(path, State+"/") {
				f.add("capabilities: %q is not below %s: arguments and variables name other paths", path, State)
			}
		}
		if fs.Read.FromPersonality || fs.Write.FromPersonality || fs.Mode != "" {
			f.add("capabilities: a profile names paths and nothing else")
		}
	}
	if p.Cwd != "" && (p.Cwd != State || c.FSReach == nil || !slices.Contains(c.FSReach.Write.Paths, State)) {
		f.add("cwd: %q is not %s, below which the server may write", p.Cwd, State)
	}
	if c.Process != nil {
		for _, name := range c.Process.AllowedBinaries {
			if b, err := reach.ParseBinary(name); err != nil || b == reach.AnyBinary {
				f.add("capabilities: %q is no name of a binary", name)
			}
		}
		if len(c.Process.ExecFrom) > 0 {
			f.add("capabilities: a profile cannot propose execFrom")
		}
	}
}
