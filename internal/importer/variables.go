package importer

import (
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/profiles"
	"github.com/sallyport/sallyport/internal/reach"
)

// translateVariables translates the environment variables of a program.
func (i *clientImport) translateVariables(p *plannedServer) {
	if len(p.entry.Command) == 0 {
		return
	}
	if p.from.EnvFile != "" {
		p.addNote("envFile is not carried over: write its lines under env, and its secrets under secret_env")
	}
	for _, v := range p.from.Env {
		if text, refs := i.client.Expand(v.Value, i.env.Home, p.from.Project); len(refs) == 0 {
			p.nameKnown(v.Name, text)
		}
	}
	hosts := slices.Concat(p.flagValues(i.hosts), p.named)
	for _, v := range p.from.Env {
		text, refs := i.client.ExpandPair(v, i.env.Home, p.from.Project)
		switch {
		case text == "":
			// Most programs treat an empty variable like a missing one.
		case !reach.IsEnvName(v.Name):
			p.addNote("a variable is not carried over: %q is not a name of one", v.Name)
		case reach.ReservedEnv(v.Name):
			p.addNote("%s is not carried over: no server gets a variable that changes how programs run", v.Name)
		case p.knownVariable(v.Name).Secret && !i.isSaidPlain(p, v.Name):
			i.secretVariable(p, v.Name, text, refs, hosts)
		case p.knownVariable(v.Name).Database && !i.isHarmless(p, v.Name, text):
			p.blockServer("%s holds a login and was not copied, and the protocol of a database carries no reference to a secret: %s", v.Name, p.adviseSecret())
		case len(refs) > 0 && !i.resolveDefaults(p, v.Name, &text, refs) || !i.isHarmless(p, v.Name, text):
			i.secretVariable(p, v.Name, text, refs, hosts)
		default:
			i.addPlainVariable(p, v.Name, text)
		}
	}
}

// addPlainVariable adds a variable whose value every user may read.
func (i *clientImport) addPlainVariable(p *plannedServer, name, text string) {
	if strings.Contains(text, "${") {
		p.addNote("%s is not carried over: a declaration would expand the ${ in it", name)
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
	if p.knownVariable(name).Secret {
		what = name + " is a secret"
	} else if !clients.SecretPair(name, text) {
		what = name + " is not known to be harmless"
	}
	if len(refs) > 0 {
		what = name + " refers to " + refs[0].String()
	}
	if len(hosts) == 0 && p.profile != nil && p.knownVariable(name) == (profiles.Variable{}) && len(p.profile.Hosts()) == 0 {
		p.addNote("%s and stays out: the server is not known to use it; if it does: --host %s=HOST names who gets its value", what, p.name)
		return
	}
	if len(hosts) == 0 {
		p.lacksHosts = p.lacksHosts || p.state == stateReady
		if p.profile != nil {
			p.suggested = p.profile.Hosts()
		}
		p.blockServer("%s and was not copied: name the hosts that get its value with %s, or copy it with --plain %s=%s", what, p.suggestHost(name), p.name, name)
		return
	}
	ref := "mcp/" + p.name + "/" + name
	if p.entry.SecretEnv == nil {
		p.entry.SecretEnv = map[string]secretEnv{}
	}
	p.entry.SecretEnv[name] = secretEnv{Secret: ref, Hosts: hosts}
	if len(refs) > 0 {
		text = ""
	}
	i.needSecret(p, name, ref, text)
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

// suggestHost returns the flag that names the usual host for a variable.
func (p *plannedServer) suggestHost(name string) string {
	if p.profile != nil && len(p.profile.Hosts()) > 0 {
		return "--host " + p.name + "=" + strings.Join(p.profile.Hosts(), " --host "+p.name+"=")
	}
	for _, s := range serviceHosts {
		if strings.HasPrefix(name, s.begin) {
			return "--host " + p.name + "=HOST (often " + s.host + ")"
		}
	}
	return "--host " + p.name + "=HOST"
}
