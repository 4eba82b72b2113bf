package upstream

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/reach"
)

// fetchers are commands that fetch a package and run it, and that
// [install.Parse] does not read. The code that they run is not known in advance
// and can change at any time.
var fetchers = [...]string{"npm create", "pnpm create", "yarn create", "bun create", "uv tool"}

// errSteers is the fault of a variable that no child process may get.
const errSteers = "no child gets this variable, because it controls a child from outside: leave it out"

func (d *serverDecoder) decodeCommand(at string, v any) {
	items, ok := v.([]any)
	if !ok || len(items) == 0 {
		d.Fault(at, "expected a list: the name of a binary, then its arguments")
		return
	}
	argv := make([]string, 0, len(items))
	for i, item := range items {
		text, ok := item.(string)
		if !ok || strings.Contains(text, "\x00") {
			d.Fault(definition.Below(at, strconv.Itoa(i)), "expected a text")
		}
		argv = append(argv, text)
	}
	if d.Broken(at) {
		return
	}
	d.checkBinary(definition.Below(at, "0"), argv)
	for i := range argv[1:] {
		argv[i+1] = d.expandArgument(definition.Below(at, strconv.Itoa(i+1)), argv[i+1])
	}
	d.s.Command, d.s.Arguments = argv, nil
	if d.s.Package != nil {
		d.s.Arguments = argv[len(argv)-d.packageArgs:]
	}
}

func (d *serverDecoder) checkBinary(at string, argv []string) {
	name := argv[0]
	_, err := reach.ParseBinary(name)
	switch {
	case strings.ContainsAny(name, `/\$`):
		d.Fault(at, "expected the name of a binary on the search path, such as node or python3, without a folder; a script is its argument")
	case d.decodeLauncher(at, argv):
	case len(argv) > 1 && slices.Contains(fetchers[:], name+" "+argv[1]):
		d.Fault(at, "%s %s fetches a package that is not pinned: write npx, bunx, uvx or pipx with a package and its exact version", name, argv[1])
	case reach.RefuseLauncher(name) != "":
		d.Fault(at, "%s %s: write the server's own program, which is confined here", name, reach.RefuseLauncher(name))
	case err != nil || name == string(reach.AnyBinary):
		d.Fault(at, "not the name of a binary")
	}
}

// decodeLauncher reads the command of a package launcher; it returns false for any
// other command. A launcher that only lacks a version makes this server
// unusable, but the other servers can still be started.
func (d *serverDecoder) decodeLauncher(at string, argv []string) bool {
	p, args, err := install.Parse(argv)
	switch {
	case errors.Is(err, install.ErrNotLauncher):
		return false
	case err != nil && !errors.Is(err, install.ErrUnpinned):
		d.Fault(at, "%v", err)
	default:
		d.s.Package, d.packageArgs = &p, len(args)
	}
	return true
}

// expandArgument expands a variable at the beginning of an argument, or after the =
// of an option. A path that begins with "." is relative to the configuration.
func (d *serverDecoder) expandArgument(at, text string) string {
	option, path, ok := strings.Cut(text, "=")
	if !ok || !strings.HasPrefix(text, "-") {
		option, path = "", text
	} else {
		option += "="
	}
	switch {
	case strings.HasPrefix(path, "${"), strings.HasPrefix(path, "./"), strings.HasPrefix(path, "../"), path == ".", path == "..":
		path = d.Path(at, path)
	case strings.Contains(text, "${"):
		d.Fault(at, "a variable may stand only at the beginning of an argument, or after the = of an option")
	}
	if filepath.IsAbs(path) {
		path = d.resolveProgram(path)
	}
	return option + path
}

// resolveProgram resolves the links in the path of a script, so that the file that is
// checked is the file that runs.
func (d *serverDecoder) resolveProgram(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !digest.IsScript(real) {
		return path
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return path
	}
	if !slices.Contains(d.s.Programs, real) {
		d.s.Programs = append(d.s.Programs, real)
	}
	return real
}

// decodeEnv reads variables as text.
func (d *serverDecoder) decodeEnv(at string, v any) {
	d.s.Env = map[string]string{}
	d.decodeEntries(at, v, func(at, name string, v any) {
		text, ok := scalarText(v)
		switch {
		case !reach.IsEnvName(name):
			d.Fault(at, "not the name of a variable")
		case reach.ReservedEnv(name):
			d.Fault(at, errSteers)
		case !ok || strings.Contains(text, "\x00"):
			d.Fault(at, "expected a text, a number, true or false; put a secret under secret_env")
		case strings.HasPrefix(text, "${"):
			text = d.Path(at, text)
		case strings.Contains(text, "${"):
			d.Fault(at, "a variable may stand only at the beginning; put a secret under secret_env")
		}
		d.s.Env[name] = text
	})
}

// scalarText returns the text of a scalar value; ok is false for any other value.
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	default:
		return "", false
	}
}

// secretEnv reads the variables that hold stand-ins for secrets.
func (d *serverDecoder) secretEnv(at string, v any) {
	d.decodeEntries(at, v, func(at, name string, v any) {
		_, twice := d.s.Env[name]
		switch {
		case !reach.IsEnvName(name):
			d.Fault(at, "not the name of a variable")
		case reach.ReservedEnv(name):
			d.Fault(at, errSteers)
		case twice:
			d.Fault(at, "is a variable of env already")
		}
		if s, ok := d.childSecret(at, name, v); ok {
			d.s.Secrets = append(d.s.Secrets, s)
		}
	})
}
