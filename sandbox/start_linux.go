package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/sandbox/internal/cgroup"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// platform is what the runner holds of this system.
type platform struct {
	self       string // this program, to be executed again
	null       *os.File
	namespaces bool
	abi        int // of Landlock; 0 without
	base       helperBase
	users      childUsers
	stamp      systemStamp // of the system's files in base; zero when it has none
	renewing   sync.Mutex
	mounts     mountTable
	filter     []byte
	counting   []byte // the filter of children that share the user of this process
	counters   *counterShares
	spawner    *spawnThread
	launcher   *helperLauncher
	pool       *helperPool
	survey     *survey.Surveyor
	groups     *cgroup.Controllers // nil at the level none
	bounds     cgroup.Limits       // what the groups can bound
	spare      atomic.Pointer[cgroup.Group]
	removals   sync.WaitGroup
}

// openPlatform prepares what all children share.
func (r *Runner) openPlatform() (err error) {
	p := &r.platform
	p.self = "/proc/self/exe"
	p.abi = landlockABI()
	full := r.o.Level == sallyport.LevelFull || r.o.Level == sallyport.LevelStrict
	p.namespaces = full && !r.o.without.has(layerNamespaces)
	p.survey = survey.New()
	if r.o.Level == sallyport.LevelNone {
		return nil
	}
	if err := r.openLimits(); err != nil {
		return err
	}
	if err := r.makeFilters(); err != nil {
		return err
	}
	if p.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	p.mounts.open()
	p.stamp = r.systemStamp()
	if err := r.makeBase(); err != nil {
		return err
	}
	p.spawner = newSpawnThread()
	p.launcher = &helperLauncher{r: r}
	p.pool = &helperPool{r: r}
	return nil
}

// KeepWarm keeps n helpers waiting for the next child from now on.
func (r *Runner) KeepWarm(n int) {
	if p := r.platform.pool; p != nil {
		p.setWarm(n)
	}
}

// closePlatform releases what openPlatform made.
func (r *Runner) closePlatform() {
	p := &r.platform
	if p.pool == nil {
		return
	}
	p.pool.close()
	p.launcher.close()
	p.spawner.close()
	p.removals.Wait()
	if g := p.spare.Swap(nil); g != nil {
		r.removeGroup(g)
	}
	p.base.shared.body.Close()
	r.closeUsers()
	p.mounts.close()
	p.null.Close()
}

// landlockABI returns the version of Landlock, 0 when there is none.
func landlockABI() int {
	const createRulesetVersion = 1
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, createRulesetVersion)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// launchChild does everything up to the moment at which the child runs.
func (r *Runner) launchChild(ctx context.Context, c *childProcess) error {
	if c.level == sallyport.LevelNone {
		return r.startUnconfined(c)
	}
	o := r.platform.pool.orderHelper()
	defer o.finishStart()
	j, err := r.prepareChild(ctx, c)
	if err != nil {
		o.cancel()
		return confinementError(c.spawn.Binary, err)
	}
	h, m, err := r.helperFor(o, c, j)
	if err != nil {
		return confinementError(c.spawn.Binary, err)
	}
	defer closeAll(m.trees)
	c.proc, c.group = h.proc, h.group
	if err := r.confineChild(ctx, c, h, j, m); err != nil {
		c.killTree() // it may run already, and have children
		h.discard()
		return confinementError(c.spawn.Binary, err)
	}
	return nil
}

// childJob is what is known of a child before it has a helper.
type childJob struct {
	plan *reachPlan
	prog *resolvedProgram
	dir  string
	// tmp and home are its private folders, own is what it may write besides
	// the reach.
	tmp, home string
	tree      []helper.Op
}

// prepareChild checks the program and the working directory, and looks at the
// reach.
func (r *Runner) prepareChild(ctx context.Context, c *childProcess) (j *childJob, err error) {
	s := c.spawn
	j = &childJob{tmp: tmpDir, home: homeDir}
	if j.plan, err = r.planReach(ctx, s.Grant); err != nil {
		return nil, err
	}
	c.exchanged = j.plan.exchangedPath
	if linked := j.plan.linked; len(linked) > 0 {
		c.report = append(c.report, func(res *sallyport.ProcessResult) { res.Linked = linked })
	}
	if !r.platform.namespaces {
		if err := r.withoutTree(c, j); err != nil {
			return nil, err
		}
	}
	if c.probe {
		return j, r.probeJob(j)
	}
	if s.Grant.FS.Mode == sallyport.FSOverlay {
		if err := r.addLayer(c, j.plan); err != nil {
			return nil, err
		}
	} else if err := r.addPlaceholders(c, j.plan); err != nil {
		return nil, err
	} else if err := r.addTrays(c, j.plan); err != nil {
		return nil, err
	}
	if j.prog, err = r.programOf(s, j.plan.realPaths(true)); err != nil {
		return nil, err
	}
	j.dir, err = j.plan.workingDir(s, j.home)
	return j, err
}

// withoutTree prepares a child that sees the host's tree. What the deny floor
// protects below the reach only mounts could cover.
func (r *Runner) withoutTree(c *childProcess, j *childJob) error {
	if len(j.plan.masks) > 0 && !r.o.without.has(layerTree) {
		return unavailableError("the level landlock has no mount namespace to protect "+j.plan.masks[0].Path+", which is in reach", nil)
	}
	private, err := r.scratch.Dir("child")
	if err != nil {
		return err
	}
	c.atEnd(func() { _ = os.RemoveAll(private) })
	j.tmp, j.home = private, private
	return nil
}

// probeJob shows this program to itself.
func (r *Runner) probeJob(j *childJob) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	j.prog, j.dir = &resolvedProgram{self, helper.ProbeArg0}, "/"
	if r.platform.namespaces {
		j.prog.path = probePath
		j.tree = []helper.Op{{Do: helper.DoBind, Path: probePath, Source: self, Exec: true}}
	}
	return nil
}

