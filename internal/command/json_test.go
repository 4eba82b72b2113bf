package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/internal/pending"
)

//go:generate go test -run ^TestEveryCommandAnswersInJSON$ -update

// jsonRun is a run of a command with --json.
type jsonRun struct {
	// args is the command line; a word such as $HELD stands for what was kept.
	args  string
	stdin string
	// exit is the exit code.
	exit int
	// keep is NAME=path: the value in the answer that later runs use.
	keep string
	// plain is true for a command whose answer is JSON in any case.
	plain bool
	// errors is true for a command whose answer is on standard error, as standard
	// output belongs to a child.
	errors bool
	// speaks is true for a command whose output is a protocol, which is on another page.
	speaks bool
	// goesOn is true for a command that goes on after its first line.
	goesOn bool
}

// jsonRuns are runs of all commands, in an order in which each finds what it needs.
var jsonRuns = []jsonRun{
	{args: "version"},
	{args: "schema", plain: true},
	{args: "doctor"},
	{args: "init --config other.yaml"},
	{args: "secrets set a/b --config other.yaml", stdin: "hunter2-hunter2"},
	{args: "secrets ls --config other.yaml"},
	{args: "secrets rm a/b --config other.yaml"},
	{args: "lock", exit: 1},
	{args: "check", exit: 1},
	{args: "diff notes --config wider.yaml", exit: 1, keep: "DIGEST=servers.0.accept"},
	{args: "lock accept notes --config wider.yaml --expect $DIGEST"},
	{args: "tools"},
	{args: "tools read_file"},
	{args: "tools --form prompt"},
	{args: "tools --form resource"},
	{args: "tools --format openai"},
	{args: "explain read_file --path /srv/a", exit: 1},
	{args: `call read_file {"path":"README.md"}`, keep: "CALL=call_id"},
	{args: "call none", exit: 1},
	{args: `batch`, stdin: `{"id":"1","tool":"read_file","args":{"path":"README.md"}}`, plain: true},
	{args: "explain --call $CALL"},
	{args: `call write_file {"path":"a.txt","content":"a"}`, exit: 1, keep: "HELD=approval_id"},
	{args: "approvals ls"},
	{args: "approvals watch", goesOn: true},
	{args: "approvals approve $HELD --as ann"},
	{args: "approvals deny $HELD --as ann"},
	{args: `call write_file {"path":"a.txt","content":"b"} --session s`, exit: 1, keep: "SHAPED=approval_id"},
	{args: "approvals approve $SHAPED --session --args path", keep: "RULE=sha256"},
	{args: "approvals approve $SHAPED --session --args path --expect $RULE"},
	{args: "approvals rules"},
	{args: "approvals revoke $SHAPED"},
	{args: `call write_file {"path":"a.txt","content":"c"}`, exit: 1, keep: "LASTING=approval_id"},
	{args: "approvals approve $LASTING --always"},
	{args: "approvals approve $LASTING --always --yes"},
	{args: `call send {"to":"bob@example.com"}`, exit: 1, keep: "CONTACT=approval_id"},
	{args: "approvals approve $CONTACT --always --yes"},
	{args: "approvals rules"},
	{args: "known ls contacts"},
	{args: "known export contacts"},
	{args: "known rm contacts bob@example.com"},
	{args: "replay"},
	{args: "replay --config narrow.yaml", exit: 1},
	{args: "suggest --role ops"},
	{args: "serve --stdio --shadow narrow.yaml", stdin: initialize + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"README.md"}}}`, speaks: true},
	{args: "shadow", exit: 1},
	{args: "audit tail"},
	{args: "audit costs"},
	{args: "audit show $CALL"},
	{args: "audit anchor --to ../anchors.jsonl --origin example.com/gate"},
	{args: "audit head"},
	{args: "audit verify"},
	{args: "audit export", plain: true},
	{args: "backup --force copy"},
	{args: "restore copy --config elsewhere.yaml"},
	{args: "audit prune --before 2020-01-01"},
	{args: "principals add ci"},
	{args: "principals rotate ci"},
	{args: "principals stop ci"},
	{args: "principals ls"},
	{args: "principals start ci"},
	{args: "principals forget ci"},
	{args: "principals revoke ci"},
	{args: "page --url http://127.0.0.1:7331"},
	{args: "page end"},
	{args: "reach ls"},
	{args: "reach forget $DIR/out"},
	{args: "reach accept action prog"},
	{args: "pending ls"},
	{args: "pending show $PENDING", keep: "HASH=hash"},
	{args: "pending apply $PENDING --expect $HASH"},
	{args: "pending drop $DROPPED"},
	{args: "grant ops --write docs --yes"},
	{args: "revoke ops --write docs --yes"},
	{args: "connect cursor --print", plain: true},
	{args: "connect cursor"},
	{args: "import"},
	{args: "import zed"},
	{args: "import openapi pets.json"},
	{args: "observe -- true", errors: true},
	{args: "serve --listen 127.0.0.1:0", goesOn: true},
	{args: "promote narrow.yaml --yes"},
	{args: "logout far"},
}

// withoutJSON are the commands that have no answer in JSON, with the reason.
var withoutJSON = map[string]string{
	"sallyport login":                 "prints two lines, the page to open and the result; it needs an issuer to run",
	"sallyport approve":               "is the former name of lock accept, and always fails",
	"sallyport help":                  "prints text for a person",
	"sallyport completion":            "prints text for a person",
	"sallyport completion bash":       "prints a script for a shell",
	"sallyport completion fish":       "prints a script for a shell",
	"sallyport completion powershell": "prints a script for a shell",
	"sallyport completion zsh":        "prints a script for a shell",
}

// TestEveryCommandAnswersInJSON runs every command with --json: its answer is JSON,
// of the form that docs/reference/json.md says. A new command has to be added here.
func TestEveryCommandAnswersInJSON(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("children are confined on Linux only")
	}
	needs.Programs(t, "python3")
	dir, kept := jsonFolder(t)
	forms := map[string]map[string]bool{}
	for i := range jsonRuns {
		r := &jsonRuns[i]
		args := strings.Fields(os.Expand(r.args, func(name string) string { return kept[name] }))
		path := commandOf(args)
		answer := r.run(t, dir, args)
		if r.speaks {
			continue
		}
		lines := decodeLines(t, r.args, answer)
		if forms[path] == nil {
			forms[path] = map[string]bool{}
		}
		depth := 3
		if path == "sallyport schema" {
			depth = 0 // the keys of the configuration are on another page
		}
		for _, line := range lines {
			addForms(forms[path], "", line, depth)
		}
		if name, key, ok := strings.Cut(r.keep, "="); ok && len(lines) > 0 {
			words := strings.Fields(fmt.Sprint(findValue(lines[0], key)))
			kept[name] = words[len(words)-1] // of a command its last argument
		}
	}
	for _, path := range commandPaths() {
		if forms[path] == nil && withoutJSON[path] == "" {
			t.Errorf("%s: no run shows its answer to --json: add one to jsonRuns, or the reason to withoutJSON", path)
		}
	}
	comparePage(t, forms)
}

// run runs a command and returns its answer.
func (r *jsonRun) run(t *testing.T, dir string, args []string) []byte {
	t.Helper()
	if !r.plain {
		args = append([]string{"--json"}, args...)
	}
	cmd := sallyportCommand(dir, args...)
	cmd.Env = append(cmd.Env, "HOME="+filepath.Join(filepath.Dir(dir), "home"))
	cmd.Stdin = strings.NewReader(r.stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if r.goesOn {
		if t.Failed() {
			t.FailNow() // it might never print a line
		}
		return firstLine(t, cmd)
	}
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != r.exit {
		t.Errorf("%s: exit code %d, want %d\n%s%s", r.args, code, r.exit, out.Bytes(), errs.Bytes())
	}
	if r.errors {
		return errs.Bytes()
	}
	return out.Bytes()
}

// firstLine returns the first line that a command prints, and ends it.
func firstLine(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var line json.RawMessage
	if err := json.NewDecoder(out).Decode(&line); err != nil {
		t.Errorf("%v: %v", cmd.Args, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return line
}

// decodeLines decodes one or several JSON values.
func decodeLines(t *testing.T, name string, answer []byte) (lines []any) {
	t.Helper()
	for dec := json.NewDecoder(bytes.NewReader(answer)); ; {
		var v any
		switch err := dec.Decode(&v); {
		case err == io.EOF && len(lines) > 0:
			return lines
		case err != nil:
			t.Errorf("%s: the answer is no JSON: %v\n%.300s", name, err, answer)
			return lines
		}
		lines = append(lines, v)
	}
}

// findValue returns the value at a path such as servers.0.accept.
func findValue(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			v = at[0]
		}
	}
	return v
}

// addForms adds the form of a value: a line for each key, to a depth.
func addForms(out map[string]bool, prefix string, v any, depth int) {
	name := map[bool]string{true: "the answer", false: prefix}[prefix == ""]
	switch v := v.(type) {
	case map[string]any:
		if depth == 0 || len(v) == 0 {
			out[name+": object"] = true
		}
		for key, member := range v {
			if depth > 0 {
				addForms(out, strings.TrimPrefix(prefix+"."+key, "."), member, depth-1)
			}
		}
	case []any:
		if len(v) == 0 {
			out[name+"[]: list"] = true
		}
		for _, item := range v {
			addForms(out, prefix+"[]", item, depth)
		}
	case nil:
		out[name+": null"] = true
	default:
		out[fmt.Sprintf("%s: %s", name, map[string]string{"string": "text", "float64": "number", "bool": "true or false"}[fmt.Sprintf("%T", v)])] = true
	}
}

// comparePage compares docs/reference/json.md with the answers. The keys that an
// answer has on some machines only are not compared.
func comparePage(t *testing.T, forms map[string]map[string]bool) {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprint(&b, "# Answers in JSON\n\nGenerated from runs of the commands; do not edit. With `--json` a command answers on standard output with one JSON value, or with one a line. "+
		"Keys stay; new ones may come, and a key without a value is left out. Where a command fails, the last line of standard error is `{\"error\":\"…\",\"exit\":2}`, "+
		"with the exit code; results of calls and reports that say no are answers, with exit code 1.\n\n`observe` answers on standard error, since standard output is the program's. "+
		"`login` prints two lines: the page to open, then the result. `schema`, `batch`, `audit export` and `tools --format` print JSON without the flag.\n")
	for _, path := range slices.Sorted(maps.Keys(forms)) {
		fmt.Fprintf(&b, "\n## %s\n\n", path)
		for _, line := range slices.Sorted(maps.Keys(forms[path])) {
			if !strings.HasPrefix(line, "lacking") {
				fmt.Fprintf(&b, "- `%s`%s\n", line[:strings.LastIndex(line, ":")], line[strings.LastIndex(line, ":"):])
			}
		}
	}
	fmt.Fprint(&b, "\n## Commands without such an answer\n\n")
	for _, path := range slices.Sorted(maps.Keys(withoutJSON)) {
		fmt.Fprintf(&b, "- `%s` %s\n", path, withoutJSON[path])
	}
	path := filepath.Join("..", "..", "docs", "reference", "json.md")
	if *update && !t.Failed() {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s differs from the answers (%v): run make generate\n%s", path, err, b.Bytes())
	}
}

