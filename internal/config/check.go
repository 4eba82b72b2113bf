package config

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// nameForm describes what nameOK accepts: the alphabet of tool names
// (contract, section 1), since names of personalities end up in scope ids.
const (
	nameForm     = "1 to 64 letters, digits, _ or -"
	maxNameBytes = 64
)

var (
	// errReported is returned by a check whose fault is reported elsewhere.
	errReported = errors.New("reported elsewhere")
	// errNotYet is returned for a value whose feature is not built.
	errNotYet = errors.New("not supported yet")
)

func nameOK(s string) bool {
	if s == "" || len(s) > maxNameBytes {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// workspacePath resolves a path without the variable that it defines.
func (s *scope) workspacePath(v string) (string, error) {
	if strings.HasPrefix(v, "${workspace}") {
		return "", errors.New("workspace cannot refer to ${workspace}")
	}
	return s.resolvePath(v)
}

// resolvePath returns the absolute, cleaned form of a path of the file.
func (s *scope) resolvePath(v string) (string, error) {
	switch {
	case v == "":
		return "", errors.New("an empty path")
	case strings.HasPrefix(v, "~"):
		return "", errors.New(`"~" is not a variable: write ${home}`)
	case strings.HasPrefix(v, "$") && !strings.HasPrefix(v, "${"):
		return "", fmt.Errorf("a variable is written in braces: expected %s", yamldoc.OneOf(variableNames()))
	case strings.Contains(v[1:], "${"):
		return "", errors.New("a variable may stand only at the beginning of a path")
	case strings.ContainsAny(v, "\n\t"):
		return "", errors.New("a path is one line without tabs")
	}
	if last := filepath.Base(v); last == "*" || last == "**" {
		return "", fmt.Errorf("a path is not a pattern: a folder covers everything below it, leave out %q", last)
	}
	if rest, ok := strings.CutPrefix(v, "${"); ok {
		return s.expandVariable(rest)
	}
	return reach.CleanPath(fsx.Absolute(s.file.dir, v))
}

// expandVariable replaces the variable at the beginning of a path, given without its
// opening "${".
func (s *scope) expandVariable(v string) (string, error) {
	name, rest, closed := strings.Cut(v, "}")
	if !closed {
		return "", errors.New(`a variable without its closing "}"`)
	}
	if rest != "" && !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, string(filepath.Separator)) {
		return "", fmt.Errorf(`expected "/" after ${%s}`, name)
	}
	value := ""
	switch name {
	case "workspace":
		if s.badWorkspace {
			return "", errReported
		}
		value = s.cfg.Workspace
	case "home":
		value = s.opts.Home
	case "self":
		value = s.file.dir
	default:
		help := ": expected " + yamldoc.OneOf(variableNames())
		if near := yamldoc.Suggest(name, []string{"workspace", "home", "self"}); near != "" {
			help = "; did you mean ${" + near + "}?"
		}
		return "", fmt.Errorf("unknown variable %s%s", yamldoc.Quote("${"+name+"}"), help)
	}
	if !filepath.IsAbs(value) {
		return "", fmt.Errorf("${%s} is empty or not absolute", name)
	}
	return reach.CleanPath(value + rest)
}

func variableNames() []string { return []string{"${workspace}", "${home}", "${self}"} }

// parseState reads sqlite:PATH or memory. A URL may hold a password and is never
// repeated.
func (s *scope) parseState(v string) (string, error) {
	kind, rest, _ := strings.Cut(v, ":")
	switch {
	case v == "memory":
		s.cfg.State = State{Kind: StateMemory}
		return v, nil
	case kind == "postgres" || kind == "postgresql":
		return "", fmt.Errorf("%w: state: postgres", errNotYet)
	case kind != "sqlite":
		return "", errors.New("expected sqlite:PATH or memory")
	case rest == ":memory:":
		return "", errors.New("write memory to keep state in memory")
	case strings.HasPrefix(rest, "//") || strings.ContainsAny(rest, "?#"):
		return "", errors.New("expected a path after sqlite:, not a URL")
	}
	path, err := s.resolvePath(rest)
	if err == nil {
		s.cfg.State = State{Kind: StateSQLite, Path: path}
	}
	return v, err
}

// parseLimits reads state or memory. A URL may hold a password and is never
// repeated.
func (s *scope) parseLimits(v string) (string, error) {
	switch scheme, _, _ := strings.Cut(v, ":"); {
	case v == LimitsState, v == LimitsMemory:
		return v, nil
	case scheme == "redis" || scheme == "rediss":
		return "", fmt.Errorf("%w: limits: redis", errNotYet)
	}
	return "", errors.New("expected state or memory")
}

// envPrefix reads the prefix of environment variables. The text is never
// repeated: it may be the secret itself, written by mistake.
func (s *scope) envPrefix(v string) (string, error) {
	if !reach.IsEnvName(v) {
		return "", errors.New("expected the prefix of environment variables, such as SALLYPORT_SECRET_")
	}
	return v, nil
}

// IdentityService is the service name of the keychain item that opens
// encrypted files. No backend serves it.
const IdentityService = "sallyport-identity"

// serviceName reads the service name of items in a keychain.
func (s *scope) serviceName(v string) (string, error) {
	if !nameOK(v) || v == IdentityService {
		return "", fmt.Errorf("expected the service name of items, such as sallyport: %s, and not %s", nameForm, IdentityService)
	}
	return v, nil
}

func (s *scope) addBackend(b SecretBackend) { s.cfg.Secrets = append(s.cfg.Secrets, b) }

func (s *scope) parseHost(v string) (string, error) {
	h, err := reach.ParseHost(v)
	if err != nil {
		return "", err
	}
	return h.String(), nil
}

// isDigits accepts a number as people write one: no sign, no base, no zero in
// front, which YAML 1.1 took for octal.
func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && (len(s) == 1 || s[0] != '0')
}

// storedNumber reads what a check of this file stored.
func storedNumber(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// isLoopback reports whether a canonical host is this machine.
func isLoopback(host string) bool {
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}
