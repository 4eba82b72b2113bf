package terminal

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
)

var update = flag.Bool("update", false, "write the golden files")

// reduced runs the reducer of terminal over an output.
func reduced(t testing.TB, command, header, body string) string {
	t.Helper()
	args, err := json.Marshal(commandInput{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	red := Reducers()[0]
	if red.Tool != "terminal" {
		t.Fatalf("the reducer is of %q", red.Tool)
	}
	r := sallyport.OK(header + "\n\n" + body)
	got := red.Reduce(r, sallyport.ReducerContext{Args: args})
	if !got.OK {
		t.Fatalf("the reducer made a failure: %q", got.Error)
	}
	rest, ok := strings.CutPrefix(got.Value, header+"\n\n")
	if !ok {
		t.Fatalf("the header %q is gone: %q", header, got.Value)
	}
	return rest
}

// TestReducersOnRecordedOutputs holds the reducer to golden texts. The
// outputs are those of real programs; hosts and folders were renamed.
func TestReducersOnRecordedOutputs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, command, header string }{
		{"git-clean.txt", "git status", "exit code: 0"},
		{"git-clean-sb.txt", "git status -sb", "exit code: 0"},
		{"git-dirty.txt", "cd repo && git status", "exit code: 0"},
		{"git-porcelain.txt", "git status --porcelain", "exit code: 0"},
		{"git-short.txt", "git status -s -b", "exit code: 0"},
		{"git-v2.txt", "git status --porcelain=v2 --branch", "exit code: 0"},
		{"git-conflict.txt", "git status", "exit code: 0"},
		{"git-conflict-sb.txt", "git status -sb", "exit code: 0"},
		{"git-detached.txt", "git status", "exit code: 0"},
		{"git-none.txt", "git status", "exit code: 128"},
		{"gotest.txt", "go test ./...", "exit code: 1"},
		{"gotest-v.txt", "go test -v ./... 2>&1 | tail -100", "exit code: 0"},
		{"gotest-fail.txt", "go test ./...", "exit code: 1"},
		{"gotest-fail-v.txt", "go test -v ./...", "exit code: 1"},
		{"gotest-ok-v.txt", "CGO_ENABLED=0 go test -v ./c", "exit code: 0"},
		{"pytest.txt", "pytest -ra --tb=short", "exit code: 1"},
		{"pytest-v.txt", "python3 -m pytest -v", "exit code: 1"},
		{"pytest-q.txt", "pytest -q", "exit code: 1"},
		{"pytest-ok.txt", "pytest test_b.py", "exit code: 0"},
		{"cargo-test.txt", "cargo test", "exit code: 101"},
		{"cargo-test-ok.txt", "cargo test", "exit code: 0"},
		{"cargo-build.txt", "cargo build", "exit code: 0"},
		{"cargo-add-fail.txt", "cargo add serde", "exit code: 101"},
		{"jest.txt", "npm test", "exit code: 1"},
		{"jest-ok.txt", "npx jest --verbose t/b.test.js", "exit code: 0"},
		{"mocha.txt", "npx mocha m/a.js", "exit code: 1"},
		{"node-test.txt", "node --test n/", "exit code: 1"},
		{"node-spec.txt", "node --test n/", "exit code: 1"},
		{"npm.txt", "npm install jest mocha", "exit code: 0"},
		{"npm-fail.txt", "npm install is-odd@9999", "exit code: 1"},
		{"pip.txt", "pip install demo_app", "exit code: 0"},
		{"pip-upgrade.txt", "python3 -m pip install -U demo_app", "exit code: 0"},
		{"pip-fail.txt", "pip install pytest", "exit code: 1"},
		{"pip-local.txt", "pip install ./pipsrc", "exit code: 1"},
		{"goget.txt", "go get golang.org/x/text@v0.30.0", "exit code: 0"},
		{"goget-fail.txt", "go get golang.org/x/nosuchmodule@v0.1.0", "exit code: 1"},
		{"apt-install.txt", "apt-get install -y hello", "exit code: 0"},
		{"apt-remove.txt", "sudo apt-get remove -y hello", "exit code: 0"},
		{"apt-fail.txt", "apt-get install -y nothing", "exit code: 100"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			body := recorded(t, tt.file)
			got := reduced(t, tt.command, tt.header, body)
			golden := filepath.Join("testdata", "reduced", tt.file)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s gave\n%s\nwant\n%s", tt.command, got, want)
			}
			checkReduction(t, tt.command, body, got)
		})
	}
}

