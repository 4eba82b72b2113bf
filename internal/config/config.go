package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// FileName is the name of the configuration file in a folder.
const FileName = "sallyport.yaml"

// DefaultPersonality is the name of the personality that a call gets when it names
// none, and of the implicit one.
const DefaultPersonality = "default"

var _ sallyport.Personalities = (*Config)(nil)

// Config is what the files of a configuration say. It is immutable; a reload
// makes another one. It is safe for concurrent use.
type Config struct {
	// Files lists the files that were read, absolute; empty after Parse.
	Files []string
	// Dir is the absolute folder of the first file.
	Dir string
	// Version is the version of the format of the first file, 1 or 2.
	Version int
	// Workspace is the absolute folder at which relative paths are anchored.
	Workspace string
	// State is where state lives.
	State State
	// Secrets lists the secret backends in order. nil means that the key is
	// absent, an empty list that it is [].
	Secrets []SecretBackend
	// Sandbox says how child processes are confined.
	Sandbox Sandbox
	// Packages says where packages come from.
	Packages Packages
	// Limits is LimitsState or LimitsMemory.
	Limits string
	// Principals holds who may call, by name. It may have [sallyport.LocalPrincipal],
	// which has no token; nil means that no file has principals.
	Principals map[string]Principal
	// Security says how callers are known and what all of them may do.
	Security Security
	// Log says what serve writes to standard error.
	Log Log
	// Metrics says who may read the metrics of serve beside principals with the
	// permission.
	Metrics Metrics
	// Audit says where parts of the record go.
	Audit Audit
	// Telemetry says where serve sends traces and metrics; nil means nowhere.
	Telemetry *Telemetry
	// TLS says how serve encrypts; nil means that it does not.
	TLS *TLS
	// Databases holds the connections by name.
	Databases map[string]Database
	// Mail holds the relays by name.
	Mail map[string]Relay
	// Notices holds who learns of held calls, by name.
	Notices map[string]Notice
	// PageURL is the address by which people reach the page, without a final slash;
	// empty means that of the server.
	PageURL string
	// Skills is the absolute folder whose texts the built-in get_skill gives; empty
	// means none.
	Skills string
	// Task is what the built-in task hands work to.
	Task Task
	// Search is the search service of the built-in web_search.
	Search Search
	// Known holds the sets of values that ceilings over arguments name.
	Known map[string]KnownSet
	// Actions lists the tools that the files declare, in the order of the
	// files.
	Actions []Part
	// Servers lists the upstream servers that the files declare, by name.
	Servers []Part
	// Plugins lists the plugins that the files declare, by name.
	Plugins []Part
	// Personalities holds the roles by name, at least one.
	Personalities map[string]*sallyport.Personality
	// Implicit is true when no file has personalities. Personalities then
	// holds one named "default" with nothing set: all tools that need no
	// reach, no files, no network ceiling.
	Implicit bool
	// Digest is the SHA-256 of the file in hexadecimal; for several files
	// that of their binary digests in order.
	Digest string

	// budgets holds what may be spent, by "principals.NAME" and "personalities.NAME".
	budgets map[string]costs.Budget
	// approvers holds who may decide about held calls.
	approvers map[approverRule]approvals.Approvers

	// first is the first file, places holds where each key stands.
	first  *file
	home   string
	places map[string]filePosition
}

// StateKind names a kind of state store.
type StateKind string

// The kinds.
const (
	// StateSQLite is a SQLite file.
	StateSQLite StateKind = "sqlite"
	// StateMemory is the memory of the process.
	StateMemory StateKind = "memory"
)

// Where the counters of rate limits live.
const (
	// LimitsState keeps them in the state, where every process that uses it
	// shares them.
	LimitsState = "state"
	// LimitsMemory keeps them in the memory of each process.
	LimitsMemory = "memory"
)

// State is where state lives.
type State struct {
	// Kind is the kind of store.
	Kind StateKind
	// Path is the absolute path of the file; empty when the state ends with
	// the process.
	Path string
}

// SecretBackend is one source of secret values: exactly one field is set.
type SecretBackend struct {
	// EnvPrefix is the prefix of environment variables.
	EnvPrefix string
	// Dir is the absolute folder with one file per reference.
	Dir string
	// File is the absolute path of an encrypted file.
	File string
	// Keychain is the service name of items in the system's keychain.
	Keychain string
	// Exec is the absolute path of a program that prints a value, and its
	// arguments.
	Exec []string
}

// Path returns the folder or file of the backend, which no tool may reach; empty
// when it has none.
func (b *SecretBackend) Path() string { return cmp.Or(b.Dir, b.File) }

// Personality finds a personality by name; ok is false when there is none.
func (c *Config) Personality(name string) (p *sallyport.Personality, ok bool) {
	p, ok = c.Personalities[name]
	return p, ok
}

// Names returns the sorted names of the personalities. The caller owns the
// slice.
func (c *Config) Names() []string {
	return slices.Sorted(maps.Keys(c.Personalities))
}

// Choose returns the personality of that name; for an empty name the only
// one, else the one named "default". The error lists the names.
func (c *Config) Choose(name string) (*sallyport.Personality, error) {
	names := c.Names()
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	if name == "" {
		name = DefaultPersonality
		if _, ok := c.Personalities[name]; !ok {
			return nil, fmt.Errorf("no personality is chosen and none is named %q: name one with --personality: %s", name, yamldoc.OneOf(names))
		}
	}
	if p, ok := c.Personalities[name]; ok {
		return p, nil
	}
	text := "no personality " + yamldoc.Quote(name)
	if near := yamldoc.Suggest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, errors.New(text + ": expected " + yamldoc.OneOf(names))
}

// Source returns the place of a full dotted key, such as "state" or
// "personalities.ops.toolset.0", as file:line:column. It is empty when the
// key is in no file.
func (c *Config) Source(key string) string {
	if p, ok := c.places[key]; ok {
		return p.String()
	}
	return ""
}

// Fault returns a fault at a key of a personality, such as "toolset", for
// checks that need more than the files. An index of 0 or more means that
// element of a list. An empty personality means a key of the top level. A key
// that is in no file is placed at its nearest parent, else at the top of the
// first file.
func (c *Config) Fault(personality, key string, index int, message string) yamldoc.Fault {
	full := key
	if personality != "" {
		full = "personalities." + personality
		if key != "" {
			full += "." + group.SpellKey(c.Personalities[personality], key)
		}
	}
	if index >= 0 {
		full += "." + strconv.Itoa(index)
	}
	for k := full; k != ""; k, _ = splitKey(k) {
		if p, ok := c.places[k]; ok {
			return p.newFault(full, message)
		}
	}
	return filePosition{c.first, yamldoc.Position{Line: 1, Column: 1}}.newFault(full, message)
}
