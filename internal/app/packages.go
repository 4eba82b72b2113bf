package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/ownregistry"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// openStorage opens the store of packages beside the state. It uses the
// runtime's own folder: a folder that is named packages may belong to another
// program.
func (rt *Runtime) openStorage() (err error) {
	var o install.Options
	if rt.Env.Packages != nil {
		o = *rt.Env.Packages
	}
	from := &rt.InForce().Config.Packages
	o.NPM = cmp.Or(from.NPM, o.NPM)
	if from.PyPI != "" {
		o.PyPI, o.PyPIFiles = from.PyPI, hostRoot(from.PyPI)
	}
	o.PyPIFiles = cmp.Or(from.PyPIFiles, o.PyPIFiles)
	rt.Packages, err = install.New(filepath.Join(rt.OwnFolder(), "packages"), &o)
	return err
}

// OwnFolder returns the runtime's own folder beside the state, which no tool
// and no child reaches.
func (rt *Runtime) OwnFolder() string { return rt.Env.ownFolder(rt.InForce().Config) }

// StepFolder returns the folder for the note of a change of several files in a folder.
// It is the user's, where no tool writes and no repository brings a note along: a note
// says what the files get.
func (env *Environment) StepFolder(dir string) (string, error) {
	if env.Home == "" {
		return "", errors.New("the user has no home folder, in which a change of several files is noted")
	}
	return filepath.Join(userFolder(env.Home), "steps", digest.Text(resolveLinks(dir))[:16]), nil
}

// ReplaceFiles makes all changes of the configuration in a folder, its lock file and
// the files of clients, or none. The error matches [onestep.ErrChanged] when a file is
// not as it was read.
func (env *Environment) ReplaceFiles(dir string, changes []onestep.Change) error {
	folder, err := env.StepFolder(dir)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = onestep.Replace(folder, changes)
	}
	if errors.Is(err, onestep.ErrChanged) {
		return errors.Join(err, errors.New("nothing was written: run the command again"))
	}
	return err
}

// userFolder returns the folder of this program in a user's home, which is on the
// deny floor.
func userFolder(home string) string { return filepath.Join(home, ".local", "state", "sallyport") }

func (env *Environment) ownFolder(c *config.Config) string {
	dir := cmp.Or(c.Dir, env.Dir)
	if c.State.Path != "" {
		dir = filepath.Dir(c.State.Path)
	}
	if filepath.Base(dir) != StateDir {
		dir = filepath.Join(dir, StateDir)
	}
	return resolveLinks(dir)
}

// OwnRegistries returns the package registries that the user has set for npm and
// pip on this machine.
func (env *Environment) OwnRegistries() *ownregistry.Registries {
	return ownregistry.Read(ownregistry.Machine{Home: env.Home, Lookup: env.Lookup})
}

// OwnCredential returns what these settings send to a registry, npm or pypi, at an
// address; ok is false when they hold nothing for it.
func (env *Environment) OwnCredential(registry, address string) (value sallyport.Secret, ok bool) {
	return ownregistry.ReadCredential(ownregistry.Machine{Home: env.Home, Lookup: env.Lookup}, registry, address)
}

// hostRoot returns the root URL of the host of a URL that was already checked.
func hostRoot(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Scheme + "://" + u.Host + "/"
}

// packageInstaller installs packages through a gate of their own: the child that
// fetches a package reaches the registry and nothing else, and no personality
// of the configuration takes part.
type packageInstaller struct {
	backends sallyport.Backends
	options  registry.Options
	store    *install.Store
	progress Progress
	// ceiling is the only role of that gate, for every registry.
	ceiling sallyport.NetworkPolicy
	// own finds the registries that the machine itself uses.
	own func() *ownregistry.Registries
	// addresses are the URLs of the registries.
	addresses map[install.Registry]string
	// now is the time up to which packages without a pin are installed.
	now time.Time
	// copies are the installed copies.
	copies installedCopies
}

// installing is the name of the only role of that gate. It reaches private
// addresses only where the configuration allows them, or where the machine itself
// uses the registry.
const installing = "packages"

