package importer

import (
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/profiles"
)

// translateLaunch sets what the declaration starts, or the address of a remote server.
func (i *clientImport) translateLaunch(p *plannedServer) {
	s := &p.from
	command := i.stripShell(append([]string{s.Command}, s.Args...))
	switch {
	case s.Command == "" && s.URL == "":
		p.blockServer("it has neither a command nor a url")
	case s.Command != "" && s.URL != "":
		p.blockServer("it has a command and a url: remove one of them")
	case s.URL != "":
		p.profile = profiles.OfURL(s.URL)
		i.translateRemote(p, s.URL)
	default:
		i.translateProgram(p, command)
	}
}

// translateProgram sets what is started in the place of a program of the
// client: the program, the package of a container, or a remote address.
func (i *clientImport) translateProgram(p *plannedServer, command []string) {
	command = i.translateContainer(p, command)
	switch {
	case command == nil:
	case i.translateBridge(p, command):
		p.profile = profiles.OfURL(p.from.URL)
	default:
		if command = i.applyProfile(p, command); command != nil {
			i.translateLocal(p, command)
		}
	}
}

// stripShell removes the shell that Windows needs to start a script of npm.
func (i *clientImport) stripShell(command []string) []string {
	if len(command) > 2 && strings.EqualFold(programName(command[0]), "cmd") && strings.EqualFold(command[1], "/c") {
		return command[2:]
	}
	return command
}

// translateRemote sets the address of a remote server.
func (i *clientImport) translateRemote(p *plannedServer, address string) {
	text, ok := i.resolveReferences(p, "url", address)
	switch {
	case !ok:
	case clients.SecretText(text) || clients.Credential([]string{"url", text}, 1) != "":
		p.blockServer("the url holds what looks like a secret; it was not copied, and an address cannot refer to a secret")
	default:
		p.entry.URL = text
		if strings.EqualFold(p.from.Type, "sse") {
			p.entry.Transport = "sse"
		}
	}
	if p.from.Cwd != "" || p.from.EnvFile != "" || len(p.from.Env) > 0 {
		p.addNote("its environment is not carried over: a remote server runs elsewhere")
	}
}

// translateBridge finds the address of a remote server in a command that only forwards
// messages to it.
func (i *clientImport) translateBridge(p *plannedServer, command []string) bool {
	pkg, args, err := install.Parse(command)
	if pkg.Name != "mcp-remote" || pkg.Registry != install.NPM || len(args) == 0 || err != nil && pkg.Version != "" && pkg.Version != "latest" {
		return false
	}
	p.addNote("mcp-remote is not needed: the gate talks to the address itself")
	i.translateRemote(p, args[0])
	for k := 1; k < len(args); k++ {
		name, value, ok := strings.Cut(nextArgument(args, k), ":")
		switch {
		case args[k] == "--header" && ok:
			name = strings.TrimSpace(name)
			for _, v := range p.from.Env {
				if !strings.Contains(value, "${"+v.Name+"}") {
					continue
				}
				value = strings.ReplaceAll(value, "${"+v.Name+"}", v.Value)
				if !clients.Harmless(v.Name, v.Value) {
					p.secretHeaders = append(p.secretHeaders, textproto.CanonicalMIMEHeaderKey(name))
				}
			}
			p.from.Headers = append(p.from.Headers, clients.Pair{Name: name, Value: strings.TrimSpace(value)})
			k++
		default:
			p.addNote("an option of mcp-remote is not carried over")
		}
	}
	p.from.Env, p.from.Command, p.from.URL = nil, "", args[0]
	return true
}

