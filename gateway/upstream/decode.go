package upstream

import (
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/schema"
)

// maxConcurrency bounds the concurrency that a declaration may set.
const maxConcurrency = 256

// DecodeOptions describe the surroundings of a declaration. nil means the zero
// value.
type DecodeOptions struct {
	// Dir is the absolute folder of the configuration file. Relative paths are
	// resolved against it; empty refuses them.
	Dir string
	// Workspace and Home are the values of ${workspace} and ${home}; empty
	// refuses the variable. ${self} is Dir.
	Workspace, Home string
}

// Decode reads the declaration of one server, as JSON. The text is decoded
// strictly: an unknown key, a repeated key and a wrong type are faults. The
// error is [Faults] and lists everything that is wrong. Decode reads the file
// system: an argument that is the path of a script becomes one of the server's
// programs.
func Decode(name string, data json.RawMessage, o *DecodeOptions) (Server, error) {
	if o == nil {
		o = &DecodeOptions{}
	}
	d := &serverDecoder{Decoder: definition.Decoder{Folders: definition.Folders(*o)}, s: Server{Name: name}}
	if err := lock.CheckServer(name); err != nil {
		d.Fault("", "%v", err)
	}
	tree, err := schema.Decode(data, &schema.Limits{Bytes: definition.MaxBytes})
	if faults, ok := errors.AsType[schema.Faults](err); ok {
		for _, f := range faults {
			d.Fault(f.Pointer, "%s", f.Message)
		}
	} else if err != nil {
		d.Fault("", "%v", err)
	} else if top := d.Object("", tree); top != nil {
		d.decodeServer(top)
		top.Done()
	}
	if len(d.Faults) > 0 {
		return Server{}, d.Faults.Tidy()
	}
	return d.s, nil
}

type serverDecoder struct {
	definition.Decoder
	s Server
	// packageArgs is the number of words of the command that are passed to its
	// package.
	packageArgs int
}

func (d *serverDecoder) decodeServer(top *definition.Object) {
	s := &d.s
	s.Permissions = top.Texts("permissions")
	s.Concurrency, s.Shared = top.Count("concurrency", ""), top.Flag("shared", "")
	if s.Concurrency > maxConcurrency {
		d.Fault("/concurrency", "expected 1 to %d", maxConcurrency)
	}
	if v, at, ok := top.Take("rateLimit", "rate_limit"); ok {
		s.RateLimit = d.RateLimit(at, v)
		d.checkLimit(at)
	}
	if v, at, ok := top.Take("timeout", ""); ok {
		s.Timeout = d.Timeout(at, v)
	}
	if v, at, ok := top.Take("capabilities", ""); ok {
		s.Capabilities = d.Capabilities(at, v)
	}
	if v, at, ok := top.Take("effects", ""); ok {
		s.Effects = d.ToolEffects(at, v)
	}
	command, at, local := top.Take("command", "")
	address, where, remote := top.Take("url", "")
	switch {
	case local == remote:
		d.Fault("", "expected exactly one of command and url")
		local, remote = false, false
	case local:
		d.decodeCommand(at, command)
	default:
		d.decodeURL(where, address)
	}
	d.decodeLocal(top, remote)
	d.decodeRemote(top, local)
	d.decodeOAuth(top, local)
	d.refuseMeaningless(remote)
}

// checkLimit refuses a limit that admits nothing.
func (d *serverDecoder) checkLimit(at string) {
	if l := d.s.RateLimit; l != nil && !d.Broken(at) && (l.Requests < 1 || l.Window <= 0) {
		d.Fault(at, "expected at least 1 request in a window of more than 0s")
	}
}

// decodeLocal reads the keys of a server that runs on this machine.
func (d *serverDecoder) decodeLocal(top *definition.Object, remote bool) {
	for _, key := range []string{"cwd", "env", "secret_env"} {
		v, at, ok := top.Take(key, "")
		switch {
		case !ok:
		case remote:
			d.Fault(at, "is only for a server with command: a remote server runs elsewhere")
		case key == "cwd":
			if text, is := v.(string); is && text != "" {
				d.s.Dir = d.Path(at, text)
			} else {
				d.Fault(at, "expected the path of a folder")
			}
		case key == "env":
			d.decodeEnv(at, v)
		default:
			d.secretEnv(at, v)
		}
	}
}