// commandPaths returns the paths of the commands that do something.
func commandPaths() (paths []string) {
	root := newCommand(&environment{})
	root.InitDefaultCompletionCmd()
	eachCommand(root, func(c *cobra.Command) {
		groups := c.HasSubCommands() && c.Name() != "lock" && c.Name() != "import"
		if c.Runnable() && !groups {
			paths = append(paths, c.CommandPath())
		}
	})
	return paths
}

// commandOf returns the path of the command that a command line runs.
func commandOf(args []string) string {
	cmd, _, err := newCommand(&environment{}).Find(args)
	if err != nil {
		return ""
	}
	return cmd.CommandPath()
}

// jsonFolder makes a folder in which every command finds something, and returns the
// words of its command lines.
func jsonFolder(t *testing.T) (dir string, words map[string]string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "project")
	server, err := os.ReadFile("../../gateway/upstream/testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	const config = `version: 1
personalities:
  ops:
    toolset: [read_file, write_file, prog, send]
    mcp_servers: [notes, far]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}/out", "${workspace}/a.txt"]}
    approvals: {require: [write_file], wait: 0s}
    arguments: {send: {to: {known: contacts, else: hold}}}
known: {contacts: {kind: mail, list: [ann@example.com]}}
mcp_servers:
  notes: {command: [python3, ./server.py], capabilities: {fs_reach: {read: from-personality}}}
  far: {url: "https://127.0.0.1:1/mcp", oauth: {client_id: us}}