// roleFor returns the role for one tool. Registries that the machine itself uses,
// and the public ones, may have any address but metadata and link-local ones:
// what npm and pip would reach without the gate is no more than before.
func (i *packageInstaller) roleFor(tool *sallyport.Tool) roleTable {
	policy := i.ceiling
	policy.AnyAddress = !slices.ContainsFunc(tool.Capabilities.Network.AllowedHosts, func(host string) bool { return !i.own().Holds(host) })
	return roleTable{installing: {Name: installing, Network: &policy, Secrets: append([]string{}, tool.Capabilities.Secrets...)}}
}

func (rt *Runtime) newInstaller(t *Deployment) *packageInstaller {
	return &packageInstaller{
		ceiling:   sallyport.NetworkPolicy{Allow: rt.Packages.Hosts(), AllowPrivate: rt.InForce().Config.Packages.AllowPrivate},
		own:       sync.OnceValue(rt.Env.OwnRegistries),
		backends:  sallyport.Backends{Network: rt.network, Files: rt.files, Process: rt.Children, Secrets: t.secretsOf},
		addresses: rt.Packages.Addresses(),
		options:   registry.Options{Recorder: rt.log, Switches: rt.Switches, Logger: rt.Logger, Workspace: t.Config.Workspace},
		store:     rt.Packages, progress: rt.Env.progress(), now: time.Now(), copies: installedCopies{notes: rt.Env.notesOfPackages()},
	}
}

// callOnce makes one call through a gate of its own.
func (i *packageInstaller) callOnce(ctx context.Context, server string, tool sallyport.Tool) sallyport.Result {
	tool.Name = tool.Name + "-" + server
	backends, options := i.backends, i.options
	backends.Personalities = i.roleFor(&tool)
	r, err := registry.New(&backends, &options)
	if err == nil {
		defer func() { _ = closeRegistry(ctx, r)() }()
		err = r.Register(tool)
	}
	if err != nil {
		return sallyport.Err(err.Error(), "")
	}
	return r.Call(ctx, localCaller(installing, options.Workspace), sallyport.Request{Tool: tool.Name})
}

// installPackage installs the package of a server with its dependencies, in the
// versions that existed at the time before. Servers of the same package share one
// installed copy.
func (i *packageInstaller) installPackage(ctx context.Context, s *upstream.Server, before time.Time) (*lock.Package, error) {
	is, err := i.copies.installOnce(*s.Package, before, func(pkg install.Package) (installedCopy, error) {
		i.progress.Begin(fmt.Sprintf("installing %s for %s", s.Package, s.Name))
		found, err := pkg.Installed(i.callOnce(ctx, s.Name, i.storeWithSecrets(ctx).Tool(pkg)))
		if err != nil {
			return installedCopy{}, errors.New(text.PrintableLine(unwrapText(err.Error())))
		}
		return installedCopy{Digest: found.Digest, Before: before}, nil
	})
	if err != nil {
		return nil, err
	}
	return i.openCopy(s.Package, is)
}

// openCopy returns an installed copy of a package in the form of the lock file.
func (i *packageInstaller) openCopy(p *install.Package, is installedCopy) (*lock.Package, error) {
	o, err := i.store.Open(*p, is.Digest)
	if err != nil {
		return nil, err
	}
	pinned := packageOf(&o, i.store)
	pinned.Before = is.Before.UTC().Format(time.RFC3339)
	return pinned, nil
}

// shareOrInstall returns a copy of the package of a server that this user installed
// lately, and installs one where there is none.
func (i *packageInstaller) shareOrInstall(ctx context.Context, s *upstream.Server) (*lock.Package, error) {
	key := i.keyOf(s.Package)
	if is, ok := i.copies.findNote(key, i.now); ok {
		if p, err := i.openCopy(s.Package, is); err == nil {
			return p, nil // Every file is what it was when it was installed.
		}
	}
	p, err := i.installPackage(ctx, s, i.now)
	if err == nil {
		i.copies.writeNote(key, installedCopy{Digest: p.SHA256, Before: i.now})
	}
	return p, err
}