// refuseMeaningless refuses keys that have no effect on this kind of server.
func (d *serverDecoder) refuseMeaningless(remote bool) {
	c := &d.s.Capabilities
	for _, name := range group.Unusable(c, "network", "secrets", "fs_reach", "process", "input") {
		d.Fault("/capabilities/"+name, "an MCP server cannot use this: expected network, secrets, fs_reach, process or input")
	}
	if c.Input != nil && d.s.Shared {
		d.Fault("/capabilities/input", "a question of a shared process could reach the caller of another principal: remove shared or input")
	}
	for key, declared := range map[string]bool{"fs_reach": c.FSReach != nil, "process": c.Process != nil} {
		if declared && remote {
			d.Fault("/capabilities/"+key, "a remote server runs elsewhere: expected network, secrets or input")
		}
	}
}

// decodeURL reads the address of a remote server. No message repeats the text,
// because it may hold a secret.
func (d *serverDecoder) decodeURL(at string, v any) {
	text, ok := v.(string)
	u, err := url.Parse(text)
	if !ok || err != nil || u.Host == "" || u.Opaque != "" {
		d.Fault(at, "expected an absolute address that begins with https://")
		return
	}
	host, port, err := reach.SplitHostPort(u.Host)
	switch {
	case u.User != nil:
		d.Fault(at, "the address holds a user: put credentials into headers")
	case err != nil:
		d.Fault(at, "%v", err)
	case port == 0 && u.Port() != "":
		d.Fault(at, "port 0 is no port")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(host)):
		d.Fault(at, "expected https, or http to an address of this machine")
	case strings.Contains(text, "#"):
		d.Fault(at, "a fragment is never sent: leave it out")
	}
	for name := range u.Query() {
		if isSecretName(name) {
			d.Fault(at, "%q in the address looks like a secret: put it into headers, as {secret: REF}", name)
		}
	}
	d.s.URL = text
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// isSecretName reports whether a query parameter has a name that is usual for
// secrets. URLs appear in logs and records, and nothing removes a secret from
// them by its name.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"key", "token", "secret", "auth", "passw", "sig", "credential"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

// decodeEntries reads a mapping and visits its members by name.
func (d *serverDecoder) decodeEntries(at string, v any, visit func(at, name string, v any)) {
	members, ok := v.(map[string]any)
	if !ok {
		d.Fault(at, "expected a mapping")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		visit(definition.Below(at, name), name, members[name])
	}
}

// decodeSecret reads a reference to a secret, or returns "" when there is none.
// Naming the secret grants it.
func (d *serverDecoder) decodeSecret(o *definition.Object, at, key string, required bool) string {
	ref := o.Text(key, "", required)
	if ref == "" {
		return ""
	}
	if err := reach.ParseExactRef(ref); err != nil {
		d.Fault(definition.Below(at, key), "not a secret reference: %v", err)
	}
	return ref
}

// checkSecretHosts requires that the hosts that receive a secret are among the declared
// ones.
func (d *serverDecoder) checkSecretHosts(at string, hosts []string) {
	var declared []string
	if n := d.s.Capabilities.Network; n != nil {
		declared = n.AllowedHosts
	}
	patterns, err := reach.ParseHosts(declared)
	if err != nil {
		return // other code reports this fault
	}
	set, any := reach.NewHosts(patterns), slices.ContainsFunc(patterns, reach.HostPattern.Any)
	for _, text := range hosts {
		switch host, err := reach.ParseHost(text); {
		case err != nil:
			d.Fault(at, "%v", err)
		case host.Any():
			d.Fault(at, "a secret needs named hosts: replace * by the hosts that may get it")
		case !any && !set.Covers(host):
			d.Fault(at, "the host %s is not in capabilities.network.allowedHosts: add it there", host)
		}
	}
}

// childSecret reads {secret: REF, hosts: [HOST, …], prefixes: [TEXT, …]}.
func (d *serverDecoder) childSecret(at, name string, v any) (s sallyport.ChildSecret, ok bool) {
	o := d.Object(at, v)
	if o == nil {
		return s, false
	}
	s = sallyport.ChildSecret{Env: name, Ref: d.decodeSecret(o, at, "secret", true), Hosts: o.Texts("hosts"), Prefixes: o.Texts("prefixes")}
	o.Done()
	if err := reach.CheckPrefixes(s.Prefixes); err != nil {
		d.Fault(definition.Below(at, "prefixes"), "%v", err)
	}
	if len(s.Hosts) == 0 {
		d.Fault(definition.Below(at, "hosts"), "expected the hosts that may get the value; the server itself only sees a stand-in")
	}
	d.checkSecretHosts(definition.Below(at, "hosts"), s.Hosts)
	return s, true
}
