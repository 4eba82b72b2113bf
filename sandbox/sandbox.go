// Package sandbox starts child processes that the kernel holds to a grant.
//
// A child sees a tree of its own in which its reach and the system's read-only
// parts exist and nothing else, has no network but a filtering proxy, no
// capability, and a short list of system calls. Start with [New] and give the
// [Runner] to the gate as its ProcessRunner; Start in child.go is the path of
// one child, plan_linux.go says what a grant becomes, and the package helper
// carries it out on the other side.
//
// The package does not decide what a tool may start: the accessor has judged
// the name, and the registry has computed the grant.
package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/scratch"
)

// Options say how children are confined. The zero value confines at the level
// full with the bounds of [Limits].
type Options struct {
	// Level is the level at which children run; empty means full. A machine
	// that cannot give it refuses children: nothing falls back. With full,
	// limits of cgroup v2 are used where they are delegated, and the level in
	// force is strict then. landlock and none are taken only when they are
	// named here.
	Level sallyport.Level
	// Files brings the deny floor; nil means that of the zero backend.
	Files *sallyport.FileBackend
	// Network is how the proxy resolves and dials; nil means the system.
	Network *sallyport.NetworkBackend
	// Toolchains are shown to every child, read-only. See [Toolchains]. The
	// root, what is directly below it and what is the kernel's are refused.
	Toolchains []Toolchain
	// Limits bounds each child.
	Limits Limits
	// Warm is how many helpers wait for the next child; 0 means 2, a
	// negative number none. Each holds about 3 MiB.
	Warm int
	// Pending is the folder that takes what children in overlay mode changed of a
	// project's configuration that runs commands, until a person has seen it.
	// It must be on the floor of Files. Empty means that it is left out.
	Pending string
	// Scratch is the folder for the private folders of children below the level
	// full; empty means the system's folder for temporary files. It must not be
	// within anybody's reach.
	Scratch string
	// Logger receives what went wrong in the background; nil drops it.
	Logger *slog.Logger

	// without switches layers off, so that tests can show what each of them
	// stops.
	without layers
}

// Limits bounds one child with all its descendants. Zero fields have the
// defaults that they name. A field that is not zero and that nothing on this
// machine enforces refuses every child, unless it says otherwise.
type Limits struct {
	// Memory is in bytes; 0 means 4 GiB. Without a memory controller it
	// bounds the data of each process instead of their sum.
	Memory int64
	// Processes counts processes and threads; 0 means 512.
	Processes int
	// CPUs is processors' worth of time; 0 means no bound.
	CPUs float64
	// FileBytes bounds each file that is written; 0 means 2 GiB.
	FileBytes int64
	// OpenFiles bounds the descriptors of each process; 0 means 4096.
	OpenFiles int
	// TmpBytes bounds /tmp, which is memory; 0 means 1 GiB.
	TmpBytes int64
	// LayerBytes bounds the private layer of a child in overlay mode, or of one that
	// creates granted files. It is memory; 0 means 1 GiB. At the bound the child
	// sees ENOSPC.
	LayerBytes int64
	// LayerFiles bounds the files, folders and removals in it; 0 means 100,000.
	LayerFiles int
	// Layers bounds how many children with a layer one principal has at a time, and
	// so what they take in all; 0 means 8.
	Layers int
}

const defaultLayerFiles = 100_000

func (l Limits) withDefaults() Limits {
	return Limits{
		Memory: cmp.Or(l.Memory, 4<<30), Processes: cmp.Or(l.Processes, 512), CPUs: l.CPUs,
		FileBytes: cmp.Or(l.FileBytes, 2<<30), OpenFiles: cmp.Or(l.OpenFiles, 4096), TmpBytes: cmp.Or(l.TmpBytes, 1<<30),
		LayerBytes: cmp.Or(l.LayerBytes, 1<<30), LayerFiles: cmp.Or(l.LayerFiles, defaultLayerFiles), Layers: cmp.Or(l.Layers, 8),
	}
}

const (
	defaultWarm = 2
	// stopGrace is how long a tree may take to end after it was asked: half of
	// the second after its time in which it is gone.
	stopGrace = time.Second / 2
	// helperWait bounds how long a helper may take for any of its steps.
	helperWait = 20 * time.Second
)

// layers is a set of layers.
type layers uint8

const (
	layerNamespaces layers = 1 << iota
	layerTree
	layerLandlock
	layerSeccomp
	layerCaps
	// layerUsers gives each child of root a user of the host.
	layerUsers
	layerGroups
)

func (l layers) has(x layers) bool { return l&x != 0 }

// Runner starts confined children. It implements [sallyport.ProcessRunner] and
// is safe for concurrent use.
type Runner struct {
	o        Options
	asked    Limits // as they were given; those of o have the defaults
	logger   *slog.Logger
	floor    *denyfloor.Floor
	denied   *egress.DeniedNames
	scratch  *scratch.Space
	sweeping sync.WaitGroup
	platform platform

	probe     func() *Report
	probeWait time.Duration // for each try of the probe

	mu       sync.Mutex
	children map[*childProcess]struct{}
	layers   map[string]int // private layers in use, by principal
	closed   bool
	starts   sync.WaitGroup
	ending   sync.Once
}

