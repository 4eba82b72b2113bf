package importer

import (
	"fmt"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/secrets"
)

// translateVariables translates the environment variables of a program.
func (i *clientImport) translateVariables(p *plannedServer) {
	if len(p.entry.Command) == 0 {
		return
	}
	if p.from.EnvFile != "" {
		p.addNote("envFile is not carried over: write its lines under env, and its secrets under secret_env")
	}
	hosts := p.flagValues(i.hosts)
	for _, v := range p.from.Env {
		text, refs := i.client.Expand(v.Value, i.env.Home, p.from.Project)
		switch {
		case v.Value == "":
			// Most programs treat an empty variable like a missing one.
		case !reach.IsEnvName(v.Name):
			p.addNote("a variable is not carried over: %q is not a name of one", v.Name)
		case scoped.ReservedEnv(v.Name):
			p.addNote("%s is not carried over: it steers a child from outside, so that no child gets it", v.Name)
		case len(refs) > 0 && !i.resolveDefaults(p, v.Name, &text, refs) || !i.isHarmless(p, v.Name, text):
			i.secretVariable(p, v.Name, text, refs, hosts)
		default:
			i.addPlainVariable(p, v.Name, text)
		}
	}
}

// isHarmless reports whether a value may be copied: either its name is known to
// hold no secret, or the user says so.
func (i *clientImport) isHarmless(p *plannedServer, name, value string) bool {
	return clients.Harmless(name, value) ||
		slices.ContainsFunc(p.flagValues(i.plains), func(plain string) bool { return strings.EqualFold(plain, name) })
}

// resolveDefaults replaces references by their defaults. It returns false when a
// reference has no default.
func (i *clientImport) resolveDefaults(p *plannedServer, name string, text *string, refs []clients.Ref) bool {
	if clients.SecretName(name) {
		return false
	}
	for _, r := range refs {
		if !r.HasDefault || clients.SecretName(r.Name) {
			return false
		}
	}
	for _, r := range refs {
		*text = strings.Replace(*text, r.Text, r.Default, 1)
		p.addNote("%s: a reference to %s has its default", name, r.Name)
	}
	return true
}

// addPlainVariable adds a variable whose value every user may read.
func (i *clientImport) addPlainVariable(p *plannedServer, name, text string) {
	if strings.Contains(text, "${") {
		p.addNote("%s is not carried over: ${ would be a variable here", name)
		return
	}
	if p.entry.Env == nil {
		p.entry.Env = map[string]string{}
	}
	p.entry.Env[name] = text
}

// secretVariable adds a variable that holds a stand-in. A stand-in is of no use
// without a host that gets the value.
func (i *clientImport) secretVariable(p *plannedServer, name, text string, refs []clients.Ref, hosts []string) {
	what := name + " looks like a secret"
	if !clients.SecretPair(name, text) {
		what = name + " is not known to be harmless"
	}
	if len(refs) > 0 {
		what = name + " refers to " + refs[0].String()
	}
	if len(hosts) == 0 {
		p.lacksHosts = p.lacksHosts || p.state == stateReady
		p.blockServer("%s, and is not copied: say which hosts get its value, with --host %s=HOST%s, or that it is none, with --plain %s=%s", what, p.name, suggestHost(name), p.name, name)
		return
	}
	ref := "mcp/" + p.name + "/" + name
	if p.entry.SecretEnv == nil {
		p.entry.SecretEnv = map[string]secretEnv{}
	}
	p.entry.SecretEnv[name] = secretEnv{Secret: ref, Hosts: hosts}
	p.secrets = append(p.secrets, neededSecret{Name: name, Ref: ref, Put: i.secretInstruction(ref)})
}

// serviceHosts maps prefixes of well-known variables to the hosts that take their
// keys, as the makers document. Import proposes these hosts and never grants
// them by itself.
var serviceHosts = []struct{ begin, host string }{
	{"ANTHROPIC_", "api.anthropic.com"},
	{"BRAVE_", "api.search.brave.com"},
	{"EXA_", "api.exa.ai"},
	{"FIRECRAWL_", "api.firecrawl.dev"},
	{"GEMINI_", "generativelanguage.googleapis.com"},
	{"GITHUB_", "api.github.com"},
	{"GITLAB_", "gitlab.com"},
	{"LINEAR_", "api.linear.app"},
	{"NOTION_", "api.notion.com"},
	{"OPENAI_", "api.openai.com"},
	{"SENTRY_", "sentry.io"},
	{"SLACK_", "slack.com"},
	{"STRIPE_", "api.stripe.com"},
	{"TAVILY_", "api.tavily.com"},
}

// suggestHost returns the usual host for a variable of this name.
func suggestHost(name string) string {
	for _, s := range serviceHosts {
		if strings.HasPrefix(name, s.begin) {
			return " (often " + s.host + ")"
		}
	}
	return ""
}

