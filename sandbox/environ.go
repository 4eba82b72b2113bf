package sandbox

import (
	"maps"
	"slices"
	"strings"
)

// Places in the child's tree.
const (
	tmpDir    = "/tmp"
	varTmpDir = "/var/tmp"
	homeDir   = "/tmp/home"
	// caFile holds the system's roots and the authority of this run. It lies
	// where no reach can cover it.
	caFile = "/.ca.pem"
)

// userName is who the child is; programs want a name for their user.
const userName = "agent"

// childEnv builds the environment of a child from nothing: what every program
// expects, what toolchains need, what the caller added, what the proxy needs.
// Later ones win, so that a caller cannot replace the proxy.
func (r *Runner) childEnv(asked map[string]string, tmp, home string, network, ca bool) []string {
	env := map[string]string{
		"PATH": strings.Join(r.searchPath(), ":"), "LANG": "C.UTF-8", "HOME": home, "TMPDIR": tmp,
		"USER": userName, "LOGNAME": userName, "SHELL": "/bin/sh", "TERM": "dumb",
	}
	for _, t := range r.o.Toolchains {
		for name, value := range t.Env {
			env[name] = strings.ReplaceAll(value, "${home}", home)
		}
	}
	maps.Copy(env, asked)
	if network {
		maps.Copy(env, proxyEnv())
	}
	if ca {
		// The variables of OpenSSL, Node, git, curl, Python's requests, pip.
		for _, name := range []string{
			"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT",
		} {
			env[name] = caFile
		}
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// proxyEnv leads programs to the proxy. What a child says to its own loopback
// stays there.
func proxyEnv() map[string]string {
	const (
		web   = "http://127.0.0.1:3128"
		socks = "socks5h://127.0.0.1:3128"
		local = "localhost,127.0.0.1,::1"
	)
	return map[string]string{
		"HTTP_PROXY": web, "http_proxy": web, "HTTPS_PROXY": web, "https_proxy": web,
		"ALL_PROXY": socks, "all_proxy": socks, "NO_PROXY": local, "no_proxy": local,
		"NODE_USE_ENV_PROXY": "1",
	}
}
