package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/plugin/plugintest"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// This is an MCP server without a library.
			server, err := filepath.Abs("../../gateway/upstream/testdata/server.py")
			e.Setenv("SERVER", server)
			// Every process has to know the settings of the race detector.
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Values[scriptVariables{}] = slices.Clone(e.Vars)
			return err
		},
		UpdateScripts: *update,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"callid": callID, "approvalid": approvalID, "digestof": digestOf, "answer": keepAnswer, "copies": countCopies, "module": writeModule, "sallyport": runInScript},
	})
}

// writeModule writes a WebAssembly module with the tool greet, which answers with a
// text, declares some files, and is all that the module has.
func writeModule(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: module FILE TEXT CAPABILITIES")
	}
	answer := fmt.Sprintf(`{"ok":true,"value":%q}`, args[1])
	m := plugintest.Module{
		Answers: `[{"id":"greet","description":"Greets","capabilities":` + args[2] + `}]`, Data: answer, Call: plugintest.Say(answer),
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), m.Bytes(), 0o600))
}

// callID puts the call id of the record on stdout into a variable.
func callID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: callid VARIABLE")
	}
	var e struct {
		CallID string `json:"call_id"`
	}
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &e); err != nil || e.CallID == "" {
		ts.Fatalf("stdout holds no record: %v", err)
	}
	ts.Setenv(args[0], e.CallID)
}

// digestOf puts the last digest on stdout into a variable.
func digestOf(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(`--expect ([0-9a-f]{64})`).FindAllStringSubmatch(ts.ReadFile("stdout"), -1)
	if neg || len(args) != 1 || len(found) == 0 {
		ts.Fatalf("usage: digestof VARIABLE, with a digest on stdout")
	}
	ts.Setenv(args[0], found[len(found)-1][1])
}

// keepAnswer puts the text of a key of the answer on stdout into a variable.
func keepAnswer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: answer KEY VARIABLE")
	}
	var answer map[string]any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &answer); err != nil {
		ts.Fatalf("stdout holds no answer: %v", err)
	}
	value, ok := answer[args[0]].(string)
	if !ok {
		ts.Fatalf("the answer has no text %s", args[0])
	}
	ts.Setenv(args[1], value)
}

// approvalID puts the id of the held call on stdout into a variable.
func approvalID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: approvalid VARIABLE")
	}
	var res struct {
		ID string `json:"approval_id"`
	}
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &res); err != nil || res.ID == "" {
		ts.Fatalf("stdout holds no held call: %v", err)
	}
	ts.Setenv(args[0], res.ID)
}

// countCopies counts the stored copies of a file and puts the newest one into
// latest.bak.
func countCopies(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: copies FILE COUNT")
	}
	list := copies.FolderOf(ts.Getenv("HOME")).ListOf(ts.MkAbs(args[0]))
	if strconv.Itoa(len(list)) != args[1] {
		ts.Fatalf("%s has the copies %v, want %s", args[0], list, args[1])
	}
	if len(list) > 0 {
		ts.Check(os.WriteFile(ts.MkAbs("latest.bak"), []byte(ts.ReadFile(list[0])), 0o600))
	}
}
