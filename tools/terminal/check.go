package terminal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

const (
	// checkTimeout is the default of a test run, a linter or a compiler over
	// a whole project.
	checkTimeout = 5 * time.Minute
	// maxTargets and maxTargetChars bound what is passed on.
	maxTargets     = 100
	maxTargetChars = 1000
)

// checkInput is the arguments of run_tests, and those of lint and typecheck
// with an empty Filter.
type checkInput struct {
	Path    string   `json:"path,omitempty" jsonschema:"Folder to run in: absolute, or relative to the workspace. Default: the workspace."`
	Filter  string   `json:"filter,omitempty" jsonschema:"Which tests to run: a pattern of names for go, an expression for pytest, a part of the name for cargo, what the test script takes for npm."`
	Targets []string `json:"targets,omitempty" jsonschema:"What to check instead of everything: packages for go, files or test ids for pytest, what the script takes for npm."`
	Project string   `json:"project,omitempty" jsonschema:"Kind of project, where a folder has several. Default: the first of these that it has."`
	Timeout int      `json:"timeout_seconds,omitempty" jsonschema:"Seconds after which the run is ended. Default 300."`
}

// lintInput is checkInput without a filter.
type lintInput struct {
	Path    string   `json:"path,omitempty" jsonschema:"Folder to run in: absolute, or relative to the workspace. Default: the workspace."`
	Targets []string `json:"targets,omitempty" jsonschema:"What to check instead of everything: packages for go, files or folders for Python, what the script takes for npm."`
	Project string   `json:"project,omitempty" jsonschema:"Kind of project, where a folder has several. Default: the first of these that it has."`
	Timeout int      `json:"timeout_seconds,omitempty" jsonschema:"Seconds after which the run is ended. Default 300."`
}

// configuredCommand returns the command of Options for a purpose.
func (f *Family) configuredCommand(want checkPurpose) []string {
	switch want {
	case checkTests:
		return f.o.Tests
	case checkLint:
		return f.o.Lint
	default:
		return f.o.Typecheck
	}
}

// checkTool declares run_tests, lint or typecheck. Only tests may reach hosts:
// they download modules, and linters and compilers work on what is there.
func (f *Family) checkTool(want checkPurpose) sallyport.Tool {
	var title, description string
	var binaries []string
	switch want {
	case checkTests:
		title, binaries = "Run tests", []string{"cargo", "go", "make", "npm", "pytest", "python3"}
		description = "Run the tests of the project with the command that its files call for (go test, cargo test, npm test, pytest, " +
			"make test). Answers with counts and the failing tests."
	case checkLint:
		title, binaries = "Lint", []string{"cargo", "go", "make", "npm", "python3", "ruff"}
		description = "Run the linter of the project (go vet, cargo clippy, npm run lint, ruff, make lint)."
	default:
		title, binaries = "Typecheck", []string{"cargo", "go", "make", "mypy", "npm", "python3"}
		description = "Check the types of the project (go build, cargo check, npm run typecheck, mypy, make typecheck)."
	}
	if argv := f.configuredCommand(want); argv != nil {
		binaries = []string{argv[0]}
	}
	t := sallyport.Tool{
		Name: string(want), Title: title, Description: description, Toolset: toolset,
		Capabilities: f.processCapabilities(want == checkTests, binaries...), MaxResultChars: resultChars, Timeout: callTimeout, Tasks: sallyport.TaskOptional,
		OutputIsUntrusted: true,
	}
	refine := func(get func(string) args.Property) {
		get("project").OneOf(projectKinds()...)
		get("targets").Type("array")
		get("timeout_seconds").Between(0, int(maxTimeout.Seconds()))
	}
	if want == checkTests {
		t.Schema = args.Schema[checkInput](func(get func(string) args.Property) {
			refine(get)
			get("filter").Length(0, maxTargetChars)
		})
		return schema.MustTool(t, func(ctx context.Context, c *sallyport.Call, in checkInput) (sallyport.Result, error) {
			return f.runCheck(ctx, c, want, in)
		})
	}
	t.Schema = args.Schema[lintInput](refine)
	return schema.MustTool(t, func(ctx context.Context, c *sallyport.Call, in lintInput) (sallyport.Result, error) {
		return f.runCheck(ctx, c, want, checkInput{Path: in.Path, Targets: in.Targets, Project: in.Project, Timeout: in.Timeout})
	})
}

