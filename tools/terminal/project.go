package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// maxProjectFile bounds a project file that is read for the names in it;
// maxParents bounds the folders above the asked one that are looked at.
const (
	maxProjectFile = 1 << 20
	maxParents     = 32
)

type checkPurpose string

const (
	checkTests checkPurpose = "run_tests"
	checkLint  checkPurpose = "lint"
	checkTypes checkPurpose = "typecheck"
)

// The kinds of projects, in the order in which they are looked for in one
// folder: what builds the code comes before what may only call it.
const (
	kindGo     = "go"
	kindCargo  = "cargo"
	kindNPM    = "npm"
	kindPython = "python"
	kindMake   = "make"
	// kindOption is a command of Options.
	kindOption = "option"
)

func projectKinds() []string { return []string{kindGo, kindCargo, kindNPM, kindPython, kindMake} }

type commandPlan struct {
	kind, dir string
	// argv lists commands of which the first that is not refused runs: a
	// Python tool is a program of its own or a module.
	argv [][]string
}

// projectFinder looks for the command of a purpose in folders, through the file
// accessor of a call.
type projectFinder struct {
	call *sallyport.Call
	in   checkInput
	want checkPurpose
	only string // a kind; empty means any
}

// findPlan looks in the asked folder and, while that is below the workspace, in
// the folders above it.
func (p *projectFinder) findPlan() (commandPlan, error) {
	asked := p.call.FS.Abs(p.in.Path)
	dir, top := asked, p.call.Workspace
	for range maxParents {
		for _, kind := range projectKinds() {
			if p.only != "" && p.only != kind {
				continue
			}
			if found, err := p.tryKind(kind, dir, asked); err != nil || found.kind != "" {
				return found, err
			}
		}
		parent := filepath.Dir(dir)
		rel, err := filepath.Rel(top, parent)
		if top == "" || dir == parent || err != nil || !filepath.IsLocal(rel) {
			break
		}
		dir = parent
	}
	return commandPlan{}, sallyport.InputInvalid(fmt.Sprintf("no command for %s in %s: looked for go.mod, Cargo.toml, a script of "+
		"package.json, pyproject.toml and its like, and a target of a Makefile", p.want, asked))
}