// outcome is a word at which a reader learns that something went wrong. It is
// written apart from the rule of the reducer.
var outcome = regexp.MustCompile(`(?i)\b(?:error|errors|fatal|panic|panicked|failed|failure|warning|exception)\b`)

// passes are whole lines that hold such a word in the name of a test that
// passed.
var passes = regexp.MustCompile(`^(?:\s*--- PASS: |=== |test \S.* \.\.\. |\S+::\S+ +(?:PASSED|XFAIL) |ok |\?   \t)`)

// checkReduction fails where a reducer broke a promise.
func checkReduction(t testing.TB, command, body, got string) {
	t.Helper()
	if len(got) > len(body) {
		t.Errorf("%q: %d bytes became %d", command, len(body), len(got))
	}
	if !utf8.ValidString(got) && utf8.ValidString(body) {
		t.Errorf("%q: the result is not UTF-8", command)
	}
	for l := range strings.SplitSeq(body, "\n") {
		if classOfCommand(command) == classStatus || passes.MatchString(l) || !outcome.MatchString(l) {
			continue
		}
		for part := range strings.SplitSeq(l, "\r") {
			if outcome.MatchString(part) && !strings.Contains(got, part) {
				t.Errorf("%q: the line %q is gone", command, part)
			}
		}
	}
}

func TestReducerLeavesOtherResultsAlone(t *testing.T) {
	t.Parallel()
	status := recorded(t, "git-dirty.txt")
	args := func(command string) json.RawMessage {
		raw, err := json.Marshal(commandInput{Command: command})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for _, tt := range []struct {
		name string
		r    sallyport.Result
		args json.RawMessage
	}{
		{"a failure", sallyport.Err("command failed", sallyport.CodeExecutionFailed), args("git status")},
		{"another command", sallyport.OK("exit code: 0\n\n" + status), args("cat status.txt")},
		{"no header", sallyport.OK(status), args("git status")},
		{"no arguments", sallyport.OK("exit code: 0\n\n" + status), nil},
		{"a failing status", sallyport.OK("exit code: 128\n\n" + status), args("git status")},
		{"a part of a status", sallyport.OK("exit code: 0\n\n" + status), args("git status | tail -3")},
		{"a status that was cut", sallyport.OK("exit code: 0\n\n M a\n\n[5 bytes left out]\n\n M b"), args("git status -s")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Reducers()[0].Reduce(tt.r, sallyport.ReducerContext{Args: tt.args})
			if got.Value != tt.r.Value || got.Error != tt.r.Error || got.OK != tt.r.OK {
				t.Errorf("Reduce = %q %q, want it as it was", got.Value, got.Error)
			}
		})
	}
}

// TestReducerKeepsTheMark is for the line about the middle of an output: the
// counts of what is left would be wrong, and the path would be lost.
func TestReducerKeepsTheMark(t *testing.T) {
	t.Parallel()
	mark := "[12345 bytes left out; the whole output is in /w/.terminal/a.log]"
	body := strings.Repeat("--- PASS: TestError (0.00s)\n", 50) + "\n" + mark + "\n\n--- FAIL: TestB (0.00s)\nFAIL\tx\t0.1s"
	got := reduced(t, "go test -v", "exit code: 1", body)
	if !strings.Contains(got, mark) || !strings.Contains(got, "[left out: lines of passing tests (50)]") || strings.Contains(got, " passed, ") {
		t.Errorf("reduced = %q, want the mark and no counts", got)
	}
}

// TestReducerCountsNoFailureAsSuccess: a run that failed for another reason
// than a test has no line in front that says that all passed.
func TestReducerCountsNoFailureAsSuccess(t *testing.T) {
	t.Parallel()
	passing := strings.Repeat("--- PASS: TestA (0.00s)\n", 50) + "ok  \tp\t0.1s\n"
	for _, tt := range []struct {
		header, body string
		counts       bool
	}{
		{"exit code: 0", passing, true},
		{"exit code: 0\nchanges:", passing, true},
		{"exit code: 1", passing + "FAIL\tq [build failed]\nFAIL\n", false},
		{"exit code: 124 (ended by the timeout of 30 s)", passing, false},
		{"exit code: 1", passing + "--- FAIL: TestB (0.00s)\nFAIL\tq\t0.1s\n", true},
	} {
		got := reduced(t, "go test -v ./...", tt.header, tt.body)
		if strings.Contains(got, "tests: ") != tt.counts {
			t.Errorf("after %q: %q, want counts %t", tt.header, got, tt.counts)
		}
	}
}

