package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/gateway/lock"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/digest"
)

// lockName is the file beside the configuration that pins upstream servers.
const lockName = "sallyport.lock"

// maxProgram bounds a file whose digest is taken: the largest interpreters have
// some 200 MiB.
const maxProgram = 1 << 30

// look is what a command wants of servers that are not what is pinned.
type look string

const (
	// lookHold starts what is pinned and offers what is pinned, if anything is.
	lookHold look = ""
	// lookChanged asks what pinned servers offer now.
	lookChanged look = "changed"
	// lookNew asks those that are not pinned as well.
	lookNew look = "new"
)

// pins hold the servers of a turn to the lock file. It is safe for concurrent
// use once the turn is in force.
type pins struct {
	path string
	// file is nil when there is none: then nothing is pinned.
	file *lock.File
	// digest is that of the text of the file; empty when there is none. launches
	// are those of the pinned launches by server.
	digest   string
	launches map[string]string
	look     look
	store    *install.Store
	of       map[string]*launched
	// written are the servers that run what tools may write.
	written map[string]*written

	mu sync.Mutex // guards what starts leave in of
}

// launched is what is known of how one server is started.
type launched struct {
	// declared is what the operator wrote, mounted is what runs: an installed
	// copy in the place of a launcher. why says why there is nothing to run.
	declared, mounted upstream.Server
	why               string
	// pkg is the installed package that runs; nil for other servers.
	pkg *lock.Package
	// now is how it was about to be started last, refused why it was not.
	now     *lock.Launch
	refused string
}

