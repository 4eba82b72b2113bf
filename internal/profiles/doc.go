// Package profiles knows MCP servers that people use: how client files start
// them, what they need, and which of their values are secrets. Each server is
// one file below data.
//
// Start with [Of], which finds the profile of a package, and [OfImage] and
// [OfURL] for containers and remote servers. [All] lists them.
//
// A profile is a proposal of this program and grants nothing by itself: an
// import shows it, and the user or the configuration decides. The package
// promises that every profile was read strictly: an unknown key, a host or a
// variable that a declaration would refuse, or a second profile for the same
// server is an error, which a test finds. It starts nothing and reaches no
// network.
package profiles

import (
	"encoding/json"
	"os"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
)

// Variables that texts of a profile may begin with. A declaration knows
// ${workspace} too, which stays as it is.
const (
	// State is the server's own folder, which exists and may be written.
	State = "${state}"
	// Chromium is the browser of [BrowserPackage] on this machine.
	Chromium = "${chromium}"
)

// BrowserPackage is the Debian package of the browser that servers drive.
const BrowserPackage = "chromium-headless-shell"

// Browsers lists where [BrowserPackage] puts its program.
var Browsers = []string{"/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium-headless-shell"}

// FindBrowser returns the program of [BrowserPackage] on this machine; empty where there is
// none.
func FindBrowser() string {
	for _, path := range Browsers {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// Profile is what is known of one server.
type Profile struct {
	// Name is the name of the profile's file, such as memory.
	Name string `json:"-"`
	// Title says what the server is, in a few words.
	Title string `json:"title"`
	// Match says how client files name the server.
	Match Match `json:"match"`
	// Instead is what is declared in place of an image or a package of Match;
	// nil means the first package of Match, or the package as it stands.
	Instead *Launch `json:"instead"`
	// Version is the version that is taken in place of the newest, whose reason
	// is a remark; empty means the newest.
	Version string `json:"version"`
	// Capabilities is the declaration that is proposed. Its paths may begin with
	// [State] or ${workspace}.
	Capabilities sallyport.Capabilities `json:"capabilities"`
	// Cwd is [State] for a server that writes files by relative names, which would be
	// lost in a folder of the child's own. Empty leaves the choice to the gate.
	Cwd string `json:"cwd"`
	// Env holds the variables that are known, by name.
	Env map[string]Variable `json:"env"`
	// Arguments says what the arguments of the server mean.
	Arguments Arguments `json:"arguments"`
	// Effects says what the tools of the package that [Profile.Launch] names do, by the
	// server's names of them. A tool that is not known to do what it could say stays out:
	// it counts by what it may touch.
	Effects map[string]definition.ToolEffects `json:"effects"`
	// Beside lists Debian packages that the server needs on the machine.
	Beside []string `json:"beside"`
	// Proof is a first call that shows that the server works; nil means that
	// listing its tools has to do.
	Proof *Proof `json:"proof"`
	// Refused says why the server cannot run behind a gate, and what to do;
	// empty when it can.
	Refused string `json:"refused"`
	// Remote is the server's remote form; nil when none is known.
	Remote *Remote `json:"remote"`
	// Remarks tell the user what else matters about the program.
	Remarks []string `json:"remarks"`
}

// Match says how client files name a server. At least one list has an item.
type Match struct {
	// NPM lists names of packages of npm.
	NPM []string `json:"npm"`
	// PyPI lists names of packages of the Python Package Index.
	PyPI []string `json:"pypi"`
	// Images lists names of container images without tag and digest.
	Images []string `json:"images"`
	// URLs lists remote addresses without query. An address matches one with the
	// same host and port whose path is the same or below it.
	URLs []string `json:"urls"`
}

// Launch is how a server starts. It has exactly one of NPM, PyPI and URL.
type Launch struct {
	// NPM is the name of a package of npm.
	NPM string `json:"npm"`
	// PyPI is the name of a package of the Python Package Index.
	PyPI string `json:"pypi"`
	// URL is a remote address.
	URL string `json:"url"`
	// Bearer is the variable whose value is sent to the URL behind "Bearer ".
	Bearer string `json:"bearer"`
}

// Access is what a server does with the paths that its arguments or a variable
// name.
type Access string

const (
	// Read is reading.
	Read Access = "read"
	// Write is reading and writing.
	Write Access = "write"
)

// Variable says what an environment variable of a server is. Exactly one field
// is set.
type Variable struct {
	// Secret says that its value is never copied.
	Secret bool `json:"secret"`
	// Plain says that its value says nothing that is secret.
	Plain bool `json:"plain"`
	// Host says that its value is an address which the server reaches.
	Host bool `json:"host"`
	// Database says that its value is the address of a database. A login in it
	// cannot be kept from the server.
	Database bool `json:"database"`
	// Path says that its value is a path, and what the server does there.
	Path Access `json:"path"`
	// Set is the value when the client gives none; it may begin with [Chromium].
	Set string `json:"set"`
	// State is a file below [State] to which the variable is always set; "."
	// is the folder itself.
	State string `json:"state"`
}

// Arguments says what the arguments of a server mean.
type Arguments struct {
	// Paths is what the server does with the files and folders that are named;
	// empty means [Read].
	Paths Access `json:"paths"`
	// Add lists options that are added where the client has none of that name.
	// Each is one word; the text behind a = may begin with [Chromium].
	Add []string `json:"add"`
	// Secrets maps an option whose value is a secret to the variable that says
	// the same.
	Secrets map[string]string `json:"secrets"`
	// SecretAdvice says what to do when another argument, or the address of a
	// database, holds a secret.
	SecretAdvice string `json:"secret_advice"`
}

// Proof is a call that changes nothing outside of the server's own state.
type Proof struct {
	// Tool is the server's name of the tool.
	Tool string `json:"tool"`
	// Arguments are the arguments, an object.
	Arguments json.RawMessage `json:"arguments"`
}

// Login is how a remote server knows its user.
type Login string

const (
	// LoginNone: it does not.
	LoginNone Login = "none"
	// LoginOAuth: it wants a login of OAuth.
	LoginOAuth Login = "oauth"
	// LoginToken: it wants a token in a header.
	LoginToken Login = "token"
)

// Remote is the remote form of a server. No remote server was tried.
type Remote struct {
	// URL is its address.
	URL string `json:"url"`
	// Login is how it knows its user.
	Login Login `json:"login"`
	// Remarks tell the user what else matters about it.
	Remarks []string `json:"remarks"`
}
