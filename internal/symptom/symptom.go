// Package symptom finds in the words of a failed program what it could not
// reach: a path, a host or another program.
//
// The words come from a program that is not trusted. They only say what to ask the
// grant about.
package symptom

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Kind is what a program could not do.
type Kind string

// The kinds of symptoms.
const (
	// Write: a path could not be written, as the file system is read-only.
	Write Kind = "write"
	// Missing: a path was not there.
	Missing Kind = "missing"
	// Denied: a path could not be read or written.
	Denied Kind = "denied"
	// Host: a host was not found, or could not be reached at a port.
	Host Kind = "host"
	// Program: a program was not found.
	Program Kind = "program"
	// Socket: a kind of socket is not there.
	Socket Kind = "socket"
)

// Symptom is one thing that a program said it could not reach.
type Symptom struct {
	// Kind is what the program could not do.
	Kind Kind
	// Name is the path, the host with its port where the program said one, or
	// the program; empty for a socket, and for a host that the program did not name.
	Name string
	// Said is the reason in the program's words.
	Said string
	// Folder says that the path was to be made as a folder.
	Folder bool
}

// makesFolder matches the words of programs that make a folder.
var makesFolder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bmkdir\b|create directory`) })

const (
	maxText  = 64 << 10 // bytes, from the end, where programs say why they ended
	maxFound = 8
	maxName  = 256 // bytes
)

// sign is a reason as programs word it, and how to find what it is about.
type sign struct {
	kind  Kind
	words *regexp.Regexp
	names []*regexp.Regexp // the first that matches the line gives the name
}

// signs returns the table. Programs before paths, as both say ENOENT.
var signs = sync.OnceValue(func() []sign {
	quoted := regexp.MustCompile(`['"‘` + "`" + `]([^'"’` + "`" + `]*[^'"’` + "`" + `\s])['"’` + "`" + `]`)
	absolute := regexp.MustCompile(`(?:^|[\s(=])(/[^\s:'",)]+)`)
	paths := []*regexp.Regexp{
		quoted,
		regexp.MustCompile(`: ([^:]+): [Cc]annot [a-z ]+: `), // tar
		absolute,
		regexp.MustCompile(`(?:[Cc]annot|[Cc]an't|[Cc]ould ?n[o']t|[Ff]ailed to|[Uu]nable to)(?: [a-z]+)+ (\S+): [^:\[]*$`),
		regexp.MustCompile(`(?:^|: )(?:open|mkdir|stat|lstat|unlink|unlinkat|remove|chdir|truncate|fork/exec) (\S[^:]*): [^:\[]*$`), // Go
		regexp.MustCompile(`Exception: (\S+) \([A-Z]`), // Java
		regexp.MustCompile(` @ \w+ - (\S+)`),           // Ruby
		regexp.MustCompile(`(?:^|: )([^:]+): [^:\[]*$`),
	}
	hosts := []*regexp.Regexp{
		address(),
		regexp.MustCompile(`connect \w+ ([\w.\[\]:-]+:\d+)`),
		regexp.MustCompile(`getaddrinfo \w+ ([\w.-]+)`),
		regexp.MustCompile(`(?:[Cc]ould not resolve host|[Uu]nable to resolve host): ?([\w.-]+)`),
		regexp.MustCompile(`dial \w+:? (?:lookup )?([\w.\[\]-]+(?::\d+)?)`),
		regexp.MustCompile(`host='([\w.-]+)', port=\d+`),
		regexp.MustCompile(`onnect to ([\w.-]+ port \d+)`),
		regexp.MustCompile(`onnect(?:ion)? to (?:host )?([\w.-]+:\d+)`),   // aiohttp, Ruby
		regexp.MustCompile(`UnknownHostException: ([\w-]+(?:\.[\w-]+)+)`), // Java
	}
	return []sign{
		{
			Program,
			regexp.MustCompile(`command not found|executable file not found|spawn \S+ ENOENT|^(?:(?:\S+: )?\S+: \d+|(?:/bin/)?[a-z]*sh): \S+: not found$|` +
				`^(?:(?:/usr/bin/)?env|make|xargs): [^/\s]+: No such file or directory$|failed to run command [^/\s]+: No such file or directory`),
			[]*regexp.Regexp{
				regexp.MustCompile(`spawn (\S+) ENOENT`), regexp.MustCompile(`exec: "([^"]+)"`), regexp.MustCompile(`command not found: (\S+)`),
				regexp.MustCompile(`(?:^|: )([^:\s]+): (?:command )?not found`), quoted, regexp.MustCompile(`: (\S+): No such`),
			},
		},
		{Write, regexp.MustCompile(`EROFS|[Rr]ead-only file system`), paths},
		{Socket, regexp.MustCompile(`EAFNOSUPPORT|[Aa]ddress family not supported`), nil},
		{
			Host,
			regexp.MustCompile(`ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|[Cc]onnection refused|[Cc]ouldn't connect to server|[Nn]etwork is unreachable|[Cc]ould not resolve host|` +
				`[Tt]unnel (?:connection )?failed|code 403 from proxy|Proxy response \(403\)|403:? Forbidden|` + // by the proxy of children
				`[Nn]ame or service not known|[Tt]emporary failure in name resolution|no such host|ERR_NAME_NOT_RESOLVED|ERR_CONNECTION_REFUSED|ERR_TUNNEL_CONNECTION_FAILED|ERR_INTERNET_DISCONNECTED|` +
				`UnknownHostException|APIConnectionError|[Ff]etch failed|[Ff]ailed to fetch|[Aa]ll connection attempts failed`),
			hosts,
		},
		{Denied, regexp.MustCompile(`EACCES|EPERM|[Pp]ermission denied|[Oo]peration not permitted`), paths},
		{Missing, regexp.MustCompile(`ENOENT|[Nn]o such file(?: or directory)?|is not found at|doesn't exist at`), append([]*regexp.Regexp{
			regexp.MustCompile(`(?:is not found|doesn't exist) at (/[^\s'"]+)`),
		}, paths...)},
	}
})

// Find returns what the text of a failed program says it could not reach, in
// the order of the text, each thing once.
func Find(text string) []Symptom {
	if len(text) > maxText {
		text = text[len(text)-maxText:]
	}
	var found []Symptom
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		s, ok := readLine(line)
		if s.Kind == Missing && strings.HasPrefix(before, "raise child_exception_type(") && !strings.Contains(s.Name, "/") {
			s.Kind = Program // Python words a program and a file alike
		}
		before = line
		if ok && !slices.ContainsFunc(found, func(f Symptom) bool { return f.Kind == s.Kind && f.Name == s.Name }) {
			found = append(found, s)
		}
		if len(found) == maxFound {
			break
		}
	}
	return found
}

