package sallyport

import (
	"context"
	"io"
	"time"
)

// ProcessCapability declares binaries.
type ProcessCapability struct {
	// AllowedBinaries lists names on the fixed search path, or "*" for any of
	// them.
	AllowedBinaries []string `json:"allowedBinaries"`
	// ExecFrom lists writable paths whose files may also be executed; empty
	// means none.
	ExecFrom []string `json:"execFrom,omitempty"`
	// Programs lists absolute paths that children may read and execute in
	// addition to the personality's file reach: files that the operator's
	// configuration names as what runs, such as the script of an interpreter,
	// and installed packages, which are folders directly in
	// [FileBackend.Packages]. The tool itself gains nothing. The field has no
	// spelling: code sets it. A path that the tool may write is refused.
	Programs []string `json:"-"`
}

// ProcessGrant is the resolved process reach of a call.
type ProcessGrant struct {
	// Binaries lists names; "*" means any on the fixed search path.
	Binaries []string `json:"binaries,omitempty"`
	// ExecFrom lists writable paths whose files may be executed.
	ExecFrom []string `json:"execFrom,omitempty"`
	// Programs lists files and installed packages that children may read and
	// execute in addition to the file reach.
	Programs []string `json:"programs,omitempty"`
}

// Process is the process accessor. Errors match ErrBinaryNotAllowed. It is
// safe for concurrent use.
type Process interface {
	// Spawn starts a binary by name, without a shell, and waits for it. After a
	// timeout or cancellation, the whole process tree has ended when Spawn
	// returns. A non-zero exit code and the timeout of the options are no
	// errors; the end of ctx is one.
	Spawn(ctx context.Context, binary string, args []string, o *SpawnOptions) (ProcessResult, error)
	// Start starts a binary and does not wait for it. The child may outlive the
	// call: it ends by itself, by its timeout, by Stop, or with the runtime.
	// ctx bounds the start only.
	Start(ctx context.Context, binary string, args []string, o *SpawnOptions) (Child, error)
}

// SpawnOptions refine one spawn. nil means the defaults.
type SpawnOptions struct {
	// Dir is the working directory, absolute or relative to the workspace,
	// inside the reach. Empty means the workspace when at least a part of it is
	// within reach, else a private empty directory.
	Dir string
	// Env is added to the minimal environment of the child.
	Env map[string]string
	// Secrets lists the secrets for which the environment gets stand-ins.
	Secrets []ChildSecret
	// Stdin is the standard input of the child; nil means closed.
	Stdin []byte
	// Input is a stream of standard input for the child, in place of Stdin. It
	// is closed when the child has ended. When Input ends, the child's standard
	// input is closed. nil means Stdin.
	Input io.ReadCloser
	// Channel makes the standard input of the child a socket, to which it can write
	// too. It is called once, on a goroutine of its own, with the other end, when the
	// child runs and Stdin is on its way. The end is closed when the child has ended.
	// It excludes Input. nil means a standard input that can only be read.
	Channel func(end io.ReadWriteCloser)
	// Timeout bounds the run. 0 means the deadline of the call; for Start it
	// means no bound.
	Timeout time.Duration
	// Output receives standard output and standard error together, in the order
	// in which they arrive, one Write at a time. The result then holds neither.
	// nil keeps them in the result. After a failed Write the rest is dropped
	// and counted.
	Output io.Writer
	// ErrorOutput receives standard error, so that Output receives standard
	// output alone. It requires Output. nil sends standard error to Output.
	ErrorOutput io.Writer
	// Apart makes Input and Output the descriptors 3 and 4 of the child, as
	// browsers want them that are driven over pipes. Its standard input is then at
	// its end, and its standard output goes where standard error goes. It requires
	// Input, Output and ErrorOutput.
	Apart bool
	// MaxOutput bounds each stream in the result in bytes; 0 means 1 MiB. It
	// is at most 64 MiB.
	MaxOutput int64
	// Discard drops what a child wrote in overlay mode, whatever its exit code.
	// Without overlay mode it is an error.
	Discard bool
	// Check is called right before the start with the file to which the binary
	// was resolved, absolute and with links followed. Its error refuses the
	// start, and Start and Spawn return it. nil allows every file.
	Check func(path string) error
	// Shared is true when a child of Start also serves other principals. It
	// then does not end with the principal for which it was started.
	Shared bool
}

