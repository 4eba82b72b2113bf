package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// ErrQuit is the error for a user who ended the import at a question.
var ErrQuit = errors.New("nothing was changed")

// askServers shows for each server what it would get and asks once whether to take it
// over. A server that the user declines stays with the client. The end of the input,
// and the answer q, end the import. A secret for a host that only a profile names is
// asked about also after the answer a.
func (t *takeOver) askServers(p *serverPlan) error {
	all := false
	for _, s := range p.readyServers() {
		hosts := t.suggested[s.found.Name]
		if all && len(hosts) == 0 {
			continue
		}
		fmt.Fprintf(t.env.Err, "\n%s  (%s)\n", s.name, text.PrintableLine(s.from.At))
		for _, line := range s.describeGrants() {
			fmt.Fprintf(t.env.Err, "  %s\n", text.OneLine(text.PrintableLine(line)))
		}
		if len(hosts) > 0 {
			fmt.Fprintf(t.env.Err, "  note: its secret would go to %s, which your file does not name and what is known of the server does\n", strings.Join(hosts, ", "))
		}
		answer, ok := t.env.Ask(fmt.Sprintf("bring %s in with these grants? [y]es, [n]o, [a]ll from here on, [q]uit:", s.name))
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
		case "a", "all":
			all = true
		default:
			if !ok || strings.HasPrefix(strings.ToLower(answer), "q") {
				return ErrQuit
			}
			t.leaveServer(s, "you said no: its calls do not pass the gate")
		}
	}
	return nil
}

// suggestHosts has a server that only lacks hosts for its secrets planned with those that
// a profile names. The user is asked about them.
func (t *takeOver) suggestHosts(s *plannedServer) bool {
	if _, again := t.suggested[s.found.Name]; t.asked || again || len(s.suggested) == 0 {
		return false
	}
	t.suggested[s.found.Name] = s.suggested
	for _, host := range s.suggested {
		t.options.Hosts = append(t.options.Hosts, s.name+"="+host)
	}
	return true
}

// describeGrants says what a server is and what it may touch, one matter on a line.
func (p *plannedServer) describeGrants() (lines []string) {
	add := func(what string, list []string) {
		if len(list) > 0 {
			lines = append(lines, what+" "+strings.Join(list, ", "))
		}
	}
	if p.entry.URL != "" {
		add("is at", []string{p.entry.URL})
	} else {
		add("starts", []string{strings.Join(p.entry.Command, " ")})
	}
	c := &p.entry.Capabilities
	if c.FSReach != nil {
		add("reads", c.FSReach.Read.Paths)
		add("writes", c.FSReach.Write.Paths)
	}
	if c.Network != nil {
		add("reaches", c.Network.AllowedHosts)
	}
	if c.Process != nil {
		add("runs", c.Process.AllowedBinaries)
	}
	for _, name := range slices.Sorted(maps.Keys(p.entry.SecretEnv)) {
		s := p.entry.SecretEnv[name]
		add("secret", []string{name + ", sent to " + strings.Join(s.Hosts, ", ")})
	}
	for _, name := range slices.Sorted(maps.Keys(p.entry.Headers)) {
		if _, secret := p.entry.Headers[name].(secretHeader); secret {
			add("secret", []string{"the header " + name})
		}
	}
	if c.Empty() && len(p.entry.SecretEnv) == 0 && p.entry.URL == "" {
		lines = append(lines, "touches nothing but itself")
	}
	for _, note := range p.notes {
		lines = append(lines, "note: "+note)
	}
	return lines
}