// confineChild turns a helper into the child.
func (r *Runner) confineChild(ctx context.Context, c *childProcess, h *readyHelper, j *childJob, m mountedReach) error {
	proxy, err := r.newProxy(c)
	if err != nil {
		return err
	}
	var ca []byte
	if proxy != nil && proxy.CA() != nil {
		ca = append(systemRoots(), proxy.CA()...)
	}
	tree := m.steps
	if r.platform.namespaces {
		tree = append(nameOps(proxy != nil), tree...)
	}
	if ca != nil {
		tree = append(tree, helper.Op{Do: helper.DoFile, Path: caFile, Data: ca, Mode: 0o644})
	}
	s := c.spawn
	spec := helper.Spec{
		Path: j.prog.path, Argv: append([]string{j.prog.name}, s.Args...), Dir: j.dir, Tree: tree, Layer: r.memoryOf(j.plan),
		Env:      r.childEnv(s.Options.Env, j.tmp, j.home, proxy != nil, ca != nil),
		DropCaps: true, Filter: r.platform.filter, Notify: true,
		Landlock: r.landlockRules(j), Rlimits: r.childRlimits(), Nice: r.childNiceness(),
		Direct: directWay(proxy),
	}
	r.boundCounters(c, h, &spec)
	r.omitLayers(&spec)
	run, err := newMessage(helper.MsgRun, &spec)
	if err != nil {
		return err
	}
	defer run.body.Close()
	// What it is told to become it becomes at once, within its limits.
	if h.bind() != nil {
		return h.awaitReady(ctx)
	}
	pipes, err := c.openPipes()
	if err != nil {
		return err
	}
	r.reportChanges(c, j.plan)
	c.start = time.Now()
	if err = h.chownPipes(pipes); err == nil {
		err = sendTrees(h.control, m.trees)
	}
	if err == nil {
		err = run.send(h.control, pipes...)
	}
	closeAll(pipes)
	if err != nil && h.built {
		return err
	}
	// Why a helper that still builds its tree takes nothing, it says itself.
	return r.awaitExec(ctx, c, h, proxy)
}

// omitLayers drops the layers that a test has switched off.
func (r *Runner) omitLayers(spec *helper.Spec) {
	off := r.o.without
	if off.has(layerLandlock) {
		spec.Landlock = nil
	}
	if off.has(layerSeccomp) {
		spec.Filter, spec.Notify = nil, false
	}
	if off.has(layerCaps) {
		spec.DropCaps = false
	}
}

// awaitExec follows the helper until it has become the child, which shows in
// the end of its control socket.
func (r *Runner) awaitExec(ctx context.Context, c *childProcess, h *readyHelper, proxy *egress.Proxy) error {
	defer h.boundWait(ctx)()
	h.serveProxy(proxy)
	for {
		kind, text, fd, err := h.receiveMessage()
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case err != nil:
			err = fmt.Errorf("hand over: %w", err)
		case kind == helper.MsgReady && !h.built:
			err = h.markBuilt(fd)
			h.serveProxy(proxy)
			fd = -1
		case kind == helper.MsgLayer && fd >= 0 && c.attach != nil:
			err = c.attach(fd)
			fd = -1
		case kind == helper.MsgNotify && fd >= 0:
			err = r.watchPrograms(c, fd)
			fd = -1
		case kind == helper.MsgDirect && proxy != nil:
			_, err = h.serveDirect(proxy, text)
		case kind == helper.MsgProgram && fd >= 0:
			c.receiveProgram(fd)
			fd = -1
		case kind == helper.MsgFailed:
			err = notRun(c.spawn.Binary, text)
		case kind != 0:
			err = fmt.Errorf("the helper answered %q", string(kind))
		case !h.built:
			err = errors.New("the helper ended before its tree stood")
		default:
			h.control.Close()
			c.atEnd(func() {
				if h.listener != nil {
					h.listener.Close()
				}
				h.onEnd()
			})
			return nil
		}
		if fd >= 0 {
			unix.Close(fd)
		}
		if err != nil {
			return err
		}
	}
}

// notRun is why a helper did not become the child. When all but the execve has
// worked, the confinement is there and the program is at fault.
func notRun(binary, text string) error {
	if !strings.HasPrefix(text, "execute ") {
		return errors.New(text)
	}
	why := text[strings.LastIndex(text, ": ")+1:]
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: binary, Operation: "spawn",
		Detail: binary + " could not be executed:" + why,
	}
}

// childRlimits returns the resource limits that every kernel enforces.
func (r *Runner) childRlimits() []helper.Rlimit {
	l := r.o.Limits
	list := []helper.Rlimit{
		{Resource: unix.RLIMIT_CORE, Value: 0},
		{Resource: unix.RLIMIT_FSIZE, Value: uint64(l.FileBytes)},
		{Resource: unix.RLIMIT_NOFILE, Value: uint64(l.OpenFiles)},
		{Resource: unix.RLIMIT_MEMLOCK, Value: 64 << 10},
		{Resource: unix.RLIMIT_MSGQUEUE, Value: 0},
		// Counted in this user namespace only, and not at all for the host's
		// root (kernel/fork.c: is_rlimit_overlimit and INIT_USER).
		{Resource: unix.RLIMIT_NPROC, Value: uint64(l.Processes)},
	}
	if r.platform.bounds.Memory == 0 {
		// Private writable memory of each process; address space, which Go,
		// Java and Node reserve by the terabyte, is not counted (setrlimit(2)).
		list = append(list, helper.Rlimit{Resource: unix.RLIMIT_DATA, Value: uint64(l.Memory)})
	}
	return list
}
