package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// probePath is where the probe sees this program.
const probePath = "/.probe"

// minLandlock is the version of Landlock that a level needs: truncation is
// mediated from 3 on; without namespaces signals and abstract sockets must be,
// which they are from 6 on (landlock(7)).
var minLandlock = map[sallyport.Level]int{
	sallyport.LevelStrict: 3, sallyport.LevelFull: 3, sallyport.LevelLandlock: 6,
}

// probeMachine finds out what the machine gives, by running a child that
// attacks its own confinement: versions and settings promise, a run shows.
func (r *Runner) probeMachine() *Report {
	rep := &Report{Wanted: r.o.Level}
	abi := r.platform.abi
	switch {
	case r.o.Level == sallyport.LevelNone:
		rep.Level = sallyport.LevelNone
	case abi < minLandlock[r.o.Level]:
		rep.Missing = fmt.Sprintf("Landlock: version %d is needed, this kernel has %d (0 is none)", minLandlock[r.o.Level], abi)
	case r.o.Level == sallyport.LevelLandlock && os.Geteuid() == 0:
		rep.Missing = "an ordinary user: root is not held by Landlock alone"
	default:
		if err := r.attackUnlessHeld(); err != nil {
			rep.Missing = err.Error()
		} else {
			rep.Level = cmp.Or(r.fullOrStrict(), r.o.Level)
		}
	}
	if rep.Level != "" && r.o.Level == sallyport.LevelStrict && rep.Level != sallyport.LevelStrict {
		rep.Level, rep.Missing = "", "cgroup v2 limits: "+r.limitsHow()
		if pool, how := r.platform.users.currentPool(); pool == nil && os.Geteuid() == 0 {
			rep.Missing = "a user of its own for each child: " + how
		}
	}
	if rep.Level != "" && rep.Level != sallyport.LevelNone {
		rep.unenforced, _ = r.unenforcedLimits()
	}
	rep.Layers = r.layersOf(rep)
	return rep
}

// fullOrStrict returns strict where full is held by limits of cgroup v2, too.
func (r *Runner) fullOrStrict() sallyport.Level {
	pool, _ := r.platform.users.currentPool()
	if r.platform.namespaces && r.strictLimits() && (pool != nil || os.Geteuid() != 0) {
		return sallyport.LevelStrict
	}
	if r.o.Level == sallyport.LevelStrict {
		return sallyport.LevelFull
	}
	return ""
}

// layersOf lists the layers in words.
func (r *Runner) layersOf(rep *Report) []Layer {
	confined := rep.Level != "" && rep.Level != sallyport.LevelNone
	spaces := confined && r.platform.namespaces
	why := func(on bool, how string) string {
		switch {
		case on:
			return how
		case rep.Level == "":
			return rep.Missing
		default:
			return "left out at the level " + string(rep.Level)
		}
	}
	limits := Layer{"limits", confined, why(confined, r.limitsHow())}
	if len(rep.unenforced) > 0 {
		limits = Layer{"limits", false, r.limitsHow()}
	}
	return []Layer{
		{"namespaces", spaces, why(spaces, "user, mount, process, IPC, host name and network of its own")},
		r.usersLayer(spaces, why),
		{"tree", spaces, why(spaces, "the reach and the system's read-only parts; private /tmp, /proc and home")},
		{"landlock", confined, why(confined, fmt.Sprintf("version %d: the same paths as rules", r.platform.abi))},
		{"seccomp", confined, why(confined, "a list of allowed system calls")},
		{"capabilities", confined, why(confined, "none, and none to be gained")},
		{"proxy", spaces, why(spaces, "the only way out; hosts of the grant, floor on the dialled address")},
		limits,
	}
}

// openAttacks says for each attack which layer is missing when it succeeds.
var openAttacks = map[string]string{
	"read": "tree and Landlock", "write": "tree and Landlock", "chmod": "tree", "connect": "network namespace",
	"signal": "process namespace and Landlock", "unix-socket": "seccomp", "unshare": "seccomp", "mount": "seccomp",
	"capabilities": "capabilities",
}

// heldAttacks has the settings with which the confinement has held an attack.
var heldAttacks sync.Map

// attackedSettings are those on which it depends how an attack ends.
type attackedSettings struct {
	program string
	level   sallyport.Level
	without layers
	limits  Limits
	scratch string
	users   bool
	user    int
}

// attackUnlessHeld attacks the confinement unless it held an attack of this process
// before, with the same settings: what a machine gives changes for the worse only, and
// then no child starts.
func (r *Runner) attackUnlessHeld() error {
	settings, ok := r.attackedSettings()
	if _, held := heldAttacks.Load(settings); held && ok {
		return nil
	}
	if err := attackUntilAnswered(r.selfAttack); err != nil {
		return err
	}
	if after, ok := r.attackedSettings(); ok && after == settings {
		heldAttacks.Store(settings, true)
	}
	return nil
}

