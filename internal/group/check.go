package group

import (
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

func checkNetwork(c *sallyport.Capabilities, fault Fault) {
	n := c.Network
	if len(n.AllowedHosts) == 0 {
		fault("network", "allowedHosts is empty: list hosts, or leave network out")
	}
	for _, h := range n.AllowedHosts {
		if _, err := reach.ParseHost(h); err != nil {
			fault("network", "%v", err)
		}
	}
}

func checkSecrets(c *sallyport.Capabilities, fault Fault) {
	for _, ref := range c.Secrets {
		if _, err := reach.ParseRef(ref); err != nil {
			fault("secrets", "%v", err)
		}
	}
}

func checkStorage(c *sallyport.Capabilities, fault Fault) {
	s := c.Storage
	if !s.Scope.Valid() {
		fault("storage", "scope %q: expected tool-private, session or personality", s.Scope)
	}
	if s.Kind != "kv" {
		fault("storage", `kind %q: expected "kv"`, s.Kind)
	}
	if most := int64(math.MaxInt64 / time.Second); s.TTLSecondsDefault < 0 || s.TTLSecondsDefault > most {
		fault("storage", "ttlSecondsDefault: expected 0 to %d", most)
	}
}

func checkFiles(c *sallyport.Capabilities, fault Fault) {
	f := c.FSReach
	if f.Read.IsZero() && f.Write.IsZero() {
		fault("fs_reach", "neither read nor write is declared")
	}
	checkPaths("fs_reach.read", f.Read, fault)
	checkPaths("fs_reach.write", f.Write, fault)
	switch f.Mode {
	case "", sallyport.FSDirect:
	case sallyport.FSOverlay:
		checkOverlay(c, fault)
	default:
		fault("fs_reach", "mode %q: expected direct or overlay", f.Mode)
	}
}

// checkOverlay checks that the mode fits what has a layer: the writes of
// children. Those of the accessor are single files that are replaced whole,
// and go to the disk.
func checkOverlay(c *sallyport.Capabilities, fault Fault) {
	if c.Process == nil {
		fault("fs_reach", "mode overlay without process: only what child processes write goes to a layer")
	}
	if c.FSReach.Write.IsZero() {
		fault("fs_reach", "mode overlay without write: there is nothing to carry over")
	}
}

func checkPaths(capability string, l sallyport.PathList, fault Fault) {
	if l.FromPersonality && len(l.Paths) > 0 {
		fault(capability, "from-personality and a list exclude each other")
	}
	for _, p := range l.Paths {
		if _, err := reach.Expand(p, anyVariables()); err != nil {
			fault(capability, "%v", err)
		}
	}
}

// anyVariables gives every variable of a declared path some value: at
// registration only their names matter.
func anyVariables() map[string]string {
	return map[string]string{"workspace": "/workspace", "home": "/home", "self": "/self"}
}

func checkProcess(c *sallyport.Capabilities, fault Fault) {
	p := c.Process
	if len(p.AllowedBinaries) == 0 {
		fault("process", "allowedBinaries is empty: list binaries, or leave process out")
	}
	for _, b := range p.AllowedBinaries {
		if _, err := reach.ParseBinary(b); err != nil {
			fault("process", "binary %q: %v", b, err)
		}
	}
	for _, path := range p.Programs {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			fault("process", "program %q: expected a clean absolute path", path)
		}
	}
	checkPaths("process.execFrom", sallyport.Paths(p.ExecFrom...), fault)
	if f := c.FSReach; len(p.ExecFrom) > 0 && (f == nil || f.Write.IsZero()) {
		fault("process.execFrom", "execFrom without fs_reach.write: it lists write reach that may also be executed")
	}
}

func checkAttachments(c *sallyport.Capabilities, fault Fault) {
	a := c.Attachments
	if !a.All && len(a.Kinds) == 0 {
		fault("attachments", `kinds is empty: expected "*", image or file`)
	}
	for _, k := range a.Kinds {
		if k != sallyport.KindImage && k != sallyport.KindFile {
			fault("attachments", "kind %q: expected image or file", k)
		}
	}
}

func checkDatabase(c *sallyport.Capabilities, fault Fault) {
	d := c.Database
	if len(d.Connections) == 0 {
		fault("database", "connections is empty")
	}
	for _, name := range d.Connections {
		if name == "" {
			fault("database", "a connection's name is empty")
		}
	}
	switch d.Mode {
	case "", sallyport.ModeRead, sallyport.ModeWrite:
	default:
		fault("database", "mode %q: expected read or write", d.Mode)
	}
}

func checkMail(c *sallyport.Capabilities, fault Fault) {
	m := c.Mail
	if len(m.To) == 0 {
		fault("mail", "to is empty: list recipients, or leave mail out")
	}
	for _, to := range m.To {
		if _, err := reach.ParseRecipients([]string{to}); err != nil {
			fault("mail", "%v", err)
		}
	}
}

func checkInput(c *sallyport.Capabilities, fault Fault) {
	for i, k := range c.Input {
		if !k.Valid() || slices.Contains(c.Input[:i], k) {
			fault("input", "kind %q: expected each of person, model and folders at most once", k)
		}
	}
}
