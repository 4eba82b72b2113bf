package importer

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/profiles"
	"github.com/sallyport/sallyport/internal/reach"
)

// StateFolder is the folder of the workspace in which servers that need one
// have a folder of their own.
const StateFolder = ".mcp-state"

// statePath returns the folder of a server as the configuration spells it.
func (p *plannedServer) statePath() string { return "${workspace}/" + StateFolder + "/" + p.name }

// knownVariable returns what the profile says of a variable.
func (p *plannedServer) knownVariable(name string) profiles.Variable {
	if p.profile == nil {
		return profiles.Variable{}
	}
	return p.profile.Env[name]
}

// needsNoLogin reports whether it is known that a remote server admits everyone.
func (p *plannedServer) needsNoLogin() bool {
	return p.profile != nil && p.profile.Remote != nil && p.profile.Remote.Login == profiles.LoginNone
}

// isKnownPlain reports whether the profile says that a variable holds no
// secret, and its value does not look like one.
func (p *plannedServer) isKnownPlain(name, text string) bool {
	v := p.knownVariable(name)
	return (v.Plain || v.Host || v.Database || v.Path != "" || v.Set != "" || v.State != "") && !clients.SecretText(text) &&
		clients.Credential([]string{"url", text}, 1) == ""
}

// nameKnown takes in what the value of a known variable names: a host or a
// path.
func (p *plannedServer) nameKnown(name, text string) {
	v := p.knownVariable(name)
	if v.Host || v.Database {
		p.nameHost(name, text)
	}
	if v.Path != "" && filepath.IsAbs(text) {
		p.addPath(text, v.Path)
	}
}

func (p *plannedServer) addPath(path string, access profiles.Access) {
	if p.paths == nil {
		p.paths = map[string]profiles.Access{}
	}
	p.paths[filepath.Clean(path)] = access
}

// setKnownVariables sets the variables that the profile sets.
func (i *clientImport) setKnownVariables(p *plannedServer) {
	if p.profile == nil || len(p.entry.Command) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.profile.Env)) {
		v, given := p.profile.Env[name], p.entry.Env[name]
		switch {
		case v.State != "":
			i.setStateVariable(p, name, v.State, given)
		case given != "" || v.Set == "":
		case strings.HasPrefix(v.Set, profiles.Chromium):
			if path, ok := i.findBrowser(p); ok {
				i.addPlainVariable(p, name, path)
			}
		default:
			i.addPlainVariable(p, name, v.Set)
		}
	}
	if fs := p.profile.Capabilities.FSReach; fs != nil {
		p.usesState = true
	}
}

// setStateVariable leads a server to its state: where the client has it, when
// that lies in the workspace, else to the server's own folder.
func (i *clientImport) setStateVariable(p *plannedServer, name, file, given string) {
	folder := given
	if file != "." {
		folder = filepath.Dir(given)
	}
	if filepath.IsAbs(given) && i.isInWorkspace(folder) {
		p.addPath(folder, profiles.Write)
		return
	}
	p.usesState = true
	to := p.statePath()
	if file != "." {
		to += "/" + file
	}
	if p.entry.Env == nil {
		p.entry.Env = map[string]string{}
	}
	p.entry.Env[name] = to
	if given != "" {
		p.addNote("%s names %s, where nothing may be written: %s takes its place; copy what is there", name, given, to)
	}
}

// isInWorkspace reports whether a folder lies in the workspace, wherever its
// links lead.
func (i *clientImport) isInWorkspace(folder string) bool {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	workspace, err := filepath.EvalSymlinks(i.config.Workspace)
	return err == nil && reach.Within(workspace, real)
}

// proposeKnown adds to the proposal what the profile says.
func (i *clientImport) proposeKnown(p *plannedServer) {
	known := p.profile
	if known == nil {
		return
	}
	if len(p.entry.Command) == 0 {
		if known.Remote != nil {
			p.addRemarks(known.Remote.Remarks)
		}
		return
	}
	p.addRemarks(known.Remarks)
	i.proposeKnownPaths(p)
	for _, arg := range p.entry.Command[1:] {
		p.nameHost("an argument", arg)
	}
	c := &p.entry.Capabilities
	hosts := slices.Clone(p.named)
	if len(hosts) == 0 {
		hosts = slices.Clone(known.Hosts())
	}
	if c.Network != nil {
		hosts = append(hosts, c.Network.AllowedHosts...)
	}
	if len(hosts) > 0 {
		slices.Sort(hosts)
		c.Network = &sallyport.NetworkCapability{AllowedHosts: slices.Compact(hosts)}
	}
	if known.Capabilities.Process != nil {
		c.Process = &sallyport.ProcessCapability{AllowedBinaries: slices.Clone(known.Capabilities.Process.AllowedBinaries)}
	}
}

