package sandbox

import (
	"os"

	"github.com/sallyport/sallyport"
)

// ObserveOptions say how a program is observed. The zero value runs it in the
// working directory of this process, with nothing on its standard streams.
type ObserveOptions struct {
	// Workspace is the folder in which the program runs and that the
	// declaration calls ${workspace}; empty means the working directory.
	Workspace string
	// Home is the folder that the declaration calls ${home}; empty means that
	// of the user. The program has a private home, as a confined child does.
	Home string
	// Env is added to the environment of a confined child.
	Env map[string]string
	// Stdin, Stdout and Stderr are given to the program; nil is nothing. The
	// caller closes them.
	Stdin, Stdout, Stderr *os.File
	// AllowPrivate lets the program reach private addresses through the proxy,
	// as allow_private_urls does.
	AllowPrivate bool
	// Network is how the proxy resolves and dials; nil means the system.
	Network *sallyport.NetworkBackend
	// Files brings the deny floor; nil means that of the zero backend.
	Files *sallyport.FileBackend
	// Toolchains are what children are shown; see [Toolchains].
	Toolchains []Toolchain

	// bare stands for a machine without namespaces, in tests.
	bare bool
}

// Observation is what a program was seen to use, and the smallest declaration
// that covers it. It is a report of one run: another run may do something
// else.
type Observation struct {
	// ExitCode is the exit status, 128 plus the signal for a killed program.
	ExitCode int `json:"exit_code"`
	// Interrupted is true when the program was ended from outside.
	Interrupted bool `json:"interrupted,omitempty"`
	// Capabilities is the declaration.
	Capabilities sallyport.Capabilities `json:"capabilities"`
	// AllowPrivate is true when one of the hosts has a private address, which
	// a personality has to allow beside the host.
	AllowPrivate bool `json:"allow_private_urls,omitempty"`
	// Binaries lists the absolute paths of programs that were started, in the
	// order of their first start. Only what the gate starts is declared.
	Binaries []string `json:"binaries,omitempty"`
	// Read lists the paths that were read, outside of what every child has,
	// with links followed, sorted.
	Read []string `json:"read,omitempty"`
	// Written lists what was created, changed or removed in the same way.
	Written []string `json:"written,omitempty"`
	// Missed lists paths that were looked for and could not be opened.
	Missed []string `json:"missed,omitempty"`
	// Hosts lists the hosts that were asked for through the proxy.
	Hosts []sallyport.HostUse `json:"hosts,omitempty"`
	// Withheld is what was used and cannot be declared, with the reason.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Notes says in words what the declaration does not show.
	Notes []string `json:"notes,omitempty"`
	// Unseen says what cannot be observed at all.
	Unseen []string `json:"unseen"`
	// More is true when a list was cut: the declaration may be too small.
	More bool `json:"more,omitempty"`
}

// Withheld is something that a program used and no declaration gives.
type Withheld struct {
	// Kind is read, write, network, socket or binary.
	Kind string `json:"kind"`
	// Item is the path, the address or the host.
	Item string `json:"item"`
	// Why is the reason in words.
	Why string `json:"why"`
	// Floor is true for what no grant reaches.
	Floor bool `json:"floor,omitempty"`
}

// The kinds of [Withheld].
const (
	withheldRead    = "read"
	withheldWrite   = "write"
	withheldNetwork = "network"
	withheldSocket  = "socket"
	withheldBinary  = "binary"
)

// unseen is what no observation shows. The list is part of the answer, so that
// no reader takes the declaration for more than it is.
var unseen = []string{
	"environment variables that were read: secrets are declared by hand",
	"files that were only asked about (stat, readlink, access) and not opened",
	"files that the kernel opens itself: interpreters after #! and loaders",
	"changes through a descriptor that was open for reading (fchmod, fchown, futimens)",
	"what other arguments, inputs or answers would have led to",
}
