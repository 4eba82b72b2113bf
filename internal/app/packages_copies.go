package app

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/fsx"
)

const (
	// shareFor is how long a copy is taken for a server without a pin. What it needs
	// may have had repairs since.
	shareFor = 24 * time.Hour
	// maxNote bounds a note of a copy, in bytes.
	maxNote = 4 << 10
)

// installsAtOnce is how many packages are installed at the same time: one waits for the
// network as long as it uses a processor, and each may take memory of its own.
const installsAtOnce = 2

// installTurns runs what installs packages, installsAtOnce at the same time, in the
// order in which it came. The zero value is ready; it is for one goroutine.
type installTurns struct {
	slots   chan struct{}
	running sync.WaitGroup
}

// run waits for a turn and runs f on a goroutine.
func (t *installTurns) run(f func()) {
	if t.slots == nil {
		t.slots = make(chan struct{}, installsAtOnce)
	}
	t.slots <- struct{}{}
	t.running.Go(func() {
		defer func() { <-t.slots }()
		f()
	})
}

// wait returns when all has run.
func (t *installTurns) wait() { t.running.Wait() }

// installedCopy is one installed copy of a package.
type installedCopy struct {
	// Digest is that of every file.
	Digest string `json:"sha256"`
	// Before is the time up to which what it needs was published.
	Before time.Time `json:"before"`
}

// installedCopies are the copies that this command installed, and notes of those that
// this user did. It is safe for concurrent use.
type installedCopies struct {
	// notes is the folder of the notes; empty without notes. It is the user's, where no
	// tool writes and no repository brings a note along: a copy in the store of a
	// project counts for a server without a pin only when this user installed it.
	notes string

	mu   sync.Mutex
	runs map[install.Package]func() (installedCopy, error)
}

// notesOfPackages is the folder of the notes of installed copies; empty without a home.
func (env *Environment) notesOfPackages() string {
	if env.Home == "" {
		return ""
	}
	return filepath.Join(userFolder(env.Home), "packages")
}

// installOnce installs a package in the versions of a time once, for all who ask.
func (c *installedCopies) installOnce(p install.Package, before time.Time, run func(install.Package) (installedCopy, error)) (installedCopy, error) {
	p.Before, p.Bin = before, "" // all programs of a package are installed
	c.mu.Lock()
	installs := c.runs[p]
	if installs == nil {
		installs = sync.OnceValues(func() (installedCopy, error) { return run(p) })
		if c.runs == nil {
			c.runs = map[install.Package]func() (installedCopy, error){}
		}
		c.runs[p] = installs
	}
	c.mu.Unlock()
	return installs()
}

// noteFile is the file of the note of a copy.
func (c *installedCopies) noteFile(key string) string {
	return filepath.Join(c.notes, digest.Text(key)[:32]+".json")
}

// findNote returns what is noted of a copy that is young enough.
func (c *installedCopies) findNote(key string, now time.Time) (is installedCopy, ok bool) {
	if c.notes == "" {
		return is, false
	}
	f, err := os.Open(c.noteFile(key))
	if err != nil {
		return is, false
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxNote)).Decode(&is); err != nil {
		return is, false
	}
	age := now.Sub(is.Before)
	return is, age >= 0 && age < shareFor
}

// writeNote notes a copy. Without the note it is installed again the next time.
func (c *installedCopies) writeNote(key string, is installedCopy) {
	if c.notes == "" {
		return
	}
	text, err := json.Marshal(is)
	if err != nil || os.MkdirAll(c.notes, 0o700) != nil {
		return
	}
	_ = fsx.ReplaceFile(c.noteFile(key), text)
}
