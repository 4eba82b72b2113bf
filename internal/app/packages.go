package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/lock"
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
	from := &rt.Config.Packages
	o.NPM = cmp.Or(from.NPM, o.NPM)
	if from.PyPI != "" {
		o.PyPI, o.PyPIFiles = from.PyPI, hostRoot(from.PyPI)
	}
	o.PyPIFiles = cmp.Or(from.PyPIFiles, o.PyPIFiles)
	rt.Packages, err = install.New(filepath.Join(rt.ownFolder(), "packages"), &o)
	return err
}

// ownFolder returns the runtime's own folder beside the state, which no tool
// and no child reaches.
func (rt *Runtime) ownFolder() string {
	dir := cmp.Or(rt.Config.Dir, rt.Env.Dir)
	if rt.Config.State.Path != "" {
		dir = filepath.Dir(rt.Config.State.Path)
	}
	if filepath.Base(dir) != StateDir {
		dir = filepath.Join(dir, StateDir)
	}
	return resolveLinks(dir)
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
	stderr   io.Writer
}

// installing is the only role of that gate. It reaches private addresses of
// registries only where the configuration allows them.
const installing = "packages"

// installRole is the ceiling of installations.
type installRole struct{ ceiling *sallyport.Personality }

// Personality implements sallyport.Personalities with the one role.
func (r installRole) Personality(name string) (*sallyport.Personality, bool) {
	return r.ceiling, name == installing
}

func (rt *Runtime) installRole() installRole {
	return installRole{&sallyport.Personality{
		Name: installing, Network: &sallyport.NetworkPolicy{Allow: rt.Packages.Hosts(), AllowPrivate: rt.Config.Packages.AllowPrivate},
	}}
}

func (rt *Runtime) newInstaller(t *Deployment) *packageInstaller {
	return &packageInstaller{
		backends: sallyport.Backends{Network: rt.network, Files: rt.files, Process: rt.Children, Personalities: rt.installRole()},
		options:  registry.Options{Recorder: rt.log, Switches: rt.Switches, Logger: rt.Logger, Workspace: t.Config.Workspace},
		store:    rt.Packages, stderr: rt.Env.Stderr,
	}
}

// callOnce makes one call through a gate of its own.
func (i *packageInstaller) callOnce(ctx context.Context, server string, tool sallyport.Tool) sallyport.Result {
	tool.Name = tool.Name + "-" + server
	backends, options := i.backends, i.options
	r, err := registry.New(&backends, &options)
	if err == nil {
		defer func() { _ = closeRegistry(ctx, r)() }()
		err = r.Register(tool)
	}
	if err != nil {
		return sallyport.Err(err.Error(), "")
	}
	return r.Call(ctx, &sallyport.Caller{
		Principal: sallyport.Principal{Name: sallyport.LocalPrincipal}, Personality: installing, Platform: sallyport.PlatformCLI, Workspace: options.Workspace,
	}, sallyport.Request{Tool: tool.Name})
}

// installPackage installs the package of a server with its dependencies, in the
// versions that existed at the time before.
func (i *packageInstaller) installPackage(ctx context.Context, s *upstream.Server, before time.Time) (*lock.Package, error) {
	fmt.Fprintf(i.stderr, "sallyport: installing %s for %s\n", s.Package, s.Name)
	pkg := *s.Package
	pkg.Before = before
	is, err := pkg.Installed(i.callOnce(ctx, s.Name, i.store.Tool(pkg)))
	if err != nil {
		return nil, errors.New(text.PrintableLine(unwrapText(err.Error())))
	}
	o, err := i.store.Open(is.Package, is.Digest)
	if err != nil {
		return nil, err
	}
	p := packageOf(&o, i.store)
	p.Before = before.UTC().Format(time.RFC3339)
	return p, nil
}

// suggestVersion returns the version to write for a package that names none.
func (i *packageInstaller) suggestVersion(ctx context.Context, s *upstream.Server, missing error) string {
	if !errors.Is(missing, install.ErrUnpinned) {
		return missing.Error()
	}
	found, err := s.Package.Resolved(i.callOnce(ctx, s.Name, i.store.Resolve(*s.Package)))
	if err != nil {
		return missing.Error() + "; the registry was asked for the newest: " + text.PrintableLine(unwrapText(err.Error()))
	}
	sign := "@"
	if found.Registry == install.PyPI {
		sign = "=="
	}
	return fmt.Sprintf("%s names no exact version: write %s%s%s, which is the newest", s.Package.Name, found.Name, sign, found.Version)
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

// installMissingPackage installs the pinned package of a server that is not installed here yet.
// Every installed file must match the pin.
func (t *Deployment) installMissingPackage(ctx context.Context, l *ServerLaunch) {
	s := &l.declared
	if l.pkg == nil || l.Why != "" || len(t.RolesWith(s.Name)) == 0 {
		return
	}
	if _, err := os.Lstat(l.mounted.Programs[0]); !errors.Is(err, fs.ErrNotExist) {
		return
	}
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
