package install

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNotLauncher is the error for a command that starts a program and installs
// nothing.
var ErrNotLauncher = errors.New("not a package launcher")

// packageLauncher is how the command line of a package launcher reads.
type packageLauncher struct {
	// quiet lists options that change nothing here.
	quiet []string
	// from lists options whose value names the package. The first word is the
	// program then.
	from []string
	// read reads a package with its version.
	read func(spec string) Package
	// verbs come between the name of the launcher and its options.
	verbs []string
}

// launchers holds the launchers by the names of their programs. The options are
// those of npm-exec(1), bunx, uvx and pipx that say no more than which program of
// which package is to run.
var launchers = map[string]packageLauncher{
	"npx":  {[]string{"-y", "--yes", "-q", "--quiet"}, []string{"-p", "--package"}, npmSpec, nil},
	"bunx": {[]string{"-y", "--yes", "--silent"}, []string{"-p", "--package"}, npmSpec, nil},
	"uvx":  {[]string{"-q", "--quiet"}, []string{"--from"}, pypiSpec, nil},
	"uv":   {[]string{"-q", "--quiet"}, []string{"--from"}, pypiSpec, []string{"tool", "run"}},
	"pipx": {[]string{"-q", "--quiet"}, []string{"--spec"}, pypiSpec, []string{"run"}},
}

// others are launchers that this package does not read, with what to write
// instead. To start them would install what is not pinned.
var others = map[string]string{
	"npm exec": "npx", "npm x": "npx", "npm init": "npx", "pnpm dlx": "npx", "pnpx ": "npx", "yarn dlx": "npx",
	"bun x": "bunx", "deno run": "npx",
}

// Parse reads the command of a package launcher: npx, bunx, uvx, uv tool run,
// and pipx run. It returns the package and the arguments of its program. The
// error matches [ErrNotLauncher] for any other program, and [ErrUnpinned],
// with the package beside it, when only the exact version is missing. An
// option that would change what is installed or run is refused by name. The
// arguments are part of the slice that was given.
func Parse(command []string) (Package, []string, error) {
	if len(command) == 0 {
		return Package{}, nil, ErrNotLauncher
	}
	name := filepath.Base(command[0])
	for _, ending := range []string{".cmd", ".exe"} {
		name = strings.TrimSuffix(name, ending)
	}
	l, ok := launchers[name]
	words := command[1:]
	verb := ""
	if len(words) > 0 {
		verb = words[0]
	}
	switch instead, other := others[name+" "+verb]; {
	case other:
		return Package{}, nil, fmt.Errorf("%s %s: write it with %s", name, verb, instead)
	case name == "pnpx":
		return Package{}, nil, errors.New("pnpx: write it with npx")
	case !ok, len(words) < len(l.verbs), !slices.Equal(words[:len(l.verbs)], l.verbs):
		return Package{}, nil, ErrNotLauncher
	}
	p, args, err := l.parseArguments(words[len(l.verbs):])
	if err != nil && !errors.Is(err, ErrUnpinned) {
		return Package{}, nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, args, err
}

// parseArguments reads what follows the name of the launcher.
func (l packageLauncher) parseArguments(words []string) (Package, []string, error) {
	spec := ""
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		word := words[0]
		words = words[1:]
		if word == "--" {
			break
		}
		option, value, inline := strings.Cut(word, "=")
		switch {
		case slices.Contains(l.quiet, word):
			continue
		case !slices.Contains(l.from, option):
			return Package{}, nil, fmt.Errorf("option %.80q is not supported: it would change what is installed or run", word)
		case spec != "":
			return Package{}, nil, errors.New("more than one package is named")
		case inline:
		case len(words) == 0:
			return Package{}, nil, fmt.Errorf("option %s needs a package", word)
		default:
			value, words = words[0], words[1:]
		}
		if spec = value; spec == "" {
			return Package{}, nil, fmt.Errorf("option %s needs a package", option)
		}
	}
	if len(words) == 0 {
		return Package{}, nil, errors.New("no program is named")
	}
	var p Package
	switch {
	case spec == "":
		p = l.read(words[0])
	case words[0] == "":
		return Package{}, nil, errors.New("no program is named")
	default:
		p = l.read(spec)
		p.Bin = words[0]
	}
	return p, words[1:], p.Check()
}

// npmSpec reads NAME or NAME@VERSION. The name of a scope begins with the same
// sign.
func npmSpec(spec string) Package {
	p := Package{Registry: NPM, Name: spec}
	if i := strings.LastIndexByte(spec, '@'); i > 0 {
		p.Name, p.Version = spec[:i], spec[i+1:]
	}
	return p
}

// pypiSpec reads NAME, NAME@VERSION or NAME==VERSION. Another comparison makes
// a range.
func pypiSpec(spec string) Package {
	p := Package{Registry: PyPI, Name: spec}
	if i := strings.IndexAny(spec, "@=<>~!"); i > 0 {
		p.Name, p.Version = strings.TrimRight(spec[:i], " "), spec[i:]
		if v, ok := strings.CutPrefix(p.Version, "=="); ok {
			p.Version = strings.TrimLeft(v, " ")
		} else {
			p.Version = strings.TrimLeft(strings.TrimPrefix(p.Version, "@"), " ")
		}
	}
	// What is no name stays as it is, for the error to show it.
	if spelling := pypiSpelling(p.Name); pypiName().MatchString(spelling) {
		p.Name = spelling
	}
	return p
}
