package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// writableSet is a configuration whose set reads its members where tools may write.
const writableSet = `version: 2
workspace: .
state: sqlite:.sallyport/state.db
known: {payees: {kind: account, file: payees.txt}}
personalities:
  w:
    toolset: ["@file"]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}
`

// TestNoToolChoosesWhatIsKnown: the file of a set is closed to tools, and check names one
// that lies where they may write.
func TestNoToolChoosesWhatIsKnown(t *testing.T) {
	t.Parallel()
	dir := configured(t, writableSet)
	place(t, dir, "payees.txt", "DE02120300000000202051\n")
	cmd := sallyportCommand(dir, "call", "write_file", `{"path":"payees.txt","content":"DE89370400440532013000\n"}`)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("write_file of the file of a set = %s", out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "payees.txt")); err != nil || string(text) != "DE02120300000000202051\n" {
		t.Errorf("the set is now %q, %v", text, err)
	}
	out, err := sallyportCommand(dir, "check").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "known.payees: file: its members are in") {
		t.Errorf("check = %v\n%s", err, out)
	}
}

// TestAnUnknownSetIsAMistakeOfTheCaller has the exit code of other unknown names.
func TestAnUnknownSetIsAMistakeOfTheCaller(t *testing.T) {
	t.Parallel()
	dir := configured(t, strings.Replace(writableSet, ", file: payees.txt", "", 1))
	for _, args := range [][]string{{"known", "ls", "payee"}, {"known", "rm", "payee", "x"}, {"known", "export", "payee"}} {
		err := sallyportCommand(dir, args...).Run()
		if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 2 {
			t.Errorf("sallyport %v = %v, want exit code 2", args, err)
		}
	}
}