var _ sallyport.ProcessRunner = (*Runner)(nil)

// New returns a runner. It finds out what the machine gives when the first
// child is asked for, or [Runner.Report]. The caller closes it.
func New(o *Options) (*Runner, error) {
	if o == nil {
		o = &Options{}
	}
	r := &Runner{o: *o, asked: o.Limits, logger: o.Logger, floor: denyfloor.New(o.Files), children: map[*childProcess]struct{}{}, layers: map[string]int{}, probeWait: helperWait}
	r.o.Level = cmp.Or(o.Level, sallyport.LevelFull)
	r.o.Limits = o.Limits.withDefaults()
	if r.o.Warm == 0 {
		r.o.Warm = defaultWarm
	}
	if r.o.Scratch == "" {
		r.o.Scratch = os.TempDir()
	}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	var dial egress.DialOptions
	if o.Network != nil {
		dial.Resolve = o.Network.Resolve
	}
	r.denied = egress.NewDeniedNames(&dial, r.logger)
	switch r.o.Level {
	case sallyport.LevelStrict, sallyport.LevelFull, sallyport.LevelLandlock, sallyport.LevelNone:
	default:
		return nil, fmt.Errorf("sandbox: %q is not a level: expected strict, full, landlock or none", r.o.Level)
	}
	for i := range r.o.Toolchains {
		if err := r.o.Toolchains[i].validate(); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	r.scratch = scratch.New(r.o.Scratch)
	r.sweeping.Go(func() {
		if err := scratch.Sweep(r.o.Scratch); err != nil {
			r.logger.Warn("sandbox: something of an earlier run is left behind", "error", err)
		}
	})
	r.probe = sync.OnceValue(r.probeMachine)
	return r, r.openPlatform()
}

// Report says what the machine gives and which level is in force.
type Report struct {
	// Level is the level in force; empty when children cannot be confined as
	// demanded.
	Level sallyport.Level `json:"level"`
	// Wanted is the level that was demanded.
	Wanted sallyport.Level `json:"wanted"`
	// Missing names the layer that is missing for the wanted level, with the
	// reason.
	Missing string `json:"missing,omitempty"`
	// Layers lists every layer.
	Layers []Layer `json:"layers"`

	// unenforced lists limits that were asked for and that nothing enforces here.
	unenforced []string
}

// Layer is one part of the confinement.
type Layer struct {
	// Name is the layer.
	Name string `json:"name"`
	// On is whether it holds children here.
	On bool `json:"on"`
	// How says in words what it gives, or why it does not.
	How string `json:"how"`
}

// Report finds out, once, what the machine gives, by running a child that
// attacks its own confinement.
func (r *Runner) Report() Report { return *r.probe() }

// Confines returns the level at which children with this grant run. The error
// is not_available and names what is missing.
func (r *Runner) Confines(g *sallyport.Grant) (sallyport.Level, error) {
	rep := r.probe()
	if rep.Level == "" {
		return "", unavailableError("this machine cannot confine children at the level "+string(rep.Wanted)+": "+rep.Missing, nil)
	}
	if len(rep.unenforced) > 0 {
		return "", unavailableError("this machine cannot hold children to limits that are set: "+strings.Join(rep.unenforced, ", "), nil)
	}
	full := rep.Level == sallyport.LevelFull || rep.Level == sallyport.LevelStrict
	switch {
	case full:
	case g.FS.Mode == sallyport.FSOverlay:
		return "", unavailableError("overlay mode needs the level full: at "+string(rep.Level)+" there is no mount namespace", nil)
	case rep.Level == sallyport.LevelLandlock && len(g.Network.Allow) > 0:
		return "", unavailableError("network for children needs the level full: at landlock there is no network namespace", nil)
	}
	return rep.Level, nil
}

func unavailableError(detail string, cause error) error {
	return &sallyport.Error{Code: sallyport.CodeNotAvailable, Resource: "sandbox", Detail: detail, Err: cause}
}

// Close ends every child and every helper and waits for them.
func (r *Runner) Close() error {
	r.ending.Do(r.shutDown)
	return nil
}

func (r *Runner) shutDown() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	// What is being started becomes a child or fails: both are bounded.
	r.starts.Wait()
	r.mu.Lock()
	all := slices.Collect(maps.Keys(r.children))
	r.mu.Unlock()
	for _, c := range all {
		c.endNow(errClosed)
	}
	for _, c := range all {
		<-c.done
	}
	r.closePlatform()
	r.sweeping.Wait()
	if err := r.scratch.Close(); err != nil {
		r.logger.Warn("sandbox: a private folder is left behind", "error", err)
	}
}

var errClosed = errors.New("the runtime is ending")

// Running returns how many children run.
func (r *Runner) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.children)
}

// registerStart counts a start in; it returns false when the runner is closed.
func (r *Runner) registerStart() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.starts.Add(1)
	return true
}
