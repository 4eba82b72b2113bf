package pinning

import (
	"context"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

// LockDiff compares the pinned definitions with the present ones.
type LockDiff struct {
	// File is the path of the lock file.
	File string `json:"file"`
	// Same is true when every server is what is pinned.
	Same bool `json:"same"`
	// Servers lists the servers that were asked, sorted by name.
	Servers []ServerState `json:"servers"`
	// Changes lists what differs.
	Changes []lock.Change `json:"changes"`
	// Tools maps each changed tool, as SERVER/TOOL, to the command that
	// accepts that tool alone.
	Tools map[string]string `json:"tools,omitempty"`
	// SHA256 is the digest to expect when everything is accepted.
	SHA256 string `json:"sha256,omitempty"`
	// AcceptAll is the command that accepts everything.
	AcceptAll string `json:"accept,omitempty"`

	now *observedLock
}

// CompareLock compares a part of the lock file with what the servers offer now.
// The paths are the configuration files that the user named.
func CompareLock(ctx context.Context, rt *app.Runtime, paths []string, s lock.Scope) (*LockDiff, error) {
	p := rt.InForce().Servers.Pins
	if p.File == nil {
		return nil, fmt.Errorf("nothing is pinned: there is no %s; %s writes it", p.Path, rt.ShortCommand("lock"))
	}
	_, pinned := p.PinnedServer(s.Server)
	if s.Server != "" && !pinned && p.Servers[s.Server] == nil {
		return nil, fmt.Errorf("%s is neither declared nor pinned", text.PrintableLine(s.Server))
	}
	now := lookAt(ctx, rt, func(server string) bool { return s.Server == "" || s.Server == server })
	d := &LockDiff{File: p.Path, Changes: markChanges(rt, paths, now), now: now, Tools: map[string]string{}}
	if s.Server == "" {
		if digest, err := now.file.Digest(s); err == nil && len(d.Changes) > 0 {
			d.SHA256, d.AcceptAll = digest, acceptCommand(paths, s, digest)
		}
	} else {
		d.Changes = slices.DeleteFunc(d.Changes, func(c lock.Change) bool { return c.Server != s.Server })
	}
	for _, c := range d.Changes {
		one := lock.Scope{Server: c.Server, Tool: c.Name}
		if digest, err := now.file.Digest(one); c.Kind == lock.KindTool && err == nil {
			d.Tools[one.String()] = acceptCommand(paths, one, digest)
		}
	}
	d.Servers = append([]ServerState{}, now.states...)
	d.Same = len(d.Changes) == 0 && !slices.ContainsFunc(d.Servers, func(s ServerState) bool {
		return s.State == StateUnknown || s.State == StateUnpinned
	})
	return d, nil
}

// markChanges marks the servers that differ and returns the changes.
func markChanges(rt *app.Runtime, paths []string, now *observedLock) []lock.Change {
	own := []string{}
	for _, tool := range rt.InForce().Tools {
		own = append(own, tool.Name)
	}
	asked := &lock.File{Servers: map[string]lock.Server{}}
	for name, s := range rt.InForce().Servers.Pins.PinnedServers() {
		if rt.InForce().Servers.Pins.Servers[name] == nil || slices.ContainsFunc(now.states, func(st ServerState) bool { return st.Server == name }) {
			asked.Servers[name] = s
		}
	}
	changes := lock.Diff(asked, now.file, own...)
	changes = slices.DeleteFunc(changes, func(c lock.Change) bool {
		// A server that this command has just added is no change of a pin.
		return slices.ContainsFunc(now.states, func(st ServerState) bool { return st.Server == c.Server && st.State == StateAdded })
	})
	for i := range now.states {
		st := &now.states[i]
		if !slices.ContainsFunc(changes, func(c lock.Change) bool { return c.Server == st.Server }) {
			continue
		}
		if st.State == StatePinned {
			st.State = StateChanged
		}
		if digest, err := now.file.Digest(lock.Scope{Server: st.Server}); err == nil {
			st.SHA256, st.Accept = digest, acceptCommand(paths, lock.Scope{Server: st.Server}, digest)
		}
	}
	return changes
}

// AcceptCommand returns the command that accepts a part of what was found; empty
// when there is nothing in it.
func (d *LockDiff) AcceptCommand(paths []string, s lock.Scope) string {
	digest := d.DigestOf(s)
	if digest == "" {
		return ""
	}
	return acceptCommand(paths, s, digest)
}

// ChangesOf returns the changes of a part.
func (d *LockDiff) ChangesOf(s lock.Scope) []lock.Change {
	return slices.DeleteFunc(slices.Clone(d.Changes), func(c lock.Change) bool {
		return s.Server != "" && c.Server != s.Server || s.Tool != "" && (c.Kind != lock.KindTool || c.Name != s.Tool)
	})
}

// DigestOf returns the digest of a part of what was found; empty when there is
// nothing in it.
func (d *LockDiff) DigestOf(s lock.Scope) string {
	digest, err := d.now.file.Digest(s)
	if err != nil {
		return ""
	}
	return digest
}

// acceptCommand returns the command that accepts a part as it was shown.
func acceptCommand(paths []string, s lock.Scope, digest string) string {
	command := "sallyport lock accept" + text.RepeatFlag("config", paths)
	if s.Server != "" {
		command += " " + text.ShellWord(s.String())
	}
	return command + " --expect " + digest
}
