package main

import (
	"encoding/json"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sallyport": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"callid": callID},
	})
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
