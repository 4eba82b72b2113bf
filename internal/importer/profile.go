package importer

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/profiles"
	"github.com/sallyport/sallyport/internal/reach"
)

// installedFile finds the package of npm to which a script belongs.
var installedFile = regexp.MustCompile(`/node_modules/((?:@[^/]+/)?[^/]+)/[^:]+$`)

// findProfile returns what is known of the program that a command starts, and
// the package that the command names.
func findProfile(command []string) (*profiles.Profile, install.Package) {
	pkg, _, err := install.Parse(command)
	if err == nil || errors.Is(err, install.ErrUnpinned) {
		return profiles.Of(profiles.Registry(pkg.Registry), pkg.Name), pkg
	}
	if len(command) > 1 {
		if m := installedFile.FindStringSubmatch(command[1]); m != nil {
			return profiles.Of(profiles.NPM, m[1]), pkg
		}
	}
	return nil, pkg
}

// applyProfile finds the profile of a program and changes the command to what
// the profile says: no secret in an option that a variable can say, and what
// takes the place of the program. It returns no command where a remote server
// does, or where the server is refused.
func (i *clientImport) applyProfile(p *plannedServer, command []string) []string {
	known, pkg := findProfile(command)
	if known == nil {
		return command
	}
	p.profile = known
	if i.refuseKnown(p) {
		return nil
	}
	command = p.takeSecretOptions(command)
	switch l := known.Instead; {
	case l == nil:
	case l.URL != "":
		i.translateToRemote(p, l)
		return nil
	case l.NPM != "" && pkg.Name != l.NPM:
		at := slices.IndexFunc(command, func(word string) bool { return strings.HasPrefix(word, pkg.Name) })
		command = slices.Clone(command)
		command[at] = l.NPM
		p.addNote("the package %s takes the place of %s", l.NPM, pkg.Name)
	}
	return command
}

// refuseKnown blocks a server of which it is known that it cannot run here.
func (i *clientImport) refuseKnown(p *plannedServer) bool {
	if p.profile.Refused != "" {
		p.blockServer("%s: --leave %s", p.profile.Refused, p.name)
	}
	return p.profile.Refused != ""
}

// takeSecretOptions moves the values of options that are secrets to the
// variables that say the same.
func (p *plannedServer) takeSecretOptions(command []string) []string {
	var rest []string
	for k := 0; k < len(command); k++ {
		option, value, inline := strings.Cut(command[k], "=")
		name, secret := p.profile.Arguments.Secrets[option]
		if !secret || !inline && k+1 == len(command) {
			rest = append(rest, command[k])
			continue
		}
		if !inline {
			k++
			value = command[k]
		}
		p.from.Env = append(slices.Clone(p.from.Env), clients.Pair{Name: name, Value: value})
		p.addNote("%s goes to the server in the variable %s, which can refer to a secret", option, name)
	}
	return rest
}

// translateToRemote declares a remote server in the place of a program. A
// secret of the program goes there only when the user names the host: the
// client's file does not.
func (i *clientImport) translateToRemote(p *plannedServer, l *profiles.Launch) {
	u, err := url.Parse(l.URL)
	if err != nil {
		p.blockServer("%v", err)
		return
	}
	s := &p.from
	var headers []clients.Pair
	if k := slices.IndexFunc(s.Env, func(v clients.Pair) bool { return v.Name == l.Bearer && v.Value != "" }); k >= 0 {
		if !slices.Contains(p.flagValues(i.hosts), u.Host) {
			p.suggested = []string{u.Host}
			p.blockServer("the remote server %s takes its place and would get the value of %s: agree with --host %s=%s", l.URL, l.Bearer, p.name, u.Host)
			return
		}
		headers = []clients.Pair{{Name: "Authorization", Value: "Bearer " + s.Env[k].Value}}
	}
	p.addNote("the remote server %s takes the place of %s", l.URL, programName(s.Command))
	s.Command, s.Args, s.Env, s.Cwd, s.EnvFile, s.Headers, s.URL, s.Type = "", nil, nil, "", "", headers, l.URL, "http"
	p.replaced = true
	i.translateRemote(p, l.URL)
}

// adviseSecret says what to do about a secret in an argument.
func (p *plannedServer) adviseSecret() string {
	if p.profile != nil && p.profile.Arguments.SecretAdvice != "" {
		return p.profile.Arguments.SecretAdvice
	}
	return "give it to the server in a variable of env"
}

// addOptions adds the options that the server needs to run confined.
func (i *clientImport) addOptions(p *plannedServer) {
	if p.profile == nil {
		return
	}
	for _, word := range p.profile.Arguments.Add {
		option, value, _ := strings.Cut(word, "=")
		has := func(arg string) bool { return arg == option || strings.HasPrefix(arg, option+"=") }
		switch {
		case option == "--chromeArg" && slices.Contains(p.entry.Command, word):
		case option != "--chromeArg" && slices.ContainsFunc(p.entry.Command, has):
		case strings.HasPrefix(value, profiles.Chromium):
			if path, ok := i.findBrowser(p); ok {
				p.entry.Command = append(p.entry.Command, option+"="+path)
			}
		default:
			p.entry.Command = append(p.entry.Command, word)
		}
	}
}

// findBrowser returns the browser of this machine. It blocks a server that
// needs one where there is none.
func (i *clientImport) findBrowser(p *plannedServer) (string, bool) {
	if path := profiles.FindBrowser(); path != "" {
		return path, true
	}
	why := "it drives a browser that this machine lacks: sudo apt-get install --no-install-recommends " + profiles.BrowserPackage + ", then run this again"
	if !slices.Contains(p.why, why) {
		p.blockServer("%s", why)
	}
	return "", false
}

// databasePorts maps schemes of databases to their ports.
var databasePorts = map[string]string{"postgres": "5432", "postgresql": "5432", "mysql": "3306", "mariadb": "3306", "redis": "6379", "rediss": "6379", "mongodb": "27017"}

// hostOf returns the host of an address as a declaration spells it, or an empty
// text.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	port, database := databasePorts[u.Scheme]
	switch {
	case database && u.Port() == "":
		return u.Host + ":" + port
	case database || u.Scheme == "https" || u.Scheme == "http":
		return u.Host
	default:
		return ""
	}
}

// nameHost adds the host of an address that the client gives to the server. A
// private address is only named in a note.
func (p *plannedServer) nameHost(where, address string) {
	text := hostOf(address)
	if text == "" {
		return
	}
	switch host, err := reach.ParseHost(text); {
	case err != nil || host.Any():
	case isPrivateName(text):
		p.addNote("%s names an address of a private network, which is not granted: sallyport grant %s --private %s", where, p.name, text)
	case !slices.Contains(p.named, text):
		p.named = append(p.named, text)
	}
}

// isPrivateName reports whether a host, with a port or without, is a private
// address or names one by its form.
func isPrivateName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsUnspecified()
	}
	return !strings.Contains(host, ".") || slices.ContainsFunc([]string{".localhost", ".local", ".internal", ".lan", ".home.arpa"}, func(end string) bool {
		return strings.HasSuffix(host, end)
	})
}
