package clients

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// A value is copied when it is known that it says nothing, and by a person's word.
// To know a secret when one sees it is not enough: what people make up as a
// password looks like any word.

// plainWords are values that say nothing whatever they are for: switches, log
// levels, kinds of deployments, transports, formats, encodings.
var plainWords = []string{
	"true", "false", "yes", "no", "on", "off", "none", "auto", "default", "enabled", "disabled", "always", "never",
	"trace", "debug", "info", "notice", "warn", "warning", "error", "fatal", "critical", "silent", "quiet", "verbose",
	"production", "development", "testing", "staging", "prod", "dev", "test", "local", "localhost",
	"stdio", "http", "https", "sse", "streamable-http", "tcp", "udp", "json", "text", "yaml", "csv", "markdown", "html",
	"utf-8", "utf8", "c", "posix", "c.utf-8", "en_us.utf-8", "en_us", "utc", "en", "us", "dumb", "xterm-256color",
	"read", "write", "readonly", "read-only", "ro", "rw", "memory", "disk", "1", "0",
}

// plainHeaders are headers that describe a message and never who sends it.
var plainHeaders = []string{"accept", "accept-language", "content-type", "mcp-protocol-version"}

var (
	// plainNumber is a number, a version, a port, an address or a span of time.
	plainNumber = text.Pattern(`^[-+]?[0-9]{1,9}(\.[0-9]{1,9}){0,3}(:[0-9]{1,5}){0,2}(ms|s|m|h|d|kb|mb|gb|k|M|G|%)?$`)
	// longNumber is one that a service may take for a key.
	longNumber = text.Pattern(`^[0-9]{6,}$`)
	// plainSegments is a path of words and versions.
	plainSegments = text.Pattern(`^(/([A-Za-z]+([._-][A-Za-z]+)*|v?[0-9]{1,3}(\.[0-9]{1,3}){0,2}))*/?$`)
	// userInfo is what stands in front of the host of an address, also of one that
	// does not parse.
	userInfo = text.Pattern(`[A-Za-z][A-Za-z0-9+.-]*://([^/?#\s@]*)@`)
	// given is a variable of a command line: env A=b, docker run -e A=b, sh -c "A=b c".
	given = text.Pattern(`(?:^|[\s;&|("'])([A-Za-z_][A-Za-z0-9_]*)=("[^"]*"|'[^']*'|[^\s;&|)]*)`)
)

// Harmless reports whether the value of a variable or a header is known to say
// nothing: a switch, a number, one of a few words, a path that exists, an address
// without user, query and secret. A name that secrets have leaves numbers,
// switches and paths.
func Harmless(name, value string) bool {
	secret := SecretName(name) || strongName(name)
	switch {
	case value == "":
		return true
	case SecretPair(name, value):
		return false
	case passwordName(name):
		return len(value) < minDigits && isTrivial(value)
	case longNumber().MatchString(value) && numberName(name):
		return false
	case slices.Contains(plainHeaders, strings.ToLower(name)):
		return true
	case isTrivial(value), plainNumber().MatchString(value), isExistingPath(value):
		return true
	case secret:
		return false
	default:
		return slices.Contains(plainWords, strings.ToLower(value)) || plainAddress(value)
	}
}

// isExistingPath reports whether a value is the path of something that is there, or
// that would be in a folder that is.
func isExistingPath(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	if _, err := os.Stat(value); err == nil {
		return true
	}
	dir := filepath.Dir(value)
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && dir != "/" && plainPath(filepath.Base(value))
}

// plainAddress reports whether a value is an address that holds no credential. A
// webhook's path is one, and so may any path be that is more than words and
// versions.
func plainAddress(value string) bool {
	u, err := url.Parse(value)
	return err == nil && plainSegments().MatchString(u.Path) && u.Scheme != "" && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" &&
		!strings.Contains(value, "@") && !strings.Contains(strings.ToLower(u.Host+u.Path), "hook") && !SecretText(value)
}

// flagsOf are flags of programs that take a password, beside those whose name
// says so.
var flagsOf = map[string][]string{
	"mysql": {"-p"}, "mysqldump": {"-p"}, "mariadb": {"-p"}, "mongosh": {"-p"}, "mongo": {"-p"}, "sshpass": {"-p"},
	"redis-cli": {"-a"}, "smbclient": {"-U"}, "ldapsearch": {"-w"}, "sqlcmd": {"-P"}, "zip": {"-P"},
}

