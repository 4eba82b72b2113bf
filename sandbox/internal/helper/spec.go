// Package helper is the process that stands between the runtime and a confined
// child: it builds the child's tree, gives up everything, and becomes the
// child.
//
// It is this same program, executed again under the name [Arg0] and with
// [Marker] in its environment, in fresh namespaces. Its init function notices
// the marker and never returns, so that a program which imports package sandbox
// needs no code of its own. Start with [Spec], which is what the runtime sends,
// and runHelper, which says the order.
//
// Go initialises the packages of a program one after another, those that
// import the least first. What this package imports decides how much of the
// program a helper waits for, so it imports next to nothing.
package helper

import "errors"

// Arg0 is the name under which the helper is executed.
const Arg0 = "sallyport-sandbox"

// Marker is the variable of the environment that says what a process is to be:
// [Arg0], [LauncherArg0] or [Probe]. Package os, which knows the arguments, is
// not imported. The runtime gives it to those alone; a confined child gets an
// environment of its own.
const Marker = "SALLYPORT_HELPER"

// ControlFD is the descriptor of the control socket in the helper.
const ControlFD = 3

// ProxyPort is the port on the child's loopback where the egress proxy
// listens. 3128 is what squid made the usual port of a proxy.
const ProxyPort = 3128

// NamesPort is the port on the child's loopback where the resolver of names
// listens, over UDP and TCP.
const NamesPort = 53

// ExitCode is the exit code of a helper that failed before the child began,
// as env(1) and timeout(1) use it.
const ExitCode = 125

// The kinds of messages on the control socket. Each is one packet.
const (
	// MsgBase brings the operations of the base tree: header and a memfd.
	MsgBase = 'B'
	// MsgRun brings the Spec: header, a memfd, standard input, output, error, and
	// perhaps the descriptors 3 and 4.
	MsgRun = 'R'
	// MsgTrees brings detached mounts for the steps of the next message.
	MsgTrees = 'T'
	// MsgReady says that the base tree stands; it brings the listener.
	MsgReady = 'L'
	// MsgLayer brings the folder of the private layers.
	MsgLayer = 'M'
	// MsgNotify brings the seccomp listener.
	MsgNotify = 'N'
	// MsgDirect brings the sockets of Direct: those of the resolver for UDP and TCP,
	// the listeners of the ports, the spare ones.
	MsgDirect = 'D'
	// MsgProgram says that the program runs below an init; it brings its pidfd.
	MsgProgram = 'C'
	// MsgFailed brings the text of what failed.
	MsgFailed = 'E'
)

// DirectIPv6 is the text of a MsgDirect where the ranges of IPv6 are local, too.
const DirectIPv6 = "6"

// MaxTrees bounds the detached mounts of one MsgTrees (net/scm.h: SCM_MAX_FD is
// 253), and MaxAllTrees those of one Base or Spec.
const (
	MaxTrees    = 250
	MaxAllTrees = 16 * MaxTrees
)

// HeaderLen is the length of a message to the helper: the kind, the length of
// the memfd and the checksum of its bytes.
const HeaderLen = 1 + 8 + 8

// Base is what a helper needs before it knows for whom it will work.
type Base struct {
	// Namespaces is false on the level landlock, where the helper shares the
	// namespaces of the runtime: no tree is built, nothing listens.
	Namespaces bool
	// Listen asks for the listener of the proxy.
	Listen bool
	// HostTree leaves the host's tree as it is and builds none: for a program
	// that is watched and not confined. Only /proc is its own.
	HostTree bool
	// Counters keeps what Counters of a Spec need.
	Counters bool
	// Tree builds the part of the tree that all children share.
	Tree []Op
}

// Spec is one child.
type Spec struct {
	// Path is the program as the child sees it.
	Path string
	// Argv is its arguments with the name in front.
	Argv []string
	// Env is its whole environment.
	Env []string
	// Dir is its working directory.
	Dir string
	// Layer is the memory of the private layers; nil for a child without any.
	Layer *Layer
	// Tree completes the tree that Base began. In the host's tree the sources
	// of its steps cover their paths, as far as these exist.
	Tree []Op
	// Landlock is the rules; nil leaves the layer out.
	Landlock *Landlock
	// Filter is the seccomp program; empty leaves the layer out.
	Filter []byte
	// Notify asks for the listener of the filter.
	Notify bool
	// DropCaps empties every capability set.
	DropCaps bool
	// Rlimits bounds the child.
	Rlimits []Rlimit
	// Counters bounds it further, in a user namespace.
	Counters []Counter
	// Nice is added to how nice it is (nice(2)).
	Nice int
	// Direct is the way out for programs that know no proxy; nil is none.
	Direct *Direct
}

// Direct is addresses and listeners inside the network namespace of a child.
type Direct struct {
	// Ranges are the addresses that become local.
	Ranges []Range
	// Ports are those on which something listens at every address.
	Ports []int
	// Spare is how many sockets more the runtime gets, which it opens itself when
	// it learns of a port.
	Spare int
}

// Range is a range of addresses.
type Range struct {
	// Addr is its first address, in 4 or 16 bytes.
	Addr []byte
	// Bits is how many of its bits all addresses share.
	Bits int
}