// FindUnnamed returns the first reason in the text of a failed program that comes
// without the path or host that it is about. ok is false when there is none.
func FindUnnamed(text string) (s Symptom, ok bool) {
	if len(text) > maxText {
		text = text[len(text)-maxText:]
	}
	for line := range strings.Lines(text) {
		s, _ := readLine(strings.TrimSpace(line))
		switch s.Kind {
		case Write, Missing, Denied, Host:
			if s.Name == "" {
				return s, true
			}
		}
	}
	return Symptom{}, false
}

var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://([^/\s'"\\)]+)`) })

// HostsIn returns the hosts of the addresses in a text, with the port where one is
// written.
func HostsIn(text string) (hosts []string) {
	for _, m := range address().FindAllStringSubmatch(text, maxFound) {
		if host := m[1]; isName(host) && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// readLine reads one line; ok is false when it says nothing that can be asked
// about. It then still has the reason that the line gives, if it gives one.
func readLine(line string) (s Symptom, ok bool) {
	for _, one := range signs() {
		at := one.words.FindString(line)
		if at == "" {
			continue
		}
		s = Symptom{Kind: one.kind, Said: at, Folder: makesFolder().MatchString(line)}
		if one.names == nil {
			return s, true
		}
		for _, name := range one.names {
			if m := name.FindStringSubmatch(line); m != nil {
				s.Name = strings.Replace(strings.TrimSpace(m[1]), " port ", ":", 1)
				break
			}
		}
		if !isName(s.Name) {
			// What cannot be shown counts as no name.
			ok := s.Kind == Host && s.Name == ""
			s.Name = ""
			return s, ok
		}
		return s, true
	}
	return s, false
}

// isName reports whether a name can be asked about and shown.
func isName(name string) bool {
	return name != "" && len(name) <= maxName &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