// proposeEffects adds what the profile says that the tools do, where the declaration
// starts the package of which it says that.
func (p *plannedServer) proposeEffects() {
	if known, pkg := findProfile(p.entry.Command); known != nil {
		p.entry.Effects = known.EffectsOf(profiles.Registry(pkg.Registry), pkg.Name)
	}
}

func (p *plannedServer) addRemarks(remarks []string) {
	for _, remark := range remarks {
		p.addNote("%s", remark)
	}
}

// proposeKnownPaths adds write access to what arguments and variables name, as
// far as it lies in the workspace, and the server's own folder.
func (i *clientImport) proposeKnownPaths(p *plannedServer) {
	var reads, writes []string
	for _, path := range slices.Sorted(maps.Keys(p.paths)) {
		reads = append(reads, path)
		if p.paths[path] == profiles.Write {
			writes = append(writes, i.writable(p, path)...)
		}
	}
	if p.profile.Arguments.Paths == profiles.Write {
		for _, path := range p.argumentPaths() {
			list := i.writable(p, path)
			reads, writes = append(reads, list...), append(writes, list...)
		}
	}
	if p.profile.Cwd != "" && p.entry.Cwd == "" {
		p.usesState = true
		p.entry.Cwd = p.statePath()
	}
	if p.usesState {
		reads, writes = append(reads, p.statePath()), append(writes, p.statePath())
	}
	if len(reads)+len(writes) > 0 {
		p.entry.Capabilities.FSReach = joinPaths(p.entry.Capabilities.FSReach, &sallyport.FSCapability{
			Read: sallyport.Paths(reads...), Write: sallyport.Paths(slices.Compact(writes)...),
		})
	}
}

// argumentPaths returns the absolute paths that the arguments name.
func (p *plannedServer) argumentPaths() (paths []string) {
	for _, arg := range p.entry.Command[1:] {
		option, path, ok := strings.Cut(arg, "=")
		if !ok || !strings.HasPrefix(option, "-") {
			path = arg
		}
		if filepath.IsAbs(path) && !slices.Contains(profiles.Browsers, path) && installedFile.FindString(path) == "" {
			paths = append(paths, filepath.Clean(path))
		}
	}
	return paths
}

// writable returns the folder to write for a path: the folder itself or that of
// a file. It is empty for a path outside of the workspace, with a note.
func (i *clientImport) writable(p *plannedServer, path string) []string {
	folder := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() || errors.Is(err, os.ErrNotExist) && filepath.Ext(path) != "" {
		folder = filepath.Dir(path)
	}
	within := func(dir string) bool { return reach.Within(dir, path) }
	switch {
	case slices.ContainsFunc(p.readOnly, within):
		return nil
	case i.isInWorkspace(folder):
		return []string{folder}
	case reach.Within(folder, i.config.Workspace):
		p.addNote("it may write the workspace alone, and not all of %s", folder)
		return []string{i.config.Workspace}
	default:
		p.addNote("it may not write %s, which is outside of the workspace: sallyport grant %s --write %s", folder, p.name, folder)
		return nil
	}
}

// makeStateFolders makes the folders of the servers that have one. A link on
// the way is refused: it might lead out of the workspace.
func (i *clientImport) makeStateFolders(p *serverPlan) (err error) {
	var names []string
	for _, s := range p.readyServers() {
		if s.usesState {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	root, err := os.OpenRoot(i.config.Workspace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range append([]string{""}, names...) {
		dir := filepath.Join(StateFolder, name)
		if err := root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		info, err := root.Lstat(dir)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return &os.PathError{Op: "use", Path: filepath.Join(i.config.Workspace, dir), Err: errors.New("it is no folder, and a link is not followed")}
		}
	}
	// Git leaves out the folder: it holds what servers keep.
	f, err := root.OpenFile(filepath.Join(StateFolder, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}
