package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/profiles"
	"github.com/sallyport/sallyport/internal/reach"
)

// proposeReach proposes what a server may touch: read access to the folders and files
// that its arguments name, the hosts that a flag names, and nothing else.
func (i *clientImport) proposeReach(p *plannedServer) {
	var reads []string
	add := func(path string) {
		if !slices.Contains(reads, path) {
			reads = append(reads, path)
		}
	}
	if p.entry.Cwd != "" {
		add(p.entry.Cwd)
	}
	for k, arg := range p.entry.Command {
		_, path, ok := strings.Cut(arg, "=")
		if !ok || !strings.HasPrefix(arg, "-") {
			path = arg
		}
		info, err := os.Stat(path)
		if k == 0 || !filepath.IsAbs(path) || err != nil || slices.Contains(profiles.Browsers, path) {
			continue
		}
		if info.Mode().IsRegular() && filepath.Ext(path) != "" && k == 1 {
			path = findProgramFolder(path)
			p.guessedFolder = path
		}
		add(filepath.Clean(path))
	}
	c := &p.entry.Capabilities
	if len(reads) > 0 {
		c.FSReach = &sallyport.FSCapability{Read: sallyport.Paths(reads...)}
	}
	if hosts := p.flagValues(i.hosts); len(hosts) > 0 {
		if p.entry.URL != "" {
			if p.replaced {
				return
			}
			p.addNote("--host is not needed: the url grants its host")
			return
		}
		c.Network = &sallyport.NetworkCapability{AllowedHosts: hosts}
	}
}

// manifestNames lists the files that mark the folder of a program.
var manifestNames = []string{"package.json", "pyproject.toml", "requirements.txt", "Gemfile", "composer.json"}

// findProgramFolder returns the folder from which a script loads the rest of its
// program: the folder in which npm puts a package beside those it needs, the
// nearest folder with a manifest, or else its own folder.
func findProgramFolder(script string) string {
	const packages = "/node_modules"
	if above, _, ok := strings.Cut(script, packages+"/"); ok {
		return above + packages
	}
	for dir := filepath.Dir(script); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		for _, name := range manifestNames {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return dir
			}
		}
	}
	return filepath.Dir(script)
}

// noteProposal describes the origin of the proposed capabilities of a program.
func (p *plannedServer) noteProposal(home string) {
	c := &p.entry.Capabilities
	switch {
	case p.entry.URL != "" || p.observed:
		return
	case p.profile != nil:
		p.addNote("proposed: what the profile %s says that it needs", p.profile.Name)
	case c.Empty():
		p.addNote("capabilities are empty: the server may touch nothing until you name what it needs")
	case c.FSReach != nil:
		p.addNote("proposed: read access to what its arguments name, and no write access")
	}
	if c.FSReach == nil {
		return
	}
	for _, path := range c.FSReach.Read.Paths {
		if reach.Within(path, home) {
			p.addNote("%s holds far more than one server needs: name the folders that it needs instead", path)
		}
	}
}