// attackedSettings returns those of the runner; ok is false when each attack counts for
// itself, since a toolchain may show children what an attack looks for.
func (r *Runner) attackedSettings() (s attackedSettings, ok bool) {
	if !r.registerStart() { // to find out about users takes a helper
		return s, false
	}
	defer r.starts.Done()
	pool, _ := r.openUsers().currentPool()
	scratch, err := filepath.EvalSymlinks(r.o.Scratch)
	s = attackedSettings{r.platform.self, r.o.Level, r.o.without, r.o.Limits, scratch, pool != nil, os.Geteuid()}
	shows := func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		return err == nil && reach.Within(real, scratch)
	}
	return s, err == nil && !slices.ContainsFunc(r.o.Toolchains, func(t Toolchain) bool {
		return slices.ContainsFunc(t.Dirs, shows) || slices.ContainsFunc(t.Caches, func(c Cache) bool { return shows(c.Host) })
	})
}

// attackTries is how often an attack is tried that the machine did not answer in
// time: what is found out counts for the life of the runner.
const attackTries = 3

// attackUntilAnswered attacks again while the answer is only late, as on a
// machine that is busy for a moment: that says nothing about the confinement.
func attackUntilAnswered(attack func() error) error {
	err := attack()
	for try := 1; try < attackTries && isLate(err); try++ {
		err = attack()
	}
	return err
}

// isLate reports whether the error says only that time ran out.
func isLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// selfAttack runs this program in the confinement and has it try what must
// not succeed. The error names the missing layer.
func (r *Runner) selfAttack() error {
	ctx, cancel := context.WithTimeout(context.Background(), r.probeWait)
	defer cancel()
	dir, err := r.scratch.Dir("probe")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	canary := filepath.Join(dir, "canary")
	if err := os.WriteFile(canary, []byte("canary"), 0o644); err != nil {
		return err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	// Without the name of the namespace the attack counts in every case.
	space, _ := os.Readlink("/proc/self/ns/pid")
	role := helper.Probe(canary, l.Addr().(*net.TCPAddr).Port, os.Getpid(), space)
	c, err := r.startProbe(ctx, role)
	if pool, _ := r.platform.users.currentPool(); err != nil && !isLate(err) && pool != nil {
		// Without a user of its own it may start.
		r.giveUpUsers(err)
		c, err = r.startProbe(ctx, role)
	}
	if err != nil {
		return nameMissingLayer(err)
	}
	res, err := c.Wait()
	if err != nil {
		return nameMissingLayer(err)
	}
	if res.ExitCode != 0 {
		first, _, _ := strings.Cut(strings.TrimSpace(string(res.Stderr)), "\n")
		return fmt.Errorf("the probe ended with exit code %d: %s", res.ExitCode, text.Clip(text.PrintableLine(first), 200))
	}
	names := strings.Fields(string(res.Stdout))
	if len(names) == 0 || names[0] != helper.Probed {
		return errors.New("the probe did not run")
	}
	for _, name := range names[1:] {
		if name == "chmod" && !r.platform.namespaces {
			continue // said in the description of the level
		}
		return fmt.Errorf("%s: a child could %s", cmp.Or(openAttacks[name], "unknown layer"), name)
	}
	return nil
}

// startProbe starts this program in its role.
func (r *Runner) startProbe(ctx context.Context, role string) (*childProcess, error) {
	c := &childProcess{r: r, level: r.o.Level, done: make(chan struct{}), probe: true, spawn: &sallyport.Spawn{
		Grant: &sallyport.Grant{}, Binary: helper.ProbeArg0,
		Options: sallyport.SpawnOptions{Env: map[string]string{helper.Marker: role}},
	}}
	return c, r.startAndFollow(ctx, c)
}

// nameMissingLayer puts the name of the layer before what the kernel said.
func nameMissingLayer(err error) error {
	if e, ok := errors.AsType[*sallyport.Error](err); ok && e.Err != nil {
		err = e.Err
	}
	text := err.Error()
	for _, l := range []struct{ begins, layer string }{
		{"start the helper", "user namespaces (refused by the kernel's settings, AppArmor or a container)"},
		{"tree", "mount namespace"},
		{"private mounts", "mount namespace"},
		{"loopback", "network namespace"},
		{"landlock", "Landlock"},
		{"seccomp", "seccomp"},
		{"no_new_privs", "no_new_privs"},
		{"capabilit", "capabilities"},
	} {
		if strings.HasPrefix(text, l.begins) {
			return fmt.Errorf("%s: %w", l.layer, err)
		}
	}
	return err
}
