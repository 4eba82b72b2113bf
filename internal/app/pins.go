package app

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/lock"
)

// LockName is the name of the file that pins upstream servers. It lies beside
// the configuration.
const LockName = "sallyport.lock"

// maxProgram bounds a file whose digest is computed, in bytes. The largest
// interpreters have some 200 MiB.
const maxProgram = 1 << 30

// PinPolicy says how a command treats servers that differ from their pins.
type PinPolicy string

const (
	// HoldPins starts and offers only what is pinned, if anything is pinned.
	HoldPins PinPolicy = ""
	// AskChanged also asks pinned servers what they offer now.
	AskChanged PinPolicy = "changed"
	// AskNew also asks servers that are not pinned.
	AskNew PinPolicy = "new"
)

// startWait returns how long one server may take to start; 0 means the default.
func (p PinPolicy) startWait() time.Duration {
	if p == HoldPins {
		return 0
	}
	return pinWait
}

// LockPins compares the servers of a deployment with the lock file. It is safe for
// concurrent use once the deployment is in force.
type LockPins struct {
	// Path is the path of the lock file; empty without a configuration file.
	Path string
	// File is nil when there is no lock file: then nothing is pinned.
	File *lock.File
	// digest is the digest of the lock file's text, or empty when there is no
	// file. launches maps each server to the digest of its pinned launch.
	digest   string
	launches map[string]string
	// Policy says how servers are treated that differ from their pins.
	Policy PinPolicy
	store  *install.Store
	// variables holds the values of the variables in declared paths.
	variables map[string]string
	// Servers maps each declared server to how it is started.
	Servers map[string]*ServerLaunch
	// written holds the servers that run files which tools may write.
	written map[string]*WrittenProgram

	// showCommand returns a command for the user; nil means one for the usual
	// configuration.
	showCommand func(command string) string
	// commandLine returns a command for the user of any folder.
	commandLine func(command string) string

	mu sync.Mutex // guards what the starts of servers write to Servers
}

// ServerLaunch describes how one server is started.
type ServerLaunch struct {
	// declared is what the operator wrote. mounted is what runs: the installed
	// copy in place of a launcher.
	declared, mounted upstream.Server
	// Why is the reason when nothing can run, else empty. hint says what an operator
	// does about it, where it differs from its pin.
	Why, hint string
	// Version is the version to write for a package that names none; empty when it
	// is not known.
	Version string
	// filesStand says that its declared files stand in some role.
	filesStand bool
	// pkg is the installed package that runs; nil for other servers.
	pkg *lock.Package
	// Attempted is the launch that was last attempted; nil before the first attempt.
	Attempted *lock.Launch
	// Refused is the reason why that launch was refused, else empty.
	Refused string
}

// ReadPins reads the lock file beside a configuration, or the text in its place.
func ReadPins(c *config.Config, store *install.Store, l PinPolicy, texts map[string][]byte) (*LockPins, error) {
	p := &LockPins{Policy: l, store: store, Servers: map[string]*ServerLaunch{}, launches: map[string]string{}, written: map[string]*WrittenProgram{}}
	if len(c.Files) == 0 {
		return p, nil
	}
	p.Path = filepath.Join(c.Dir, LockName)
	if _, given := texts[p.Path]; !given && !fsx.Exists(p.Path) {
		return p, nil
	}
	file, err := p.loadFile(texts)
	if err != nil {
		return nil, fmt.Errorf("%w\nNothing that it pins is started: put the file back, or move it away to serve without pins", err)
	}
	p.File = file
	for name, s := range p.PinnedServers() {
		p.launches[name] = s.Launch.Digest()
	}
	return p, nil
}

// loadFile reads the lock file, or the text in its place.
func (p *LockPins) loadFile(texts map[string][]byte) (file *lock.File, err error) {
	if text, ok := texts[p.Path]; ok {
		return lock.Parse(p.Path, text)
	}
	if p.digest, err = lockDigest(p.Path); err != nil {
		return nil, err
	}
	return lock.Load(p.Path)
}

