package action_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/needs"
)

// handlers writes files and returns their folder.
func handlers(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// scripted is the tool of a definition whose paths are anchored at dir.
func scripted(t *testing.T, dir, text string) sallyport.Tool {
	t.Helper()
	d, err := action.Decode(json.RawMessage(text), &action.DecodeOptions{Dir: dir})
	if err != nil {
		t.Fatalf("Decode(%s) = %v", text, err)
	}
	tl, err := d.Tool()
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

const (
	nodeHandler = `let text = "";
process.stdin.on("data", (d) => text += d).on("end", () => {
	const { params, context } = JSON.parse(text);
	console.log(JSON.stringify({ said: params.message, keys: Object.keys(context), who: context.principal, argv: process.argv.length }));
});`
	pythonHandler = "import json, sys\nq = json.load(sys.stdin)\nprint(json.dumps({'said': q['params']['message'], 'keys': list(q['context']), 'who': q['context']['principal'], 'argv': 1 + len(sys.argv)}))\n"
	shellHandler  = `#!/bin/bash
read -r line
case $line in *'"message":"hi"'*) said=hi;; *) said=other;; esac
echo "{\"said\": \"$said\", \"keys\": [\"callId\",\"session\",\"personality\",\"principal\",\"workspace\",\"user\",\"turn\"], \"who\": \"me\", \"argv\": $((2 + $#))}"
`
)

// TestPathsRunByTheInterpreterOfTheirEnding runs the handlers of the
// documents' form under a personality without files.
func TestPathsRunByTheInterpreterOfTheirEnding(t *testing.T) {
	t.Parallel()
	dir := handlers(t, map[string]string{"a.js": nodeHandler, "a.py": pythonHandler, "a": shellHandler, "a.sh": strings.ReplaceAll(shellHandler, "/bash", "/sh")})
	for name, program := range map[string]string{"a.js": "node", "a.py": "python3", "a": "bash", "a.sh": "sh"} {
		t.Run(name, func(t *testing.T) {
			needs.Programs(t, program)
			g := newGate(t, scripted(t, dir, `{"id": "act", "name": "Act", "handler": "./`+name+`", "permissions": [],
				"parameters": {"message": {"type": "string", "required": true}}}`))
			res := g.use(`{"message": "hi"}`)
			want := map[string]any{
				"said": "hi", "keys": []any{"callId", "session", "personality", "principal", "workspace", "user", "turn"}, "who": "me", "argv": 2.0,
			}
			if d := cmp.Diff(want, res.Structured); d != "" {
				t.Errorf("result = %+v, structured (-want +got):\n%s", res, d)
			}
			if !strings.Contains(res.Value, `"said":"hi"`) || !strings.Contains(res.Value, "<untrusted source=\"cmd:") {
				t.Errorf("value = %q, want the wrapped text of the answer", res.Value)
			}
			if res := g.use(`{}`); res.Code != sallyport.CodeInputInvalid {
				t.Errorf("a call without its argument = %+v, want input_invalid", res)
			}
		})
	}
}

func TestAnswersOfPrograms(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	for _, tt := range []struct {
		name, script, value string
		structured          map[string]any
		fails               string
	}{
		{name: "text", script: `echo '"plain\n text"'`, value: "plain\n text"},
		{name: "number", script: `echo 42`, value: "42", structured: map[string]any{"result": 42.0}},
		{name: "list", script: `echo '[1, 2]'`, value: "[1,2]", structured: map[string]any{"result": []any{1.0, 2.0}}},
		{name: "null", script: `echo null`, value: "null", structured: map[string]any{"result": nil}},
		{name: "nothing", script: `true`, fails: "printed nothing"},
		{name: "no JSON", script: `echo hello`, fails: "did not print one JSON value"},
		{name: "two values", script: `echo '{} {}'`, fails: "did not print one JSON value"},
		{name: "garbage behind", script: `echo '{}x'`, fails: "did not print one JSON value"},
		{name: "a key twice", script: `echo '{"a":1,"a":2}'`, fails: "did not print one JSON value"},
		{name: "exit code", script: `echo '{}'; echo first >&2; printf 'x%.0s' {1..9000} >&2; echo; echo >&2; echo last >&2; exit 3`, fails: "ended with exit code 3\n\nlast\n"},
		{name: "too much", script: `head -c 2000000 /dev/zero | tr '\0' ' '; echo 1`, fails: "printed more than 1048576 bytes"},
		{name: "much beside", script: `head -c 2000000 /dev/zero >&2; echo 1`, value: "1", structured: map[string]any{"result": 1.0}},
		{name: "secret", script: `echo '"` + apiKey + `"'`, value: "[REDACTED]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := handlers(t, map[string]string{"run": "#!/bin/bash\n" + tt.script})
			g := newGate(t, scripted(t, dir, `{"id": "act", "handler": {"exec": {"path": "run"}}}`))
			res := g.use(`{}`)
			if tt.fails != "" {
				if res.OK || res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, tt.fails) {
					t.Errorf("result = %+v, want execution_failed with %q", res, tt.fails)
				}
				if tt.name == "exit code" && (!strings.Contains(res.Error, "last") || strings.Contains(res.Error, "first")) {
					t.Errorf("error = %q, want the end of standard error", res.Error)
				}
				return
			}
			if tt.name == "secret" {
				if !res.OK || strings.Contains(res.Value, "horse") {
					t.Errorf("result = %+v, want a success without the secret", res)
				}
				return
			}
			if d := cmp.Diff(tt.structured, res.Structured); !res.OK || d != "" || !strings.Contains(res.Value, "\n"+tt.value+"\n") {
				t.Errorf("result = %+v, want value %q, structured (-want +got):\n%s", res, tt.value, d)
			}
		})
	}
}

