package sallyport

import (
	"strings"
	"time"
)

// Personality is the ceiling that an operator sets for one role of an agent.
// It is immutable once it is handed to a registry.
type Personality struct {
	// Name identifies the role.
	Name string
	// Description is for people.
	Description string
	// Toolset lists built-in tools by name, or by label as "@file". nil
	// means all of them, an empty list none.
	Toolset []string
	// MCPServers lists the upstream servers whose tools are visible; nil and
	// empty mean none.
	MCPServers []string
	// Plugins lists the plugins whose tools are visible; nil and empty mean
	// none.
	Plugins []string
	// FSReach is the file ceiling; nil reaches nothing.
	FSReach *Reach
	// Network is the network ceiling; nil means that declared hosts stand
	// and "*" gives nothing.
	Network *NetworkPolicy
	// Secrets is the ceiling of secret references; nil means that the
	// declaration stands, an empty list nothing.
	Secrets []string
	// Process is the ceiling of binaries; nil means that the declaration
	// stands, an empty list nothing.
	Process []string
	// Input is the ceiling of whom tools may ask behind their caller; nil
	// means that the declaration stands, an empty list nobody.
	Input []InputKind
	// Approvals says what a human decides; nil means nothing.
	Approvals *Approvals
	// Flow says what becomes of calls after what the conversation has read;
	// the zero value has the default rule.
	Flow Flow
	// Sources maps a key below this personality, such as
	// "safety.network.allow", to the place of its definition as
	// file:line:column. It may be nil.
	Sources map[string]string
}

// Reach is the file ceiling of a personality: absolute paths.
type Reach struct {
	// Read lists what may be read.
	Read []string
	// Write lists what may be written.
	Write []string
	// Mode is how writes of child processes reach the disk: with FSOverlay
	// those of every tool go to a private layer first. Empty means what the
	// tool declares.
	Mode FSMode
}

// NetworkPolicy is the network ceiling of a personality.
type NetworkPolicy struct {
	// Allow lists host patterns; nil means that there is no list, an empty
	// list allows nothing. "*" allows any public host.
	Allow []string
	// Deny lists host patterns that beat Allow.
	Deny []string
	// AllowPrivate lifts loopback, RFC 1918 and unique-local addresses.
	// Metadata and link-local addresses stay refused.
	AllowPrivate bool
}

// Approvals says which tools a human decides about.
type Approvals struct {
	// Require lists tools by name.
	Require []string
	// Wait is how long a call waits for the decision.
	Wait time.Duration
	// Expires is how long a request may be decided and its decision used; 0
	// means the default of the runtime.
	Expires time.Duration
	// OperatorOnly keeps the decision from the person behind the client that
	// called: an edge that could ask them does not.
	OperatorOnly bool
}

// Source returns where a key was defined, the nearest parent's place when the
// key itself has none, and "" when nothing is known. Keys are dotted.
func (p *Personality) Source(key string) string {
	if p == nil {
		return ""
	}
	for {
		if s, ok := p.Sources[key]; ok {
			return s
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return p.Sources[""]
		}
		key = key[:i]
	}
}
