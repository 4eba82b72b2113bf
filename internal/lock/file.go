// Package lock remembers what upstream MCP servers offered when an operator
// reviewed it, and says what has changed since.
//
// Start with [Take], which turns the [Offer] of a server into a [Server] as a
// [File] holds it; [Load] and [File.Save] keep the file, sallyport.lock.
// [Diff] lists the changes between two files with their severities,
// [File.Approve] pins exactly what a digest names, and [File.CheckDefinition] tells at
// run time whether a definition is the pinned one. [MapName] gives upstream
// tools their names, [Conflicts] finds names that are taken for one another.
//
// Digests are those of what the server sent, before anything is cleaned: two
// definitions with one digest are equal as JSON values. What the file shows is
// the cleaned text; where cleaning took something away, the digest of the
// original stands beside it, so that a difference that cannot be seen is a change
// like any other.
//
// The package decides nothing about calls and starts nothing. It does not
// judge what a text says: who approves a definition has read it.
package lock

import (
	"encoding/json"

	"github.com/sallyport/sallyport"
)

// Version is the version of the file's format.
const Version = 1

// Transport is how a server is reached.
type Transport string

// The transports.
const (
	// TransportStdio is a child process.
	TransportStdio Transport = "stdio"
	// TransportHTTP is streamable HTTP.
	TransportHTTP Transport = "http"
	// TransportSSE is the older HTTP transport with server-sent events.
	TransportSSE Transport = "sse"
	// TransportModule is a WebAssembly module in this process: a plugin.
	TransportModule Transport = "wasm"
)

// Valid reports whether t is one of the transports.
func (t Transport) Valid() bool {
	return t == TransportStdio || t == TransportHTTP || t == TransportSSE || t == TransportModule
}

// Kind says what a definition defines.
type Kind string

// The kinds.
const (
	// KindServer is the server itself: how it is started and who it says it
	// is.
	KindServer Kind = "server"
	// KindTool is a tool, by its name.
	KindTool Kind = "tool"
	// KindResource is a resource, by its URI.
	KindResource Kind = "resource"
	// KindTemplate is a resource template, by its URI template.
	KindTemplate Kind = "template"
	// KindPrompt is a prompt, by its name.
	KindPrompt Kind = "prompt"
)

// Key is the field of a definition that names it, letter by letter.
func (k Kind) Key() string {
	switch k {
	case KindResource:
		return "uri"
	case KindTemplate:
		return "uriTemplate"
	default:
		return "name"
	}
}

// File is everything that is pinned. A nil *File pins nothing. Methods do not
// change it; it may be read from many goroutines.
type File struct {
	// Servers maps the configured names of servers to what is pinned.
	Servers map[string]Server
}

// Server is what is pinned of one server.
type Server struct {
	Launch
	// Identity is what the server said about itself, with its instructions;
	// nil when it was never asked.
	Identity *Pin `json:"identity,omitempty"`
	// Tools maps upstream names to definitions.
	Tools map[string]Pin `json:"tools,omitempty"`
	// Resources maps URIs to definitions.
	Resources map[string]Pin `json:"resources,omitempty"`
	// Templates maps URI templates to definitions.
	Templates map[string]Pin `json:"templates,omitempty"`
	// Prompts maps names to definitions.
	Prompts map[string]Pin `json:"prompts,omitempty"`
}

// PinsOf returns the definitions of one kind, by their names. They must not be changed.
func (s *Server) PinsOf(k Kind) map[string]Pin { return *s.pinsOf(k) }

// pinsOf returns the place of the definitions of one kind.
func (s *Server) pinsOf(k Kind) *map[string]Pin {
	switch k {
	case KindTool:
		return &s.Tools
	case KindResource:
		return &s.Resources
	case KindTemplate:
		return &s.Templates
	case KindPrompt:
		return &s.Prompts
	default:
		return new(map[string]Pin)
	}
}

// offered are the kinds of definitions that a server lists.
var offered = [...]Kind{KindTool, KindResource, KindTemplate, KindPrompt}

// Launch is how a server is started or reached, and what it may then touch.
type Launch struct {
	// Transport says which of the other fields count.
	Transport Transport `json:"transport"`
	// Command is the argument vector, the program first.
	Command []string `json:"command,omitempty"`
	// Binary is the file that runs: what Command[0] was resolved to, of a
	// package the interpreter of its program.
	Binary *Binary `json:"binary,omitempty"`
	// Programs are the scripts that Command names, a set.
	Programs []Binary `json:"programs,omitempty"`
	// Dir is the working directory; empty means the workspace.
	Dir string `json:"cwd,omitempty"`
	// Package is what a package launcher installed; nil without one.
	Package *Package `json:"package,omitempty"`
	// URL is where a remote server is.
	URL string `json:"url,omitempty"`
	// Env lists the names of the environment variables that the server gets;
	// values are never kept.
	Env []string `json:"env,omitempty"`
	// Capabilities is the effective declaration. Its lists are sets.
	Capabilities sallyport.Capabilities `json:"capabilities"`
	// FilesStand says that some role that lists the server has no list for files,
	// so that the declared ones stand. Without it a role's list bounds them.
	FilesStand bool `json:"files_stand,omitempty"`
}

// Binary is a file that runs.
type Binary struct {
	// Path is absolute, links followed.
	Path string `json:"path"`
	// SHA256 is the digest of the content, 64 hexadecimal digits.
	SHA256 string `json:"sha256"`
}

// Package is an installed package.
type Package struct {
	// Registry is where it came from, such as "npm" or "pypi".
	Registry string `json:"registry"`
	// Source is the URL of the registry when it is not the public one.
	Source string `json:"source,omitempty"`
	// Name is the package's name there.
	Name string `json:"name"`
	// Version is exact.
	Version string `json:"version"`
	// Integrity is the registry's digest of the package itself, with its
	// algorithm in front, such as "sha512-…".
	Integrity string `json:"integrity"`
	// SHA256 is the digest of every file that was installed, what the package
	// needs included, 64 hexadecimal digits.
	SHA256 string `json:"sha256"`
	// Before is when what the package needs was chosen, RFC 3339: another machine
	// chooses among what there was then. It decides nothing, since SHA256 does, and
	// is part of no digest.
	Before string `json:"before,omitempty"`
	// Command runs the program of the package, arguments not included. A word
	// in its folder begins with [PackageFolder].
	Command []string `json:"command"`
}

// PackageFolder stands in [Package.Command] for the folder of the installed
// copy, which is another one on every machine.
const PackageFolder = "${package}/"

// Pin is one pinned definition.
type Pin struct {
	// Name is the mapped name of a tool; empty for other kinds.
	Name string `json:"name,omitempty"`
	// SHA256 is the digest of the definition as the server sent it, in
	// canonical JSON.
	SHA256 string `json:"sha256"`
	// Hidden maps the fields from which cleaning took something away to the
	// digest of the original value. Nil when nothing was taken: then
	// Definition is what the server sent.
	Hidden map[string]string `json:"hidden,omitempty"`
	// Definition is the cleaned definition in canonical JSON, every field of
	// it. Read only.
	Definition json.RawMessage `json:"definition"`
}