// checkPositional refuses what a program would not take for a name: an option, or
// "@file", which argparse of pytest reads options from.
func (in *checkInput) checkPositional() error {
	if len(in.Targets) > maxTargets {
		return sallyport.InputInvalid(fmt.Sprintf("more than %d targets", maxTargets))
	}
	for _, a := range append(slices.Clone(in.Targets), in.Filter) {
		switch {
		case strings.HasPrefix(a, "-"), strings.HasPrefix(a, "@"):
			return sallyport.InputInvalid("a filter or target may not begin with - or @: " + quoteUnprintable(a))
		case strings.ContainsFunc(a, unicode.IsControl), utf8.RuneCountInString(a) > maxTargetChars:
			return sallyport.InputInvalid("a filter or target is too long or holds a control character")
		}
	}
	if slices.Contains(in.Targets, "") {
		return sallyport.InputInvalid("a target is empty")
	}
	return nil
}

func (f *Family) findPlan(c *sallyport.Call, want checkPurpose, in checkInput) (commandPlan, error) {
	if err := in.checkPositional(); err != nil {
		return commandPlan{}, err
	}
	argv := f.configuredCommand(want)
	if argv == nil {
		return (&projectFinder{call: c, in: in, want: want, only: in.Project}).findPlan()
	}
	if in.Filter != "" || in.Project != "" {
		return commandPlan{}, sallyport.InputInvalid("the operator chose the command, which takes targets only")
	}
	return commandPlan{kindOption, in.Path, [][]string{append(slices.Clone(argv), in.Targets...)}}, nil
}

func (f *Family) runCheck(ctx context.Context, c *sallyport.Call, want checkPurpose, in checkInput) (sallyport.Result, error) {
	p, err := f.findPlan(c, want, in)
	if err != nil {
		return sallyport.Result{}, err
	}
	o, r := f.newRun(c, p.dir, timeoutOf(in.Timeout, checkTimeout))
	// Test runners that watch files by default do not when this is set.
	o.Env["CI"] = "true"
	defer detachWhenLong(c)()
	defer r.tellWhile()()
	var command string
	res, err := startFirstOf(p.argv, func(argv []string) (sallyport.ProcessResult, error) {
		command = strings.Join(argv, " ")
		return c.Process.Spawn(ctx, argv[0], argv[1:], o)
	})
	r.source = "cmd:" + command
	if err != nil {
		return r.newFailedResult(err)
	}
	r.head = []string{"ran: " + quoteUnprintable(command)}
	r.data = map[string]any{"command": command}
	if want == checkTests {
		r.addTestSummary(p.kind, res.ExitCode)
	} else {
		r.countPlaces()
	}
	return r.newFinishedResult(res), nil
}

// addTestSummary puts counts and failing tests in front of the output, and leaves out
// what passed.
func (r *childReport) addTestSummary(kind string, exitCode int) {
	s, ok := summarizeTests(kind, string(r.out.kept))
	if !ok {
		return
	}
	r.whole = []byte(s.whole)
	r.body = s.body
	outside := exitCode != 0 && s.failed+s.errors == 0
	if outside {
		// The reason is not among the tests.
		r.body = s.whole
	}
	if strings.TrimSpace(r.body) == "" {
		r.body = "(nothing but passing tests)"
	}
	if r.out.isCut() {
		return // Counts of a part would be wrong.
	}
	if !outside {
		r.head = append(r.head, s.formatCounts())
	}
	r.data["tests"] = s.structuredData()
}

// place is how compilers and linters say where: file:line, with a column or
// without.
var place = text.Pattern(`(?m)^\s*(?:-->\s*|[a-z]+: )?[^\s:][^:\n]*:\d+(?::\d+)?(?::|$)`)

func (r *childReport) countPlaces() {
	n := len(place().FindAllIndex(r.out.kept, -1))
	r.data["places"] = n
	if n > 0 && !r.out.isCut() {
		r.head = append(r.head, fmt.Sprintf("places named: %d", n))
	}
}