// pinsOf reads the lock file beside a configuration.
func pinsOf(c *config.Config, store *install.Store, l look) (*pins, error) {
	p := &pins{look: l, store: store, of: map[string]*launched{}, launches: map[string]string{}, written: map[string]*written{}}
	if len(c.Files) == 0 {
		return p, nil
	}
	p.path = filepath.Join(c.Dir, lockName)
	var err error
	if p.digest, err = lockDigest(p.path); err != nil {
		return nil, err
	}
	file, err := lock.Load(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		// A link that leads nowhere is a lock file that is missing, not the
		// absence of one.
		if _, there := os.Lstat(p.path); there != nil {
			return p, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nNothing that it pins is started: put the file back, or move it away to serve without pins", err)
	}
	p.file = file
	for name, s := range p.all() {
		p.launches[name] = s.Launch.Digest()
	}
	return p, nil
}

// lockDigest is the digest of a lock file, empty when there is none.
func lockDigest(path string) (string, error) {
	b, err := binary(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return b.SHA256, err
}

// pinned returns what is pinned of a server.
func (p *pins) pinned(server string) (s lock.Server, ok bool) {
	s, ok = p.all()[server]
	return s, ok
}

// all is everything that is pinned.
func (p *pins) all() map[string]lock.Server {
	if p.file == nil {
		return nil
	}
	return p.file.Servers
}

// start is asked right before a server is started or greeted.
func (p *pins) start(server, file string) error {
	l := p.of[server]
	if l == nil {
		return sallyport.Err("the MCP server "+server+" is not declared", "").Err()
	}
	if w := p.written[server]; w != nil && !w.unchanged() {
		return sallyport.Err("the MCP server "+server+" is not started: "+errChangedProgram.Error()+"; sallyport check says which", "").Err()
	}
	now, err := l.launch(p.store, file)
	if err != nil {
		return sallyport.Err(fmt.Sprintf("the MCP server %s is not started: %v", server, err), "").Err()
	}
	why := ""
	_, known := p.pinned(server)
	if p.file != nil && (known || p.look != lookNew) {
		_, why = p.file.JudgeLaunch(server, &now)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l.now, l.refused = &now, why
	if why != "" {
		return sallyport.Err("the MCP server "+server+" is not started: "+why, "").Err()
	}
	return nil
}

// refusal says why a server was not started when it was to be started last.
func (p *pins) refusal(server string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.of[server]; l != nil {
		return l.refused
	}
	return ""
}

// launch is how a server is started at this moment. It reads every file that
// runs.
func (l *launched) launch(store *install.Store, file string) (lock.Launch, error) {
	now := l.declared.Launch()
	// The declaration of a launcher names the launcher, which does not run.
	now.Capabilities, now.Dir = l.mounted.Launch().Capabilities, l.declared.Dir
	if file != "" {
		b, err := binary(file)
		if err != nil {
			return now, err
		}
		now.Binary = &b
	}
	for _, path := range l.declared.Programs {
		b, err := binary(path)
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

// binary takes the digest of a file.
func binary(path string) (b lock.Binary, err error) {
	sum, err := digest.File(path, maxProgram)
	if err != nil {
		return b, err
	}
	return lock.Binary{Path: path, SHA256: hex.EncodeToString(sum[:])}, nil
}

// judge says whether a definition is one that is pinned.
func (p *pins) judge(server string, kind lock.Kind, definition json.RawMessage) (ok bool, why string) {
	if p.file == nil || p.look != lookHold {
		return true, ""
	}
	return p.file.JudgeAs(server, kind, definition)
}

// grants adds to what a grant depends on how its server is pinned: a process that
// was started under another pin is not used.
func (p *pins) grants(of func(server, role string) string) func(server, role string) string {
	return func(server, role string) string { return p.launches[server] + of(server, role) }
}

// place says what runs for a server: of a package the installed copy that is
// pinned. Who only looks has what is declared installed, if there is an
// installer.
func (p *pins) place(ctx context.Context, s *upstream.Server, i *installer) *launched {
	l := &launched{declared: *s, mounted: *s}
	if s.Package == nil {
		return l
	}
	l.mounted.Package = nil
	was, known := p.pinned(s.Name)
	same := known && was.Package != nil && was.Package.Registry == string(s.Package.Registry) && was.Package.Source == p.store.Source(s.Package.Registry) &&
		was.Package.Name == s.Package.Name && was.Package.Version == s.Package.Version
	switch err := s.Package.Check(); {
	case err != nil && (p.look != lookNew || i == nil):
		l.why = err.Error() + "; sallyport lock says which is the newest"
		return l
	case err != nil:
		l.why = i.newest(ctx, s, err)
	case same:
		l.pkg = was.Package
	case i != nil && (p.look == lookNew || p.look == lookChanged && known):
		l.pkg, err = i.install(ctx, s, time.Now())
		if err != nil {
			l.why = err.Error()
		}
	case known:
		l.why = "another package is pinned than " + s.Package.String()
	default:
		l.why = "the package " + s.Package.String() + " is not pinned"
	}
	if l.pkg != nil {
		l.mounted.Command, l.why = l.command(p.store)
		l.mounted.Programs = append([]string{p.store.Folder(*s.Package, l.pkg.SHA256)}, s.Programs...)
	}
	if l.why != "" && p.look == lookHold {
		l.why += p.hint(s.Name)
	}
	return l
}

// hint says what an operator does about a server that is not what is pinned.
func (p *pins) hint(server string) string {
	if _, known := p.pinned(server); known {
		return ": sallyport diff " + server + " shows what changed"
	}
	return ": sallyport lock pins what it is now"
}

// quarantined lists what servers offer and may not, as it is not what is
// pinned.
func (p *pins) quarantined(offers map[string]*lock.Offer) map[offered]bool {
	out := map[offered]bool{}
	for server, o := range offers {
		for kind, list := range map[lock.Kind][]json.RawMessage{
			lock.KindTool: o.Tools, lock.KindPrompt: o.Prompts, lock.KindResource: o.Resources, lock.KindTemplate: o.Templates,
		} {
			for _, raw := range list {
				if ok, _ := p.judge(server, kind, raw); !ok {
					out[offered{server, kind, keyOf(kind, raw)}] = true
				}
			}
		}
	}
	return out
}

// offered names a definition of a server.
type offered struct {
	server string
	kind   lock.Kind
	name   string
}

// keyOf is what names a definition; "" when nothing does. Names of fields are
// taken letter by letter, as where definitions are mounted: another reader would
// take "Name" for a name, and look at that one for conflicts.
func keyOf(kind lock.Kind, raw json.RawMessage) (name string) {
	var d map[string]json.RawMessage
	// What cannot be read has been left out already, with its reason.
	_ = json.Unmarshal(raw, &d)
	_ = json.Unmarshal(d[kind.Key()], &name)
	return name
}