// TestProgressIsShownAsATerminalWould is for lines that are written over and
// over: the last one counts, and what could be trouble.
func TestProgressIsShownAsATerminalWould(t *testing.T) {
	t.Parallel()
	body := "10%\r20%\rwarning: disk almost full\r100%\r\n\n\nadded 3 packages"
	if got, want := reduced(t, "npm install", "exit code: 0", body), "warning: disk almost full\n100%\n\nadded 3 packages"; got != want {
		t.Errorf("reduced = %q, want %q", got, want)
	}
}

func TestManyFilesInAStatus(t *testing.T) {
	t.Parallel()
	body := "## main\n" + strings.Repeat("?? some/untracked/file.txt\n", 100) + strings.Repeat(" M some/changed/file.txt\n", 3)
	got := reduced(t, "git status -sb", "exit code: 0", body)
	want := "main\n3 changed, 100 untracked\n" + strings.Repeat(" M some/changed/file.txt\n", 3) +
		strings.Repeat("?? some/untracked/file.txt\n", maxStatusFiles) + "and 60 more untracked; git status PATH lists them"
	if got != want {
		t.Errorf("reduced = %q, want %q", got, want)
	}
}

func TestCommandClass(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]outputClass{
		"git status": classStatus, "git  status -sb": classStatus, "cd a && git status": classStatus, "git --no-pager status": classStatus,
		"git status; rm x": classOther, "git status | tail -3": classOther, "git status && go test ./...": classOther, "git stash": classOther,
		"git -C status log": classOther, "git status -z": classOther, "echo git status": classOther, "git status > x": classOther,
		"go test ./...": classTests, "FOO=1 go test -run 'X' .": classTests, "go test ./... 2>&1 | tail -50": classTests,
		"go test ./... | grep FAIL": classOther, "go vet ./...": classOther, "$(go test)": classOther, "go test . || true": classOther,
		"npm ci && npm test": classTests, "npm run test:unit": classTests, "npm run build": classOther, "npm": classOther, "": classOther,
		"yarn add x": classInstall, "pip3 install -r r.txt": classInstall, "/usr/bin/python3 -m pip install x": classInstall,
		"python3 -m pytest -x": classTests, "python3 x.py": classOther, "python3 -m": classOther, "sudo apt-get update && sudo apt-get install -y x": classInstall,
		"cargo run": classOther, "make test": classTests, "make": classOther, "cat x | head": classOther, "cd x": classOther, "sudo": classOther,
		"go test ." + strings.Repeat(" | cat", 10): classTests, "go test ." + strings.Repeat(" | cat", 1000): classOther,
	} {
		if got := classOfCommand(command); got != want {
			t.Errorf("commandClass(%q) = %q, want %q", command, got, want)
		}
	}
}

// FuzzReducer holds the reducer to its promises for any output.
func FuzzReducer(f *testing.F) {
	commands := []string{"git status", "go test ./...", "npm install x", "ls", "npm ci && npm test", "pytest | tail -5"}
	files, err := filepath.Glob("testdata/recorded/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recorded outputs: %v", err)
	}
	for i, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), uint(i))
	}
	f.Add("Reading database ... 5%\rfatal error: x\rdone", uint(2))
	f.Add("(\r\n\rerror", uint(1))
	f.Fuzz(func(t *testing.T, body string, which uint) {
		command := commands[which%uint(len(commands))]
		got := reduced(t, command, "exit code: 0", body)
		checkReduction(t, command, body, got)
		if again := reduced(t, command, "exit code: 0", body); again != got {
			t.Errorf("%q: %q and then %q", command, got, again)
		}
		_, _ = summarizeGoJSON(body)
	})
}

// TestC28_GitsWarningsDoNotHideItsStatus has git say first that it may not look
// into a folder.
func TestC28_GitsWarningsDoNotHideItsStatus(t *testing.T) {
	t.Parallel()
	const warning = "warning: could not open directory '.sallyport/': Permission denied"
	for _, text := range []string{
		warning + "\n## main\n M a.go\n?? b.go\n",
		"On branch main\n" + warning + "\nChanges not staged for commit:\n  (use \"git add <file>...\" to update what will be committed)\n\tmodified:   a.go\n\n" +
			"Untracked files:\n  (use \"git add <file>...\" to include in what will be committed)\n\tb.go\n\nno changes added to commit\n",
	} {
		got := reduceStatus(text)
		if !strings.Contains(got, "1 changed, 1 untracked") || !strings.Contains(got, warning) {
			t.Errorf("reduceStatus(%q) = %q, want the counts and the warning", text, got)
		}
	}
}
