package importer

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/internal/profiles"
	"github.com/sallyport/sallyport/internal/text"
)

// reportedServer is a server as `import --json` reports it.
type reportedServer struct {
	Name        string         `json:"name"`
	Client      string         `json:"client_name,omitempty"`
	At          string         `json:"at"`
	State       serverState    `json:"state"`
	Why         []string       `json:"why,omitempty"`
	Notes       []string       `json:"notes,omitempty"`
	Secrets     []neededSecret `json:"secrets,omitempty"`
	Declaration *serverEntry   `json:"declaration,omitempty"`
	// Profile names what is known of the server, Proof is a first call of it.
	Profile string          `json:"profile,omitempty"`
	Proof   *profiles.Proof `json:"proof,omitempty"`
}

// planReport is the JSON answer of import.
type planReport struct {
	Client      string           `json:"client"`
	Personality string           `json:"personality"`
	Servers     []reportedServer `json:"servers"`
	// Registries and Remarks are about all servers.
	Registries []ownRegistry `json:"registries,omitempty"`
	Remarks    []string      `json:"remarks,omitempty"`
	// Config is the complete configuration text. It is empty after a write.
	Config string `json:"config,omitempty"`
	// Wrote and Copies list what a write changed.
	Wrote  []string `json:"wrote,omitempty"`
	Copies []string `json:"copies,omitempty"`
	// copied maps what was written to its copy.
	copied map[string]string
}

func (i *clientImport) newReport(p *serverPlan) *planReport {
	r := &planReport{Client: i.client.Name, Personality: p.role, Servers: []reportedServer{}, Registries: p.registries, Remarks: p.remarks}
	for _, s := range p.servers {
		one := reportedServer{Name: s.name, At: s.from.At, State: s.state, Why: s.why, Notes: s.notes, Secrets: s.secrets}
		if s.from.Name != s.name {
			one.Client = text.PrintableLine(s.from.Name)
		}
		if s.profile != nil {
			one.Profile, one.Proof = s.profile.Name, s.profile.Proof
		}
		if s.state == stateReady {
			one.Declaration = &s.entry
		}
		r.Servers = append(r.Servers, one)
	}
	return r
}

// summarizeStates counts the servers by their outcome.
func (p *serverPlan) summarizeStates() string {
	parts := []string{}
	for _, s := range []struct {
		state serverState
		text  string
	}{
		{stateReady, "ready"},
		{stateDeclared, "declared already"},
		{stateLeft, "left with the client"},
		{stateBlocked, "blocked"},
	} {
		if n := p.countState(s.state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.text))
		}
	}
	if len(parts) == 0 {
		return "no servers but this one"
	}
	return "servers: " + strings.Join(parts, ", ")
}
