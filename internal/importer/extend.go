package importer

import (
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamledit"
)

// extendText returns the text of the configuration with the servers and the
// personality added.
func (i *clientImport) extendText(p *serverPlan, content string) (string, error) {
	var err error
	add := func(path []string, lines []string) {
		if err == nil && len(lines) > 0 {
			content, err = yamledit.Insert(content, path, lines)
		}
	}
	add([]string{"packages"}, p.renderRegistries())
	for _, s := range p.readyServers() {
		lines, lineErr := s.renderServer()
		if lineErr != nil {
			return "", lineErr
		}
		add([]string{"mcp_servers"}, append([]string{"# Imported from " + text.PrintableLine(s.from.At)}, lines...))
	}
	old, there := i.config.Personalities[p.role]
	if !there {
		add([]string{"personalities"}, p.renderPersonality(i.config.Version))
		return content, err
	}
	role := []string{"personalities", p.role}
	add(append(role, "mcp_servers"), renderItems("", withoutItems(p.grantedServers(), old.MCPServers)))
	var reads, writes []string
	if old.FSReach != nil {
		reads, writes = old.FSReach.Read, old.FSReach.Write
	}
	if old.DeclarationsStand && reads == nil && writes == nil {
		return content, err // a list would bound the servers that the role has already
	}
	list := func(key string) []string {
		return append(slices.Clone(role), strings.Split(group.SpellKey(old, key), ".")...)
	}
	add(list("fs_reach.read"), renderItems("", withoutItems(p.readPaths(), reads)))
	add(list("fs_reach.write"), renderItems("", withoutItems(p.writePaths(), writes)))
	return content, err
}
