package helper

import (
	"errors"
	"syscall"
)

// maxSpecBytes bounds a specification: the arguments and environment that
// Linux accepts, and a tree.
const maxSpecBytes = 64 << 20

// init turns a program that was executed as the helper into the helper, into
// the launcher or into the probe. It runs before most other packages are
// initialised and before main, and on the main thread, as all init functions do
// (runtime.LockOSThread): locking it once more would only start a thread.
//
// The marker alone decides nothing: the runtime hands the first two a socket of
// packets as well. Where it is missing, the variable has come here by another
// way, and the program is itself.
func init() {
	role, ok := syscall.Getenv(Marker)
	if !ok {
		return
	}
	if kind, err := syscall.GetsockoptInt(ControlFD, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil || kind != syscall.SOCK_SEQPACKET {
		runProbe(role)
		return
	}
	switch role {
	case Arg0:
		reportFailure(runHelper())
	case LauncherArg0:
		reportFailure(runLauncher())
	}
}

// reportFailure reports an error to the runtime and ends the helper.
func reportFailure(err error) {
	_ = syscall.Sendmsg(ControlFD, append([]byte{MsgFailed}, err.Error()...), nil, nil, syscall.MSG_NOSIGNAL)
	syscall.Exit(ExitCode)
}

// runHelper does the work of a helper in the order that the kernel asks for:
// what needs a capability first, what takes them away next, what denies the
// calls that were used last. It returns only when something failed.
func runHelper() error {
	// The runtime's death is the helper's. The signal was set before the
	// execve, which may have cleared it.
	if err := prctl(prSetPdeathsig, uintptr(syscall.SIGKILL), 0); err != nil {
		return wrapError("parent death signal", err)
	}
	var base Base
	if _, err := receiveMessage(MsgBase, &base, 0, 0); err != nil {
		return err
	}
	kept, err := prepareHelper(&base)
	if err != nil {
		return err
	}
	var spec Spec
	files, err := receiveMessage(MsgRun, &spec, 3, 5)
	if err != nil {
		return err
	}
	return becomeChild(&base, &spec, files, kept)
}

// preparedHelper is what a helper holds until it knows for whom it works: the
// file of an init, -1 without a process namespace, and the folder of counters,
// -1 unless there are some to be bounded.
type preparedHelper struct{ init, counters int }

// prepareHelper does what does not depend on the child: its network, its tree,
// its init.
func prepareHelper(base *Base) (p preparedHelper, err error) {
	p = preparedHelper{-1, -1}
	if !base.Namespaces {
		return p, sendMessage(MsgReady, -1)
	}
	if !base.HostTree {
		if err := syscall.Sethostname([]byte("sandbox")); err != nil {
			return p, wrapError("host name", err)
		}
	}
	if err := loopbackUp(); err != nil {
		return p, wrapError("loopback", err)
	}
	listener := -1
	if base.Listen {
		if listener, err = listenProxy(); err != nil {
			return p, err
		}
	}
	if base.Counters {
		if p.counters, err = openCounters(); err != nil {
			return p, err
		}
	}
	if err := buildTree(base); err != nil {
		return p, err
	}
	if p.init, err = openInit(); err != nil {
		return p, err
	}
	err = sendMessage(MsgReady, listener)
	if listener >= 0 {
		syscall.Close(listener)
	}
	return p, err
}

// buildTree builds the shared part of the tree, or keeps that of the host.
func buildTree(base *Base) error {
	if !base.HostTree {
		if err := pivotRoot(); err != nil {
			return err
		}
		return applyOps(base.Tree)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return wrapError("private mounts", err)
	}
	// A container that masks parts of /proc refuses this; the host's then
	// shows other numbers than the program's own, which few programs notice.
	_ = syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
	return nil
}

// usualSlack is the timer slack of a process whose parents never set one, in
// nanoseconds (init/init_task.c).
const usualSlack = 50_000

// becomeChild gives everything up and executes the child, below an init if
// there is one.
func becomeChild(base *Base, spec *Spec, files []int, kept preparedHelper) error {
	if base.Namespaces && !base.HostTree {
		if err := buildLayered(spec); err != nil {
			return err
		}
		trees.close()
		if err := detachHost(); err != nil {
			return err
		}
	}
	if base.HostTree {
		if err := coverHostFiles(spec.Tree); err != nil {
			return err
		}
	}
	for i, fd := range files[:3] {
		if err := syscall.Dup3(fd, i, 0); err != nil {
			return wrapError("standard streams", err)
		}
	}
	if err := syscall.Chdir(spec.Dir); err != nil {
		return wrapError("working directory "+spec.Dir, err)
	}
	if err := spec.Direct.openDirect(); err != nil {
		return err
	}
	if err := setRlimits(spec.Rlimits); err != nil {
		return err
	}
	if err := lowerPriority(spec.Nice); err != nil {
		return err
	}
	if err := limitCounters(kept.counters, spec.Counters); err != nil {
		return err
	}
	if spec.DropCaps {
		if err := dropCapabilities(); err != nil {
			return err
		}
	}
	if err := prctl(prSetTimerslack, usualSlack, 0); err != nil {
		return wrapError("timer slack", err)
	}
	if err := prctl(prSetNoNewPrivs, 1, 0); err != nil {
		return wrapError("no_new_privs", err)
	}
	if spec.Landlock != nil {
		if err := spec.Landlock.restrictThread(); err != nil {
			return err
		}
	}
	// Nothing that the runtime or its parent left open reaches the child. The
	// control socket closes with the execve, which tells the runtime that it
	// worked.
	if err := closeOnExec(3); err != nil {
		return wrapError("descriptors", err)
	}
	path, argv, env, err := execArgs(spec)
	if err != nil {
		return err
	}
	if len(spec.Filter) > 0 {
		if err := installFilter(spec); err != nil {
			return err
		}
	}
	if kept.init >= 0 {
		return spawnProgram(base, spec, files[3:], kept.init)
	}
	if len(files) > 3 {
		return errors.New("the child wants descriptors that this helper needs itself, without a process namespace")
	}
	return wrapError("execute "+spec.Path, execve(path, argv, env))
}

// receiveMessage waits for one message and returns the descriptors that came with
// it, without that of the body, which has to be one of
// two numbers. The end of the socket is the end of the runtime, or of its interest.
func receiveMessage(kind byte, v Message, files, orFiles int) ([]int, error) {
	header := make([]byte, HeaderLen+1)
	oob := make([]byte, syscall.CmsgSpace(4*MaxTrees))
	n, fds, err := receivePacket(header, oob)
	for trees.close(); err == nil && n == 1 && header[0] == MsgTrees; {
		if err = trees.appendMounts(fds); err == nil {
			n, fds, err = receivePacket(header, oob)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(fds) != files+1 && len(fds) != orFiles+1 {
		return nil, errors.New("the message brings " + formatDecimal(int64(len(fds))) + " descriptors instead of " + formatDecimal(int64(files+1)))
	}
	body, err := readMemfd(fds[0])
	if err != nil {
		return nil, err
	}
	return fds[1:], Unpack(kind, header[:n], body, v)
}

// receivePacket waits for one packet and the descriptors that came with it.
func receivePacket(packet, oob []byte) (n int, fds []int, err error) {
	var oobn int
	for {
		n, oobn, _, _, err = syscall.Recvmsg(ControlFD, packet, oob, syscall.MSG_CMSG_CLOEXEC)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		return 0, nil, wrapError("control socket", err)
	}
	if n == 0 {
		syscall.Exit(0)
	}
	fds, err = parseRights(oob[:oobn])
	return n, fds, err
}

func parseRights(oob []byte) (fds []int, err error) {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, wrapError("control message", err)
	}
	for i := range msgs {
		got, err := syscall.ParseUnixRights(&msgs[i])
		if err != nil {
			return nil, wrapError("control message", err)
		}
		fds = append(fds, got...)
	}
	return fds, nil
}

// readMemfd reads a memfd from its beginning.
func readMemfd(fd int) ([]byte, error) {
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, wrapError("specification", err)
	}
	if st.Size > maxSpecBytes {
		return nil, errors.New("the specification is too long")
	}
	body := make([]byte, st.Size)
	for off := 0; off < len(body); {
		n, err := syscall.Pread(fd, body[off:], int64(off))
		if err == nil && n == 0 {
			err = errCut
		}
		if err != nil && err != syscall.EINTR {
			return nil, wrapError("specification", err)
		}
		off += max(n, 0)
	}
	return body, nil
}

// sendMessage tells the runtime something, with a descriptor when it is not
// negative.
func sendMessage(kind byte, fd int) error {
	var oob []byte
	if fd >= 0 {
		oob = syscall.UnixRights(fd)
	}
	return wrapError("control socket", syscall.Sendmsg(ControlFD, []byte{kind}, oob, nil, syscall.MSG_NOSIGNAL))
}