func nextArgument(args []string, i int) string {
	if i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// translateLocal sets the command and its arguments.
func (i *clientImport) translateLocal(p *plannedServer, command []string) {
	binary, ok := i.resolveReferences(p, "command", command[0])
	if !ok {
		return
	}
	if name := programName(binary); name != binary {
		if !i.isOnSearchPath(p, binary, name) {
			return
		}
		binary = name
	}
	if p.from.Cwd != "" {
		if cwd, ok := i.resolveReferences(p, "cwd", p.from.Cwd); ok {
			p.entry.Cwd = i.absoluteFolder(p, cwd)
		}
	}
	p.entry.Command = []string{binary}
	words := []string{binary}
	for k, arg := range command[1:] {
		text, ok := i.resolveReferences(p, "args", arg)
		words = append(words, text)
		if why := clients.Credential(words, k+1); ok && why != "" {
			p.blockServer("argument %d %s and was not copied, and an argument cannot refer to a secret: %s", k+1, why, p.adviseSecret())
		}
		p.entry.Command = append(p.entry.Command, i.translateArgument(p, text))
	}
	i.addOptions(p)
	i.pinVersion(p)
}

// interpreters lists programs that behave alike wherever they are installed.
var interpreters = []string{
	"npx", "bunx", "uvx", "pipx", "node", "nodejs", "python", "python3", "uv", "bun", "deno", "ruby", "php", "java", "perl", "bash", "sh",
}

// isOnSearchPath reports whether a program may be started by its name, from the search
// path, in place of its path.
func (i *clientImport) isOnSearchPath(p *plannedServer, path, name string) bool {
	dir := filepath.Dir(path)
	_, err := os.Stat(filepath.Join(filepath.Dir(dir), "pyvenv.cfg"))
	system := slices.Contains([]string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}, dir)
	switch {
	case err == nil:
		p.blockServer("%s belongs to a virtual environment: binaries are started by name from the search path; publish the server as a package for uvx, or install what it needs for the system's python3", path)
	case !system && !slices.Contains(interpreters, name):
		p.blockServer("%s: binaries are started by name from the search path: install it there, or write the interpreter that runs it", path)
	default:
		p.addNote("%s is started as %s, from the search path", path, name)
		return true
	}
	return false
}

// programName returns the name of a program without its folder and extension.
func programName(path string) string {
	name := filepath.Base(strings.ReplaceAll(path, `\`, "/"))
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// translateArgument translates one argument. It expands what is relative to a folder of
// the client.
func (i *clientImport) translateArgument(p *plannedServer, text string) string {
	option, path, ok := strings.Cut(text, "=")
	if !ok || !strings.HasPrefix(text, "-") {
		option, path = "", text
	} else {
		option += "="
	}
	relative := path == "." || path == ".." || strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../")
	if base := i.clientFolder(p); base != "" && !filepath.IsAbs(path) {
		if _, err := os.Stat(filepath.Join(base, path)); relative || err == nil && filepath.Ext(path) != "" {
			return option + filepath.Join(base, path)
		}
	}
	if relative {
		p.blockServer("an argument is relative to a folder that the client does not name: write it out")
	}
	return text
}

// absoluteFolder returns an absolute path for a path that is relative to a folder of
// the client.
func (i *clientImport) absoluteFolder(p *plannedServer, path string) string {
	switch {
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case p.from.Project != "":
		return filepath.Join(p.from.Project, path)
	default:
		p.blockServer("cwd is relative to a folder that the client does not name: write it out")
		return ""
	}
}

// pinVersion writes the version from --pin into the command.
func (i *clientImport) pinVersion(p *plannedServer) {
	versions := p.flagValues(i.pins)
	pkg, _, err := install.Parse(p.entry.Command)
	if known := p.profile; len(versions) == 0 && known != nil && known.Version != "" && (pkg.Version == "" || pkg.Version == "latest") {
		versions = []string{known.Version}
	}
	if len(versions) == 0 {
		return
	}
	at := slices.IndexFunc(p.entry.Command, func(arg string) bool {
		rest, ok := strings.CutPrefix(arg, pkg.Name)
		return ok && pkg.Name != "" && (rest == "" || rest[0] == '@' || rest[0] == '=')
	})
	if at < 0 {
		p.blockServer("--pin: it is not started from a package: %v", err)
		return
	}
	pkg.Version = versions[len(versions)-1]
	if err := pkg.Check(); err != nil {
		p.blockServer("--pin: %v", err)
		return
	}
	sign := "@"
	if pkg.Registry == install.PyPI {
		sign = "=="
	}
	p.entry.Command[at] = pkg.Name + sign + pkg.Version
}

// resolveReferences translates a value of the client with its references. A value that
// cannot be translated blocks the server. No message repeats the value.
func (i *clientImport) resolveReferences(p *plannedServer, key, value string) (string, bool) {
	text, refs := i.client.Expand(value, i.env.Home, p.from.Project)
	for _, r := range refs {
		if !r.HasDefault || clients.SecretName(r.Name) {
			p.blockServer("%s refers to %s: write the value in its place", key, r)
			return "", false
		}
		text = strings.Replace(text, r.Text, r.Default, 1)
		p.addNote("%s: the default took the place of the reference to %s", key, r.Name)
	}
	if strings.Contains(text, "${") {
		p.blockServer("%s holds ${, which a declaration would expand", key)
		return "", false
	}
	return text, true
}