// tryKind looks for one kind in one folder. The zero plan means that it is not
// there.
func (p *projectFinder) tryKind(kind, dir, asked string) (commandPlan, error) {
	switch kind {
	case kindGo:
		return p.planByMarker(kindGo, dir, asked, p.goArgs, "go.mod")
	case kindCargo:
		return p.planByMarker(kindCargo, dir, asked, p.cargoArgs, "Cargo.toml")
	case kindNPM:
		script := p.npmScript(dir)
		if script == "" {
			return commandPlan{}, nil
		}
		argv, err := p.npmArgs(script)
		return commandPlan{kindNPM, dir, argv}, err
	case kindPython:
		return p.planByMarker(kindPython, dir, asked, p.pythonArgs,
			"pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "setup.py", "conftest.py", "requirements.txt")
	case kindMake:
		target := p.makeTarget(dir)
		if target == "" {
			return commandPlan{}, nil
		}
		if p.in.Filter != "" || len(p.in.Targets) > 0 {
			return commandPlan{}, sallyport.InputInvalid("make takes no filter and no targets here")
		}
		return commandPlan{kindMake, dir, [][]string{{"make", target}}}, nil
	default:
		return commandPlan{}, nil
	}
}

// planByMarker finds the command of a kind that one of several files stands
// for. It runs in the asked folder, because its tools find their project
// themselves.
func (p *projectFinder) planByMarker(kind, dir, asked string, argv func() ([][]string, error), names ...string) (commandPlan, error) {
	for _, name := range names {
		if st, err := p.call.FS.Stat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() {
			list, err := argv()
			return commandPlan{kind, asked, list}, err
		}
	}
	return commandPlan{}, nil
}

// readFile returns a project file, empty when there is none. It opens the file
// instead of calling ReadFile: a look by the tool must not count as a read by
// the session.
func (p *projectFinder) readFile(dir, name string) []byte {
	f, err := p.call.FS.Open(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	data, err := io.ReadAll(io.LimitReader(f, maxProjectFile))
	if err != nil {
		return nil
	}
	return data
}

// goArgs are the commands of a Go module. The build's result is thrown away.
func (p *projectFinder) goArgs() ([][]string, error) {
	argv := []string{"go", "build", "-o", "/dev/null"}
	switch p.want {
	case checkTests:
		argv = []string{"go", "test", "-json"}
		if p.in.Filter != "" {
			argv = append(argv, "-run="+p.in.Filter)
		}
	case checkLint:
		argv = []string{"go", "vet"}
	}
	if len(p.in.Targets) == 0 {
		return [][]string{append(argv, "./...")}, nil
	}
	return [][]string{append(argv, p.in.Targets...)}, nil
}

func (p *projectFinder) cargoArgs() ([][]string, error) {
	if len(p.in.Targets) > 0 {
		return nil, sallyport.InputInvalid("cargo takes no targets here; a filter chooses tests")
	}
	switch p.want {
	case checkTests:
		argv := []string{"cargo", "test"}
		if p.in.Filter != "" {
			argv = append(argv, "--", p.in.Filter)
		}
		return [][]string{argv}, nil
	case checkLint:
		return [][]string{{"cargo", "clippy"}}, nil
	default:
		return [][]string{{"cargo", "check"}}, nil
	}
}

// pythonArgs are the commands of a Python project: the program, else the
// module of the interpreter.
func (p *projectFinder) pythonArgs() ([][]string, error) {
	var module string
	var rest []string
	switch p.want {
	case checkTests:
		module, rest = "pytest", []string{"-ra", "--color=no", "--tb=short"}
		if p.in.Filter != "" {
			rest = append(rest, "-k", p.in.Filter)
		}
	case checkLint:
		module, rest = "ruff", []string{"check"}
	default:
		module = "mypy"
	}
	targets := p.in.Targets
	if len(targets) == 0 && p.want != checkTests {
		targets = []string{"."}
	}
	if len(targets) > 0 {
		rest = append(append(rest, "--"), targets...)
	}
	return [][]string{
		append([]string{module}, rest...),
		append([]string{"python3", "-m", module}, rest...),
	}, nil
}

// npmScript returns the name of the script of a purpose, empty when there is
// none. What "npm init" writes for tests is none.
func (p *projectFinder) npmScript(dir string) string {
	var file struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(p.readFile(dir, "package.json"), &file) != nil {
		return ""
	}
	names := map[checkPurpose][]string{
		checkTests: {"test"},
		checkLint:  {"lint"},
		checkTypes: {"typecheck", "type-check", "check-types"},
	}
	for _, name := range names[p.want] {
		if s := file.Scripts[name]; s != "" && !strings.Contains(s, "no test specified") {
			return name
		}
	}
	return ""
}

// shellSafe is what npm may be given: it puts the arguments of a script into
// a command line for a shell, and how well it quotes depends on its version.
var shellSafe = text.Pattern(`^[A-Za-z0-9_./:@,=+ -]*$`)

func (p *projectFinder) npmArgs(script string) ([][]string, error) {
	argv := []string{"npm", "run", "--silent", script}
	given := p.in.Targets
	if p.in.Filter != "" {
		given = append(append([]string(nil), given...), p.in.Filter)
	}
	for _, a := range given {
		if !shellSafe().MatchString(a) {
			return nil, sallyport.InputInvalid("npm scripts take only letters, digits, blanks and _./:@,=+- here, not " + quoteUnprintable(a))
		}
	}
	if len(given) > 0 {
		argv = append(append(argv, "--"), given...)
	}
	return [][]string{argv}, nil
}

var makeTargets = map[checkPurpose]func() *regexp.Regexp{
	checkTests: text.Pattern(`(?m)^(test|check)[ \t]*:([^=]|$)`),
	checkLint:  text.Pattern(`(?m)^(lint)[ \t]*:([^=]|$)`),
	checkTypes: text.Pattern(`(?m)^(typecheck)[ \t]*:([^=]|$)`),
}

// makeTarget returns the target of a purpose, empty when there is none. The
// names are those that make looks for, in its order (make(1)).
func (p *projectFinder) makeTarget(dir string) string {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		content := p.readFile(dir, name)
		if content == nil {
			continue
		}
		if m := makeTargets[p.want]().FindSubmatch(content); m != nil {
			return string(m[1])
		}
		return ""
	}
	return ""
}
