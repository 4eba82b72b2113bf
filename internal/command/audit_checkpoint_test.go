package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/sallyport/sallyport/internal/app"
)

// checkpointIn returns the files that audit anchor names in its answer, and the key.
func checkpointIn(t *testing.T, answer string) (path, key string) {
	t.Helper()
	for line := range strings.Lines(answer) {
		if rest, ok := strings.CutPrefix(line, "checkpoint "); ok {
			path = strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, "verifier key "); ok {
			key = strings.TrimSpace(rest)
		}
	}
	if path == "" || key == "" {
		t.Fatalf("the answer names no checkpoint: %s", answer)
	}
	return path, key
}

// A note that others keep proves the file of heads, and through it the record.
func TestCheckpointsOfARecord(t *testing.T) {
	t.Parallel()
	dir, elsewhere := folder(t), t.TempDir()
	file := filepath.Join(elsewhere, "anchors.jsonl")
	fails := func(want string, args ...string) {
		t.Helper()
		if out, err := sallyportCommand(dir, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, want %q:\n%s", args, err, want, out)
		}
	}
	var notes []string
	for range 3 {
		runSallyport(t, dir, "call", "read_file", `{"path":"README.md"}`)
		path, key := checkpointIn(t, runSallyport(t, dir, "audit", "anchor", "--to", file, "--origin", "example.com/gate"))
		verifier, err := note.NewVerifier(key)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || filepath.Dir(path) != file+".d" {
			t.Fatal(path, err)
		}
		if _, err := note.Open(text, note.VerifierList(verifier)); err != nil {
			t.Errorf("others do not accept %s: %v", text, err)
		}
		notes = append(notes, path)
	}
	for i, path := range notes {
		want := fmt.Sprintf("3 of 3 anchors are in the record\nthe first %d are those of the checkpoint of example.com/gate", i+1)
		if out := runSallyport(t, dir, "audit", "verify", "--anchors", file, "--checkpoint", path); !strings.Contains(out, want) {
			t.Errorf("verify with checkpoint %d says %s", i+1, out)
		}
	}
	for _, flag := range []string{"--head", "--anchors", "--checkpoint", "--timestamp-ca"} {
		fails(flag+" is empty", "audit", "verify", flag, "")
	}
	fails("give --anchors FILE", "audit", "verify", "--checkpoint", notes[0])
	fails("the key of this record has not signed it", "audit", "verify", "--anchors", file, "--checkpoint", forgeNote(t, elsewhere, notes[2]))
	fails("--origin: expected one file", "audit", "anchor", "--to", "https://example.com", "--origin", "example.com/gate")
	fails("--origin: expected a name like", "audit", "anchor", "--to", file, "--origin", "https://example.com")

	// The file is set back, and the record goes on.
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(all), "\n")
	place(t, elsewhere, "anchors.jsonl", lines[0])
	fails("the file has 1: it was shortened", "audit", "verify", "--anchors", file, "--checkpoint", notes[2])
	runSallyport(t, dir, "call", "read_file", `{"path":"README.md"}`)
	fails("no checkpoint of example.com/gate is signed: a checkpoint counts 3 anchors, and the file has 2", "audit", "anchor", "--to", file, "--origin", "example.com/gate")
	fails("no checkpoint of example.com/gate is signed", "audit", "anchor", "--to", filepath.Join(elsewhere, "other.jsonl"), "--origin", "example.com/gate")
}

// The name of the configured log is not given to another file, after which the configured one
// would get no checkpoint.
func TestTheNameOfTheConfiguredLogIsForItsFile(t *testing.T) {
	t.Parallel()
	dir, elsewhere := folder(t), t.TempDir()
	file := filepath.Join(elsewhere, "anchors.jsonl")
	place(t, dir, app.ConfigName, configText(t, dir)+fmt.Sprintf("audit: {anchors: [{file: %q}], origin: example.com/gate}\n", file))
	runSallyport(t, dir, "call", "read_file", `{"path":"README.md"}`)
	other := filepath.Join(elsewhere, "other.jsonl")
	out, err := sallyportCommand(dir, "audit", "anchor", "--to", other, "--origin", "example.com/gate").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--origin: example.com/gate is the log in "+file) {
		t.Errorf("another file: %v\n%s", err, out)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("the refused file has a head")
	}
	runSallyport(t, dir, "audit", "anchor", "--to", other, "--origin", "example.com/other")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"--to", file, "--origin", "example.com/gate"}, {"--to", filepath.Join(link, "anchors.jsonl"), "--origin", "example.com/gate"}} {
		runSallyport(t, dir, "call", "read_file", `{"path":"README.md"}`)
		checkpointIn(t, runSallyport(t, dir, append([]string{"audit", "anchor"}, args...)...))
	}
}

// forgeNote stores a note with the text of another one and no signature of its key.
func forgeNote(t *testing.T, dir, of string) string {
	t.Helper()
	text, err := os.ReadFile(of)
	if err != nil {
		t.Fatal(err)
	}
	place(t, dir, "forged", strings.Replace(string(text), "— example.com/gate ", "— example.com/other ", 1))
	return filepath.Join(dir, "forged")
}

// A server signs the checkpoint of its file by itself.
func TestServeSignsCheckpoints(t *testing.T) {
	t.Parallel()
	dir, elsewhere := folder(t), t.TempDir()
	file := filepath.Join(elsewhere, "anchors.jsonl")
	place(t, dir, app.ConfigName, configText(t, dir)+fmt.Sprintf("audit: {anchors: [{file: %q}], origin: example.com/gate}\n", file))
	runSallyport(t, dir, "call", "read_file", `{"path":"README.md"}`)
	s := serveHTTP(t, dir)
	s.stop(t)
	seq, _, _ := strings.Cut(runSallyport(t, dir, "audit", "head"), ":")
	note := filepath.Join(file+".d", seq+".checkpoint")
	if out := runSallyport(t, dir, "audit", "verify", "--anchors", file, "--checkpoint", note); !strings.Contains(out, "those of the checkpoint of example.com/gate") {
		t.Errorf("verify says %s", out)
	}
}
