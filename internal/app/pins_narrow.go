package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/reach"
)

// checkLaunch returns the reason why a server may not be started as its launch is
// now; empty when it may. A declaration that reaches less than the pinned one needs
// no new pin.
func (p *LockPins) checkLaunch(server string, now *lock.Launch) (why string) {
	if ok, why := p.File.CheckLaunch(server, now); !ok {
		return why
	}
	was, _ := p.PinnedServer(server)
	if path := p.leadingOut(&was.Launch, now); path != "" {
		return "the server may reach something new: " + path + " leads out of what is pinned by a link"
	}
	return ""
}

// CheckDeclared returns the reason why a pinned server may not touch what is declared
// now; empty when it may. It looks at the declaration alone, not at what runs.
func (p *LockPins) CheckDeclared(server string) (why string) {
	l, was := p.Servers[server], p.PinnedServers()[server]
	if l == nil {
		return "it is not declared"
	}
	now := was.Launch
	now.Capabilities, now.FilesStand = l.Capabilities()
	return p.checkLaunch(server, &now)
}

// CheckCommand returns the reason why a pinned server is not started by the command that
// is declared now; empty when it is. It looks at the declaration alone, not at what it may
// touch, nor at the files that run.
func (p *LockPins) CheckCommand(server string) (why string) {
	l, was := p.Servers[server], p.PinnedServers()[server]
	if l == nil {
		return "it is not declared"
	}
	if l.Why != "" {
		return l.Why
	}
	now := l.declared.Launch()
	now.Capabilities, now.FilesStand, now.Dir = was.Capabilities, was.FilesStand, l.declared.Dir
	now.Binary, now.Programs, now.Package = was.Binary, was.Programs, was.Package
	return p.checkLaunch(server, &now)
}

// Capabilities returns what a server may touch as it is declared now, and whether the
// declared files stand in some role.
func (l *ServerLaunch) Capabilities() (c sallyport.Capabilities, filesStand bool) {
	return l.mounted.Launch().Capabilities, l.filesStand
}

// filesStand reports whether the files that a server declares stand in some role.
func (t *Deployment) filesStand(s *upstream.Server) bool {
	fs := s.Capabilities.FSReach
	if fs == nil || len(fs.Read.Paths)+len(fs.Write.Paths) == 0 {
		return false
	}
	tool := sallyport.Tool{Name: toolsNamed(s.Name)}
	return slices.ContainsFunc(t.Config.Names(), func(role string) bool {
		p, _ := t.Config.Personality(role)
		return p.FilesStand(&tool)
	})
}

// leadingOut returns a declared path that lies below a pinned one by its name, and
// elsewhere by a link.
func (p *LockPins) leadingOut(was, now *lock.Launch) string {
	for _, name := range [...]string{"fs_reach.read", "fs_reach.write", "process.execFrom"} {
		r, ok := group.FindReach(name)
		if !ok {
			return name
		}
		pinned := r.Declared(&was.Capabilities)
		var places []string
		for _, path := range pinned {
			places = append(places, p.followLinks(path))
		}
		for _, path := range r.Declared(&now.Capabilities) {
			if !slices.Contains(pinned, path) && !r.Covers(places, p.followLinks(path)) {
				return path
			}
		}
	}
	return ""
}

// followLinks returns where a declared path leads now. What does not exist yet is
// taken by its name below the nearest folder that does. A path that cannot be
// followed leads nowhere.
func (p *LockPins) followLinks(declared string) string {
	path, err := reach.Expand(declared, p.variables)
	if err != nil {
		return "" // such as from-personality, which is no path
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			return ""
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