// secretInstruction describes how the user stores the value of a secret.
func (i *clientImport) secretInstruction(ref string) string {
	prefix := ""
	for _, b := range i.config.Secrets {
		if b.Dir != "" {
			file := filepath.Join(b.Dir, filepath.FromSlash(ref))
			return fmt.Sprintf("the file %s: (umask 077; mkdir -p %s; cat >%s)", file, inShell(filepath.Dir(file)), inShell(file))
		}
		if prefix == "" {
			prefix = b.EnvPrefix
		}
	}
	if prefix == "" {
		return "nothing yet: the configuration has no secrets, such as secrets: [{dir: ./secrets}]"
	}
	name, ok := secrets.Variable(prefix, ref)
	if !ok {
		return "nothing yet: no variable can be named like " + ref + ", and secrets has no dir"
	}
	return "the variable " + name + ": export " + name + "=… where the client is started"
}

// inShell quotes a word for a shell.
func inShell(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// authSchemes lists the prefixes of header values that hold a secret.
var authSchemes = []string{"Bearer ", "Basic ", "Token ", "token ", "ApiKey ", "bearer "}

// translateHeaders translates the headers that the client sends to a remote server.
func (i *clientImport) translateHeaders(p *plannedServer) {
	if p.entry.URL == "" {
		if len(p.from.Headers) > 0 {
			p.addNote("headers are not carried over: they belong to a url")
		}
		return
	}
	p.entry.Headers = map[string]any{}
	for _, h := range p.from.Headers {
		i.translateHeader(p, textproto.CanonicalMIMEHeaderKey(h.Name), h.Value)
	}
	if len(p.entry.Headers) == 0 {
		p.addNote("if it wants a login: add oauth to it, and sallyport login %s", p.name)
	}
}

// translateHeader translates one header. The secret is the whole value, or the part
// behind the name of a scheme.
func (i *clientImport) translateHeader(p *plannedServer, name, value string) {
	text, refs := i.client.Expand(value, i.env.Home, p.from.Project)
	begin, rest := "", text
	for _, s := range authSchemes {
		if after, ok := strings.CutPrefix(text, s); ok {
			begin, rest = s, after
		}
	}
	whole := len(refs) == 1 && rest == refs[0].Text && !refs[0].HasDefault
	if len(refs) > 0 && !whole {
		if !i.resolveDefaults(p, name, &rest, refs) {
			p.blockServer("the header %s refers to %s in the middle of its value: write the value out", name, refs[0])
			return
		}
	}
	if begin == "" && !whole && i.isHarmless(p, name, rest) && !slices.Contains(p.secretHeaders, name) {
		p.entry.Headers[name] = rest
		return
	}
	ref := "mcp/" + p.name + "/" + name
	p.entry.Headers[name] = secretHeader{Secret: ref, Prefix: begin}
	p.secrets = append(p.secrets, neededSecret{Name: name, Ref: ref, Put: i.secretInstruction(ref)})
}

// manifestNames lists the files that mark the folder of a program.
var manifestNames = []string{"package.json", "pyproject.toml", "requirements.txt", "Gemfile", "composer.json"}

// proposeReach proposes what a server may touch: read access to the folders and files
// that its arguments name, the hosts that a flag names, and nothing else.
func (i *clientImport) proposeReach(p *plannedServer) {
	var reads []string
	add := func(path string) {
		if !slices.Contains(reads, path) {
			reads = append(reads, path)
		}
	}
	if p.entry.Cwd != "" {
		add(p.entry.Cwd)
	}
	for k, arg := range p.entry.Command {
		_, path, ok := strings.Cut(arg, "=")
		if !ok || !strings.HasPrefix(arg, "-") {
			path = arg
		}
		info, err := os.Stat(path)
		if k == 0 || !filepath.IsAbs(path) || err != nil {
			continue
		}
		if info.Mode().IsRegular() && filepath.Ext(path) != "" && k == 1 {
			path = findProgramFolder(path)
			p.guessedFolder = path
		}
		add(filepath.Clean(path))
	}
	c := &p.entry.Capabilities
	if len(reads) > 0 {
		c.FSReach = &sallyport.FSCapability{Read: sallyport.Paths(reads...)}
	}
	if hosts := p.flagValues(i.hosts); len(hosts) > 0 {
		if p.entry.URL != "" {
			p.addNote("--host: the host of a url is granted by the url")
			return
		}
		c.Network = &sallyport.NetworkCapability{AllowedHosts: hosts}
	}
}

// noteProposal describes the origin of the proposed capabilities of a program.
func (p *plannedServer) noteProposal(home string) {
	c := &p.entry.Capabilities
	switch {
	case p.entry.URL != "" || p.observed:
	case c.Empty():
		p.addNote("capabilities are empty: it may touch nothing until they say what")
	case c.FSReach != nil:
		p.addNote("for reading, what its arguments name is proposed; for writing, nothing")
		for _, path := range c.FSReach.Read.Paths {
			if path == "/" || path == home {
				p.addNote("%s is everything that may be read there: name the folders that it needs instead", path)
			}
		}
	}
}

// findProgramFolder returns the folder from which a script loads the rest of its
// program: the nearest folder with a manifest, or else its own folder.
func findProgramFolder(script string) string {
	for dir := filepath.Dir(script); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		for _, name := range manifestNames {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return dir
			}
		}
	}
	return filepath.Dir(script)
}

// describeState returns the state of a server on one line.
func (p *plannedServer) describeState() string {
	return fmt.Sprintf("%s: %s", text.PrintableLine(p.from.Name), strings.Join(p.why, "; "))
}