actions:
  - {id: prog, description: Runs, parameters: {type: object}, handler: {exec: {command: [./out/prog]}}}
  - {id: send, description: Sends, parameters: {type: object, properties: {to: {type: string}}}, handler: {exec: {command: [cat]}}}
`
	for name, text := range map[string]string{
		"sallyport.yaml": config, "elsewhere.yaml": "version: 2\nstate: sqlite:elsewhere/state.db\n", "narrow.yaml": strings.Replace(config, "[read_file, write_file,", "[write_file,", 1), "wider.yaml": strings.Replace(config, "./server.py]", "./server.py, \"2\"]", 1),
		"README.md": "# Hello\n", "server.py": string(server), "out/prog": "#!/bin/sh\necho '{}'\n", "docs/a": "a", "tasks.json": "old\n",
		"../home/.config/zed/settings.json": `{"context_servers": {"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory@2025.9.25"]}}}`,
		"pets.json": `{"openapi": "3.0.0", "info": {"title": "Pets", "version": "1"}, "servers": [{"url": "https://pets.example.com"}],
"paths": {"/pets": {"get": {"operationId": "listPets", "responses": {"200": {"description": "ok"}}}}}}`,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	words = map[string]string{"DIR": dir}
	store := pending.Store{Dir: filepath.Join(dir, ".sallyport", "pending")}
	for _, name := range []string{"PENDING", "DROPPED"} {
		words[name], err = store.Add(pending.Batch{Time: time.Now(), Binary: "sh", Files: []pending.File{
			{Path: filepath.Join(dir, "tasks.json"), Mode: 0o644, Content: []byte("new\n"), Was: digest.Text("old\n")},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, words
}