// lockDigest returns the digest of a lock file, or an empty text when there is
// no file.
func lockDigest(path string) (string, error) {
	if !fsx.Exists(path) {
		return "", nil
	}
	b, err := digestBinary(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return b.SHA256, err
}

// PinnedServer returns what is pinned of a server.
func (p *LockPins) PinnedServer(server string) (s lock.Server, ok bool) {
	s, ok = p.PinnedServers()[server]
	return s, ok
}

// PinnedServers returns everything that is pinned.
func (p *LockPins) PinnedServers() map[string]lock.Server {
	if p.File == nil {
		return nil
	}
	return p.File.Servers
}

// checkStart checks the launch of a server right before the server is started or
// contacted.
func (p *LockPins) checkStart(server, file string) error {
	l := p.Servers[server]
	if l == nil {
		return sallyport.Err("the MCP server "+server+" is not declared", "").Err()
	}
	if w := p.written[server]; w != nil && !w.isUnchanged() {
		return sallyport.Err("the MCP server "+server+" is not started: "+errChangedProgram.Error()+"; "+p.Command("check")+" says which", "").Err()
	}
	now, err := l.describeLaunch(p.store, file)
	if err != nil {
		return sallyport.Err(fmt.Sprintf("the MCP server %s is not started: %v", server, err), "").Err()
	}
	why := ""
	_, known := p.PinnedServer(server)
	if p.File != nil && (known || p.Policy != AskNew) {
		why = p.checkLaunch(server, &now)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l.Attempted, l.Refused = &now, why
	if why != "" {
		return sallyport.Err("the MCP server "+server+" is not started: "+why, "").Err()
	}
	return nil
}

// LastRefusal returns the reason why the last start of a server was refused.
func (p *LockPins) LastRefusal(server string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.Servers[server]; l != nil {
		return l.Refused
	}
	return ""
}

// describeLaunch returns the present launch of a server. It reads every file that runs.
func (l *ServerLaunch) describeLaunch(store *install.Store, file string) (lock.Launch, error) {
	now := l.declared.Launch()
	// The declaration of a package names its launcher, which does not run.
	now.Capabilities, now.FilesStand, now.Dir = l.mounted.Launch().Capabilities, l.filesStand, l.declared.Dir
	if file != "" {
		b, err := digestBinary(file)
		if err != nil {
			return now, err
		}
		now.Binary = &b
	}
	for _, path := range l.declared.Programs {
		b, err := digestBinary(path)
		if err != nil {
			return now, err
		}
		now.Programs = append(now.Programs, b)
	}
	if l.pkg != nil {
		o, err := store.Open(*l.declared.Package, l.pkg.SHA256)
		if err != nil {
			return now, err
		}
		now.Package = packageOf(&o, store)
		now.Package.Before = l.pkg.Before
	}
	return now, nil
}

// digestBinary computes the digest of a file.
func digestBinary(path string) (b lock.Binary, err error) {
	sum, err := digest.File(path, maxProgram)
	if err != nil {
		return b, err
	}
	return lock.Binary{Path: path, SHA256: hex.EncodeToString(sum[:])}, nil
}

// checkDefinition reports whether a definition is pinned.
func (p *LockPins) checkDefinition(server string, kind lock.Kind, definition json.RawMessage) (ok bool, why string) {
	if p.File == nil || p.Policy != HoldPins {
		return true, ""
	}
	return p.File.CheckDefinition(server, kind, definition)
}

// addPinToGrant adds the pinned launch of a server to the values on which its grant
// depends, so that a process that was started under another pin is not used.
func (p *LockPins) addPinToGrant(of func(server, role string) string) func(server, role string) string {
	return func(server, role string) string { return p.launches[server] + of(server, role) }
}

// placeServer returns what runs for a server. For a package that is the pinned
// installed copy. A command that only looks installs the declared package, if
// there is an installer.
func (p *LockPins) placeServer(ctx context.Context, s *upstream.Server, i *packageInstaller) *ServerLaunch {
	l := &ServerLaunch{declared: *s, mounted: *s}
	if s.Package == nil {
		return l
	}
	l.mounted.Package = nil
	was, known := p.PinnedServer(s.Name)
	same := known && was.Package != nil && was.Package.Registry == string(s.Package.Registry) && was.Package.Source == p.store.Source(s.Package.Registry) &&
		was.Package.Name == s.Package.Name && was.Package.Version == s.Package.Version
	switch err := s.Package.Check(); {
	case err != nil && (p.Policy != AskNew || i == nil):
		l.Why = err.Error() + "; " + p.Command("lock") + " says which is the newest"
		return l
	case err != nil:
		l.Version, l.Why = i.suggestVersion(ctx, s, err)
	case same:
		l.pkg = was.Package
	case i != nil && (p.Policy == AskNew || p.Policy == AskChanged && known):
		l.pkg, err = i.shareOrInstall(ctx, s)
		if err != nil {
			l.Why = err.Error()
		}
	case known:
		l.Why = "another package is pinned than " + s.Package.String()
	default:
		l.Why = "the package " + s.Package.String() + " is not pinned"
	}
	if l.pkg != nil {
		l.mounted.Command, l.Why = l.installedCommand(p.store)
		l.mounted.Programs = append([]string{p.store.Folder(*s.Package, l.pkg.SHA256)}, s.Programs...)
	}
	if l.Why != "" && p.Policy == HoldPins {
		l.hint = p.hintFor(s.Name)
	}
	return l
}

// Command returns a command of this program for a user in the working folder.
func (p *LockPins) Command(command string) string {
	if p.showCommand == nil {
		return "sallyport " + command
	}
	return p.showCommand(command)
}

// hintFor says what an operator does about a server that differs from its pins.
func (p *LockPins) hintFor(server string) string {
	if _, known := p.PinnedServer(server); known {
		return ": " + p.Command("diff "+server) + " shows what changed"
	}
	return ": " + p.Command("lock") + " pins what it is now"
}

// listQuarantined lists the definitions that servers offer and that differ from
// their pins, so that they may not be used.
func (p *LockPins) listQuarantined(offers map[string]*lock.Offer) map[offeredDefinition]bool {
	out := map[offeredDefinition]bool{}
	for server, o := range offers {
		for kind, list := range map[lock.Kind][]json.RawMessage{
			lock.KindTool: o.Tools, lock.KindPrompt: o.Prompts, lock.KindResource: o.Resources, lock.KindTemplate: o.Templates,
		} {
			for _, raw := range list {
				if ok, _ := p.checkDefinition(server, kind, raw); !ok {
					out[offeredDefinition{server, kind, keyOf(kind, raw)}] = true
				}
			}
		}
	}
	return out
}

// offeredDefinition identifies a definition of a server.
type offeredDefinition struct {
	server string
	kind   lock.Kind
	name   string
}

// keyOf returns the name of a definition, or an empty text when it has none. It
// compares field names letter by letter, as the code that mounts definitions
// does. A case-insensitive reader would take "Name" for the name and check the
// wrong one for conflicts.
func keyOf(kind lock.Kind, raw json.RawMessage) (name string) {
	var d map[string]json.RawMessage
	// A definition that cannot be read was left out before, with its reason.
	_ = json.Unmarshal(raw, &d)
	_ = json.Unmarshal(d[kind.Key()], &name)
	return name
}