// TestArgumentsReachNoCommandLine looks at what the program was started with.
func TestArgumentsReachNoCommandLine(t *testing.T) {
	needs.Programs(t, "bash")
	dir := handlers(t, map[string]string{"run": "#!/bin/bash\ntr '\\0' ' ' </proc/self/cmdline | grep -q canary && exit 4\nenv | grep -q canary && exit 5\necho \"{\\\"n\\\": $#, \\\"first\\\": \\\"$1\\\", \\\"fixed\\\": \\\"$FIXED\\\"}\""})
	g := newGate(t, scripted(t, dir, `{"id": "act", "parameters": {"m": {"type": "string"}},
		"handler": {"exec": {"command": ["./run", "--fixed {m}"], "env": {"FIXED": "text"}}}}`))
	res := g.use(`{"m": "canary; exit 6 #"}`)
	if d := cmp.Diff(map[string]any{"n": 1.0, "first": "--fixed {m}", "fixed": "text"}, res.Structured); d != "" {
		t.Errorf("result = %+v, structured (-want +got):\n%s", res, d)
	}
}

// TestAChangedProgramIsRefused rewrites the file behind a loaded definition.
func TestAChangedProgramIsRefused(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	dir := handlers(t, map[string]string{"run": "#!/bin/bash\necho 1"})
	path := filepath.Join(dir, "run")
	text := `{"id": "act", "handler": "run"}`
	before := scripted(t, dir, text)
	g := newGate(t, before)
	if res := g.use(`{}`); !res.OK {
		t.Fatalf("result = %+v, want a success", res)
	}
	if err := os.WriteFile(path, []byte("#!/bin/bash\necho 2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if res := g.use(`{}`); res.OK || !strings.Contains(res.Error, "was changed after the configuration was loaded") {
		t.Errorf("result = %+v, want a refusal", res)
	}
	if after := scripted(t, dir, text); after.Revision == before.Revision || after.Revision == "" {
		t.Errorf("revisions = %q and %q, want two", before.Revision, after.Revision)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if res := g.use(`{}`); res.OK {
		t.Errorf("result = %+v, want a refusal", res)
	}
}

// TestProgramsSeeNothingElse looks for the files beside the handler and for
// the network.
func TestProgramsSeeNothingElse(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	s := newSite(t, nil)
	dir := handlers(t, map[string]string{
		"run":        "#!/bin/bash\nls \"$(dirname \"$0\")\" 1>&2; cat \"$(dirname \"$0\")/beside.txt\" 1>&2; exec 3<>/dev/tcp/" + strings.Replace(s.Listener.Addr().String(), ":", "/", 1) + "; exit 9",
		"beside.txt": "of another user",
	})
	g := newGate(t, scripted(t, dir, `{"id": "act", "handler": "run"}`))
	res := g.use(`{}`)
	if res.OK || strings.Contains(res.Error, "of another user") || strings.Contains(res.Error, "beside.txt\n") {
		t.Errorf("result = %+v, want a failure that has seen nothing", res)
	}
	if len(s.requests()) != 0 {
		t.Error("the program reached the network")
	}
}

// TestSecretsOfProgramsAreStandIns gives a handler a key that it never sees.
func TestSecretsOfProgramsAreStandIns(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	s := newSite(t, nil)
	// Python asks no proxy for an address of loopback.
	host := strings.Replace(s.Listener.Addr().String(), "127.0.0.1", "api.example", 1)
	dir := handlers(t, map[string]string{"a.py": "import json, os, sys, urllib.request\nr = urllib.request.Request('http://" + host + "/x', headers={'X-Api-Key': os.environ['API_KEY']})\nprint(json.dumps({'seen': os.environ['API_KEY'], 'answer': json.load(urllib.request.urlopen(r))}))\n"})
	g := newGate(t, scripted(t, dir, `{"id": "act", "handler": {"exec": {"path": "a.py", "env": {"API_KEY": "{secret:providers/weather/apiKey}"}}},
		"capabilities": {"network": {"allowedHosts": ["`+host+`"]}, "secrets": ["providers/weather/apiKey"]}}`))
	res := g.use(`{}`)
	if !res.OK {
		t.Fatalf("result = %+v, want a success", res)
	}
	if seen, _ := res.Structured["seen"].(string); !strings.HasPrefix(seen, "sallyport-") {
		t.Errorf("the program saw %q, want a stand-in", seen)
	}
	// The proxy puts the value into what is encrypted only; this is not.
	if got := s.requests(); len(got) != 1 || !strings.HasPrefix(got[0].Header.Get("X-Api-Key"), "sallyport-") {
		t.Errorf("requests = %+v, want one with the stand-in", got)
	}
}

func TestALongProgramTellsTheUserThatItRuns(t *testing.T) {
	t.Parallel()
	dir := handlers(t, map[string]string{"slow.sh": "sleep 2.3\necho '{}'\n"})
	g := newGate(t, scripted(t, dir, `{"id": "act", "handler": "slow.sh"}`))
	if res := g.use(`{}`); !res.OK || !strings.Contains(strings.Join(g.progress, "; "), "running sh slow.sh, 2s so far") {
		t.Errorf("Call = %+v, told %q", res, g.progress)
	}
}

func TestAProgramKnowsItsUserAndTurn(t *testing.T) {
	t.Parallel()
	dir := handlers(t, map[string]string{"a.py": "import json, sys\nc = json.load(sys.stdin)['context']\nprint(json.dumps({'user': c['user'], 'turn': c['turn']}))\n"})
	g := newGate(t, scripted(t, dir, `{"id": "act", "handler": "a.py"}`))
	res := g.Call(t.Context(), &sallyport.Caller{
		Principal: sallyport.Principal{Name: "me", Permissions: []string{"a:read"}, Person: true}, Personality: "agent", Session: "s", Turn: 4, Agent: "planner",
	}, sallyport.Request{Tool: "act"})
	want := map[string]any{
		"user": map[string]any{"name": "me", "permissions": []any{"a:read"}, "person": true}, "turn": map[string]any{"turn": 4.0, "agent": "planner"},
	}
	if diff := cmp.Diff(want, res.Structured); diff != "" {
		t.Errorf("Call = %+v (-want +got):\n%s", res, diff)
	}
}