// ChildSecret is a secret that a child uses without seeing it. The environment
// variable holds a stand-in, and requests to the hosts carry the value in its
// place.
type ChildSecret struct {
	// Env is the name of the variable.
	Env string
	// Ref is a granted reference.
	Ref string
	// Hosts lists the granted host patterns that get the value.
	Hosts []string
	// Prefixes lists texts that may precede the stand-in in a header,
	// parameter, cookie or JSON string, such as "Token key=". Without a prefix
	// the stand-in has to be the whole text. "Bearer " and "token " are known
	// and need no entry. A prefix has letters, digits and " -._~:=/@", at most
	// 64 characters.
	Prefixes []string `json:",omitempty"`
}

// ProcessResult is the result of a finished child.
type ProcessResult struct {
	// ExitCode is the exit status, 128 plus the signal for a killed child.
	ExitCode int
	// TimedOut is true when the timeout of the options ended the child.
	TimedOut bool
	// Stdout and Stderr are the first bytes of each stream, up to the bound.
	Stdout, Stderr []byte
	// Dropped is the number of bytes beyond the bounds.
	Dropped int64
	// Level is the confinement of the child.
	Level Level
	// Linked lists granted paths that the child did not see, because a symbolic
	// link is on them.
	Linked []string
	// Touched is what the child was observed to use.
	Touched Touched
	// Changes lists what the child wrote in overlay mode, and granted files that
	// did not exist before it created them, sorted by path.
	Changes []Change
	// LayerFull names the bound that the child's private layer had reached at
	// the end, as "1073741824 bytes"; empty when there was room left. Writes of
	// the child beyond it failed with ENOSPC.
	LayerFull string
}

// Child is a started process with all its descendants. It is safe for
// concurrent use.
type Child interface {
	// Done is closed when the whole process tree has ended and its output was
	// handed over.
	Done() <-chan struct{}
	// Wait waits for Done. The error is the reason why the child could not run
	// to its end, or could not be started in its confinement. The result is
	// valid beside the error.
	Wait() (ProcessResult, error)
	// Stop asks the process tree to end, kills it after grace, and waits for
	// Done. Wait returns no error for a child that Stop has ended.
	Stop(grace time.Duration)
}

// Narrower is implemented by a [Child] whose reach can become smaller while it
// runs.
type Narrower interface {
	// Narrow removes from the child the hosts that a grant does not hold, and
	// closes the open connections to them. It returns false when that is not
	// possible: the child then has to end.
	Narrow(g NetworkGrant) bool
}

// Placed is implemented by a [Child] that knows which files and folders of the
// host it was shown. A folder that another process creates anew, as a checkout
// or a build does, is a different folder: the child keeps the one that it was
// shown.
type Placed interface {
	// Exchanged returns a path of the grant at which the host now has a
	// different file or folder from the one that the child was shown. It
	// returns an empty path when there is none; a path that is gone does not
	// count. It is safe for concurrent use.
	Exchanged() string
}

// Touched is what a child was observed to use, for comparison with its
// declaration. It is only a report: other code enforces the grant.
type Touched struct {
	// Hosts lists the hosts for which the child asked, granted or not.
	Hosts []HostUse `json:"hosts,omitempty"`
	// Binaries lists the absolute paths of programs that the child asked the
	// kernel to start, in the order of the first request. The runner reads the
	// path while the child waits, from memory that other threads of the child
	// can change before the kernel reads it.
	Binaries []string `json:"binaries,omitempty"`
	// Written lists the absolute paths that the kernel reported as written by
	// the child. In overlay mode these are the paths of its private layer. In
	// direct mode nothing shows which process wrote a file, and the list has only
	// granted files that did not exist before.
	Written []string `json:"written,omitempty"`
	// Changed lists the absolute paths below the write reach that changed while
	// the child ran. The writer is unknown: the child, a person, or the gate.
	Changed []string `json:"changed,omitempty"`
	// ChangedOnFloor lists the paths on the always-deny floor that appeared
	// while the child ran, or are another file now. The writer is unknown, and
	// the paths were left as they are.
	ChangedOnFloor []string `json:"changed_on_floor,omitempty"`
	// Withheld lists the folders of the reach of which the child saw only a
	// part: they hold more entries than can be searched for paths on the
	// always-deny floor.
	Withheld []string `json:"withheld,omitempty"`
	// More is true when a list was shortened.
	More bool `json:"more,omitempty"`
}