// Credential returns why an argument of a command, which begins with the program,
// holds a credential or may, "" when no sign of one is there.
func Credential(command []string, i int) string {
	arg, before := command[i], ""
	if i > 1 && strings.HasPrefix(command[i-1], "-") && !strings.Contains(command[i-1], "=") {
		before = command[i-1]
	}
	name, value, inline := strings.Cut(arg, "=")
	if !inline || !strings.HasPrefix(name, "-") {
		name, value = before, arg
	}
	switch {
	case SecretPair(name, value) || SecretText(arg) || strings.Contains(arg, `\"`) && SecretText(strings.ReplaceAll(arg, `\`, "")):
		return "looks like a secret"
	case hasUserInfo(arg):
		return "is an address with a user or password"
	case isWebhook(value):
		return "is the address of a webhook"
	case name != "" && (SecretName(name) || strongName(name) || slices.Contains(flagWords, strings.TrimLeft(name, "-"))) && !Harmless(name, value):
		return "stands behind " + clipName(name)
	case userFlag(name, value) || account().MatchString(value) && !image().MatchString(value):
		return "is a user with a password"
	case before != "" && slices.Contains(shells, strings.ToLower(filepath.Base(command[0]))) && strings.HasSuffix(before, "c"):
		if why := credentialText(arg); why != "" {
			return why
		}
	}
	if name, bad := headerOf(command, i); bad {
		return "gives the header " + clipName(name) + " a value that is not known to be harmless"
	}
	if prior := command[i-1]; i > 1 && bareName(prior) && !slices.Contains(environmentFlags, command[i-2]) &&
		!strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "$") && !Harmless(prior, arg) {
		return "stands behind " + clipName(prior)
	}
	for _, word := range command[:i] {
		program := strings.ToLower(filepath.Base(word))
		for _, flag := range flagsOf[program] {
			if before == flag && !isTrivial(arg) || strings.HasPrefix(arg, flag) && len(arg) > len(flag) {
				return "is the password of " + program
			}
		}
	}
	for _, m := range given().FindAllStringSubmatch(environmentFlag().ReplaceAllString(arg, "$1 $2"), -1) {
		if value := strings.Trim(m[2], `"'`); inAssignment(command, i, m[1]) && !strings.HasPrefix(value, "$") && !Harmless(m[1], value) {
			return "gives the variable " + clipName(m[1]) + " a value that is not known to be harmless"
		}
	}
	return ""
}

var (
	// account is a user and a password in front of a host; image is what looks like
	// it, of packages and containers.
	account = text.Pattern(`^[^\s/@:"{]+:[^\s/@"]+@[A-Za-z0-9\[(]`)
	image   = text.Pattern(`^(npm|jsr|node|github|gitlab|file|pypi|mailto|acct):|@(sha256:|v?[0-9]+(\.[0-9]+)*$)`)
	// environmentFlag is a flag that is written together with a variable.
	environmentFlag = text.Pattern(`^(-e|--env)=?([A-Za-z_][A-Za-z0-9_]*=)`)
	// environmentFlags hand a variable on, with or without its value.
	environmentFlags = []string{"-e", "--env"}
	// flagWords are flags that take a secret, whose names do not say so.
	flagWords = []string{"connection-string", "connectionstring", "conn-string", "access-code", "license", "session", "session-id", "sid"}
	// bareWords stand in front of a value without being flags.
	bareWords = []string{"password", "passwd", "pass", "passphrase", "token", "secret", "apikey", "api-key", "api_key", "authorization", "bearer", "credential", "credentials"}
)

// headerFlags are flags that take a header.
var headerFlags = []string{"-H", "--header", "--headers", "--custom-header", "--extra-header"}

// headerOf returns the header that an argument gives, in one word or two, and
// whether its value may be a credential.
func headerOf(command []string, i int) (name string, bad bool) {
	arg := command[i]
	for _, flag := range headerFlags {
		rest, joined := strings.CutPrefix(arg, flag)
		if joined = joined && strings.Contains(rest, ":"); !joined && command[i-1] != flag && (i < 3 || command[i-2] != flag) {
			continue
		}
		if !joined {
			rest = arg
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(rest, "="), ":")
		if !ok && !joined && command[i-1] != flag {
			name, value, ok = command[i-1], arg, !strings.Contains(command[i-1], ":") && !strings.HasPrefix(arg, "-")
		}
		if value = strings.TrimSpace(value); ok && !strings.HasPrefix(value, "$") && !Harmless(strings.TrimSpace(name), value) {
			return strings.TrimSpace(name), true
		}
	}
	return "", false
}

// bareName reports whether a word says that the next one is a secret: "password",
// or the name of a variable.
func bareName(word string) bool {
	return slices.Contains(bareWords, strings.ToLower(word)) || strings.ToUpper(word) == word && strongName(word) && !strings.ContainsAny(word, "$/@.=")
}

// isWebhook reports whether a text is an address whose path is a secret: it lets its holder
// in.
func isWebhook(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && strings.Contains(strings.ToLower(u.Host+u.Path), "hook")
}

// inAssignment reports whether NAME=value in an argument gives a variable: in the
// text of a shell, to env, behind -e, or by a name in capitals.
func inAssignment(command []string, i int, name string) bool {
	return strings.ToUpper(name) == name || slices.Contains(shells, strings.ToLower(filepath.Base(command[0]))) ||
		filepath.Base(command[0]) == "env" || slices.Contains(environmentFlags, command[i-1]) || environmentFlag().MatchString(command[i])
}

// userFlag reports whether a flag for a user is followed by a password too.
func userFlag(name, value string) bool {
	user, password, both := strings.Cut(value, ":")
	return both && user != "" && password != "" && !strings.HasPrefix(password, "//") && !plainNumber().MatchString(value) &&
		slices.Contains([]string{"-u", "-U", "--user", "--proxy-user", "--userpwd", "--basic", "--basic-auth", "--login"}, name)
}

// hasUserInfo reports whether a text has an address with a user. The user git says
// nothing.
func hasUserInfo(text string) bool {
	return slices.ContainsFunc(userInfo().FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] != "git" })
}

func clipName(name string) string {
	const most = 64
	return text.ClipBytes(name, most)
}