// keyOf names a package of its registry in the store of this configuration.
func (i *packageInstaller) keyOf(p *install.Package) string {
	return strings.Join([]string{i.store.Dir(), string(p.Registry), i.store.Source(p.Registry), p.Name, p.Version}, "\x00")
}

// suggestVersion returns the version to write for a package that names none, empty
// when it is not known, and says so to the operator.
func (i *packageInstaller) suggestVersion(ctx context.Context, s *upstream.Server, missing error) (version, why string) {
	if !errors.Is(missing, install.ErrUnpinned) {
		return "", missing.Error()
	}
	answer := i.callOnce(ctx, s.Name, i.storeWithSecrets(ctx).Resolve(*s.Package))
	found, err := s.Package.Resolved(answer)
	if err != nil {
		return "", missing.Error() + "; the registry was asked for the newest: " + text.PrintableLine(unwrapText(err.Error()))
	}
	sign := "@"
	if found.Registry == install.PyPI {
		sign = "=="
	}
	return found.Version, fmt.Sprintf("%s names no exact version: write %s%s%s, which is %s", s.Package.Name, found.Name, sign, found.Version, text.PrintableLine(install.WhyVersion(answer)))
}

// unwrapText removes the wrapper of untrusted output from a text, for a user to
// read.
func unwrapText(text string) string {
	i := strings.Index(text, "<untrusted ")
	if i < 0 {
		return text
	}
	_, inside, _ := strings.Cut(text[i:], ">\n")
	return text[:i] + strings.TrimSuffix(inside, "\n</untrusted>")
}

// lacksPackage reports whether the pinned package of a server that a role may use is
// not installed here yet.
func (t *Deployment) lacksPackage(l *ServerLaunch) bool {
	if l.pkg == nil || l.Why != "" || len(t.RolesWith(l.declared.Name)) == 0 {
		return false
	}
	_, err := os.Lstat(l.mounted.Programs[0])
	return errors.Is(err, fs.ErrNotExist)
}

// installMissingPackage installs the pinned package of a server that lacks it. Every
// installed file must match the pin.
func (t *Deployment) installMissingPackage(ctx context.Context, l *ServerLaunch) {
	s := &l.declared
	before, err := time.Parse(time.RFC3339, l.pkg.Before)
	if err != nil {
		before = time.Now()
	}
	is, err := t.Servers.installer.installPackage(ctx, s, before)
	switch {
	case err != nil:
		l.Why = err.Error()
	case is.SHA256 != l.pkg.SHA256:
		l.Why = fmt.Sprintf("%s or a package that it needs differs from its pin: the files of the registry have the digest %s, the pin says %s", s.Package, is.SHA256, l.pkg.SHA256)
	}
}

// packageOf returns an installed package in the form of the lock file, which is
// the same on every machine.
func packageOf(o *install.Program, from *install.Store) *lock.Package {
	p := &lock.Package{
		Registry: string(o.Package.Registry), Source: from.Source(o.Package.Registry), Name: o.Package.Name, Version: o.Package.Version, Integrity: o.Integrity, SHA256: o.Digest,
	}
	for _, word := range o.Command {
		if rest, ok := strings.CutPrefix(word, o.Folder+string(filepath.Separator)); ok {
			word = lock.PackageFolder + filepath.ToSlash(rest)
		}
		p.Command = append(p.Command, word)
	}
	return p
}

// installedCommand returns the command that runs the installed copy of a package. This
// program wrote the manifest, but another program may have changed it.
func (l *ServerLaunch) installedCommand(store *install.Store) (command []string, why string) {
	if c := l.pkg.Command; len(c) < 2 || c[0] != "node" && c[0] != "python3" {
		return nil, "the lock file names no program that runs its package"
	}
	folder := store.Folder(*l.declared.Package, l.pkg.SHA256)
	for _, word := range l.pkg.Command {
		if rest, ok := strings.CutPrefix(word, lock.PackageFolder); ok {
			word = filepath.Join(folder, filepath.FromSlash(rest))
		}
		command = append(command, word)
	}
	return append(command, l.declared.Arguments...), ""
}