// HostUse is one host for which a child asked.
type HostUse struct {
	// Host is the canonical host.
	Host string `json:"host"`
	// Port is the port.
	Port uint16 `json:"port"`
	// Allowed is false when the host was refused.
	Allowed bool `json:"allowed"`
	// Why is the reason of a refusal or failure.
	Why string `json:"why,omitempty"`
	// Fix is the change that would reverse a refusal, when that is not a change
	// of a list.
	Fix string `json:"fix,omitempty"`
	// Connections counts the connections and requests.
	Connections int `json:"connections"`
	// Sent counts the bytes that the child sent.
	Sent int64 `json:"sent"`
	// Received counts the bytes that it received.
	Received int64 `json:"received"`
}

// ChangeKind says what happened to a file.
type ChangeKind string

// The kinds of changes.
const (
	ChangeAdded    ChangeKind = "added"
	ChangeModified ChangeKind = "modified"
	ChangeDeleted  ChangeKind = "deleted"
)

// Change is one path that a child wrote in memory of its own: in overlay mode, or
// in the folder of a granted file that did not exist.
type Change struct {
	// Path is absolute.
	Path string `json:"path"`
	// Kind says what happened to the path.
	Kind ChangeKind `json:"kind"`
	// Bytes is the new size of a file.
	Bytes int64 `json:"bytes,omitempty"`
	// Committed is true when the change was carried over to the host.
	Committed bool `json:"committed"`
	// Why is the reason why the change was not committed, or a remark about it.
	Why string `json:"why,omitempty"`
	// NotGranted is true when the path is outside of the grant: the child wrote it
	// into memory, beside a granted file that did not exist, and it is lost.
	NotGranted bool `json:"not_granted,omitempty"`
	// Kept is the path of a copy of what lost when child and host wrote the
	// same file at the same moment; Why says whose it is.
	Kept string `json:"kept,omitempty"`
}

// Level is the confinement of a child.
type Level string

// The levels, strongest first.
const (
	// LevelStrict is LevelFull with limits of cgroup v2.
	LevelStrict Level = "strict"
	// LevelFull is namespaces, a separate file tree, Landlock, seccomp, and no
	// capabilities.
	LevelFull Level = "full"
	// LevelLandlock is Landlock and seccomp without namespaces: it confines
	// files and allows no network at all.
	LevelLandlock Level = "landlock"
	// LevelNone is no confinement.
	LevelNone Level = "none"
)

// ProcessRunner starts children that the kernel confines to the grant. It must
// be safe for concurrent use.
type ProcessRunner interface {
	// Confines returns the level at which children with this grant run. The
	// error is not_available and names the layer that this machine lacks.
	Confines(g *Grant) (Level, error)
	// Start starts a child. The end of ctx ends the whole process tree. Errors
	// match ErrBinaryNotAllowed and ErrPathNotReachable when the binary or the
	// directory is refused, and are not_available when the confinement is not
	// available.
	Start(ctx context.Context, s *Spawn) (Child, error)
}

// Spawn is a request to a runner. The accessor has already checked the name,
// the arguments and the environment.
type Spawn struct {
	// Grant is the grant to which the child is confined.
	Grant *Grant
	// Binary is a granted name.
	Binary string
	// Args holds the arguments without the binary.
	Args []string
	// Options holds the other options. Its Env has no reserved names.
	Options SpawnOptions
	// Workspace is the absolute folder of the call; it may be empty.
	Workspace string
	// Principal is the name of the calling principal, whose children share one
	// bound on resources.
	Principal string
	// Splices lists the stand-ins of Options.Secrets.
	Splices []Splice
}

// Splice replaces a stand-in by a secret in requests to some hosts.
type Splice struct {
	// Placeholder is the text that the child sees.
	Placeholder string
	// Value is the secret.
	Value Secret
	// Hosts lists canonical host patterns.
	Hosts []string
	// Prefixes is that of [ChildSecret].
	Prefixes []string
}