// LayerDir is where the memory of the private layers hangs while the tree is
// built. The runtime gets it opened; in the tree of the child it is nowhere.
const LayerDir = "/.layers"

// Layer is memory that takes what a child writes until it is carried over.
type Layer struct {
	// Bytes and Files bound it as it is written: at the bound the child sees
	// ENOSPC.
	Bytes, Files int64
}

// Counter bounds what the kernel counts for the users of the child's namespace.
type Counter struct {
	// Name is that of a file in /proc/sys/user.
	Name string
	// Value is the bound.
	Value int64
}

// Rlimit is one resource limit, soft and hard alike.
type Rlimit struct {
	// Resource is the number of setrlimit(2).
	Resource int
	// Value is the limit.
	Value uint64
}

// Landlock is a ruleset: what is handled, and what is let through.
type Landlock struct {
	// FS is the handled rights over files, as the kernel numbers them.
	FS uint64
	// Net is the handled rights over ports.
	Net uint64
	// Scoped is what ends at the border of the domain.
	Scoped uint64
	// Rules lets paths through.
	Rules []PathRule
}

// PathRule lets rights through beneath a path.
type PathRule struct {
	// Path is a path of the tree.
	Path string
	// Access is the rights.
	Access uint64
	// Dev identifies, with Ino, what the runtime judged; both are zero for what
	// may be anything.
	Dev uint64
	// Ino is its inode.
	Ino uint64
	// Optional rules are left out when the path does not exist.
	Optional bool
}

// The operations that build a tree.
const (
	// DoDir makes a directory, DoFile a file with Data, DoLink a symbolic
	// link to Source, all in the tree's own memory.
	DoDir  = "dir"
	DoFile = "file"
	DoLink = "link"
	// DoBind shows Source of the host at Path.
	DoBind = "bind"
	// DoTmpfs mounts memory of Size bytes.
	DoTmpfs = "tmpfs"
	// DoProc mounts the processes of this namespace.
	DoProc = "proc"
	// DoOverlay shows Source with a private layer for writing on top.
	DoOverlay = "overlay"
	// DoTray shows the folder upper of Memory, in which files can be made.
	DoTray = "tray"
	// DoPin makes Path a mount point of its own, so that it cannot be renamed
	// away; without Write it becomes read-only, with Exec executable.
	DoPin = "pin"
	// DoCover hides Path behind something empty that cannot be opened.
	DoCover = "cover"
)

// Op is one step of building a tree.
type Op struct {
	// Do is the operation.
	Do string
	// Path is where in the tree.
	Path string
	// Source is a path of the host, or the text of a link.
	Source string
	// Tree is the number of the detached mount that is shown in place of
	// Source, from 1 on in the order in which they came; 0 is none. It has its
	// attributes already.
	Tree int
	// Dev identifies, with Ino, the source as the runtime judged it; zero for
	// both leaves the check out.
	Dev uint64
	// Ino is the inode of the source.
	Ino uint64
	// Memory is a directory in memory that takes the writes of an overlay or a
	// tray: one in LayerDir, or one of the tree for writes that are thrown away.
	Memory string
	// Data is the content of a file.
	Data []byte
	// Mode is the permission bits of what is made; of an overlay or a tray those
	// of its root, zero for the usual ones.
	Mode uint32
	// Size bounds memory, in bytes.
	Size int64
	// Write lifts read-only.
	Write bool
	// Exec lifts noexec.
	Exec bool
	// Device lifts nodev.
	Device bool
	// Optional steps are left out when their source does not exist or the
	// kernel refuses them.
	Optional bool
	// Alias is a link to what another step shows. It is left out when its name
	// is taken, as by a link of the tree that leads there already.
	Alias bool
}

// Pack encodes a *Base or *Spec and its header.
func Pack(kind byte, v Message) (header [HeaderLen]byte, body []byte) {
	body = encodeMessage(v)
	appendUint64(appendUint64(append(header[:0], kind), uint64(len(body))), checksumBody(body))
	return header, body
}

// Unpack decodes what Pack made. A body that was cut or changed is an error:
// a helper never goes on with half a specification.
func Unpack(kind byte, header, body []byte, v Message) error {
	if len(header) != HeaderLen || header[0] != kind {
		return errors.New("the message is not the expected '" + string(rune(kind)) + "'")
	}
	if getUint64(header[1:9]) != uint64(len(body)) || getUint64(header[9:17]) != checksumBody(body) {
		return errors.New("the specification was cut or changed on its way")
	}
	return wrapError("specification", decodeMessage(body, v))
}

// checksumBody detects accidents; only the runtime can write the body. It
// is FNV-1a over words of eight bytes instead of single ones, which is eight
// times as fast: every step is a bijection, so no change of one word goes
// unnoticed.
func checksumBody(b []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for ; len(b) >= 8; b = b[8:] {
		h = (h ^ getUint64(b)) * prime
	}
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

func appendUint64(b []byte, v uint64) []byte {
	for i := range 8 {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}

// getUint64 is written so that the compiler makes one load of it.
func getUint64(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
