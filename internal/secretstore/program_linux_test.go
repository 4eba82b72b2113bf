package secretstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox"
)

func newRunner(t *testing.T) *sandbox.Runner {
	t.Helper()
	r, err := sandbox.New(&sandbox.Options{Level: sallyport.LevelNone, Warm: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// newProgram returns the secrets of a shell script.
func newProgram(t *testing.T, script string, o ProgramOptions, args ...string) *Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	o.Runner = newRunner(t)
	return NewProgram(append([]string{path}, args...), o)
}

func TestProgramPrintsTheValue(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `echo "run" >> "$LOG"; echo noise >&2; case "$2" in none) ;; *) printf 'value of %s %s\n\n' "$1" "$2";; esac`,
		ProgramOptions{Env: map[string]string{"LOG": filepath.Join(t.TempDir(), "log")}}, "show")
	for range 2 {
		if got, ok, err := p.Secret(t.Context(), "a/b"); err != nil || !ok || got.Reveal() != "value of show a/b\n" {
			t.Errorf("Secret(a/b) = %q, %t, %v, want what it prints without one line ending", got.Reveal(), ok, err)
		}
	}
	if text, _ := os.ReadFile(p.o.Env["LOG"]); string(text) != "run\n" {
		t.Errorf("it ran %q, want once within a minute", text)
	}
	if _, ok, err := p.Secret(t.Context(), "none"); ok || err != nil {
		t.Errorf("Secret(none) = %t, %v, want neither: it prints nothing", ok, err)
	}
	if d := cmp.Diff([]string{"value of show a/b\n"}, known(t, p)); d != "" {
		t.Errorf("Known (-want +got):\n%s", d)
	}
}

// TestProgramHasNoShell: what a reference holds stays one argument.
func TestProgramHasNoShell(t *testing.T) {
	t.Parallel()
	p := newProgram(t, `printf '%s|%s|%s' "$#" "$1" "$2"`, ProgramOptions{}, "read", "op://{ref}/value")
	ref := "a/$(id) ;b"
	if got, ok, err := p.Secret(t.Context(), ref); err != nil || !ok || got.Reveal() != "2|read|op://"+ref+"/value" {
		t.Errorf("Secret = %q, %t, %v, want two arguments", got.Reveal(), ok, err)
	}
	if _, ok, err := p.Secret(t.Context(), "--help"); ok || err == nil {
		t.Errorf("Secret(--help) = %t, %v, want a refusal: it is an option", ok, err)
	}
}

func TestProgramThatFails(t *testing.T) {
	t.Parallel()
	refused := errors.New("an agent may write it")
	tests := []struct {
		name, script, want string
		o                  ProgramOptions
	}{
		{name: "exit code", script: "echo hunter2-hunter2; echo hunter2-hunter2 >&2; exit 3", want: "it ended with exit code 3"},
		{name: "killed", script: "echo hunter2-hunter2; kill -9 $$", want: "it ended with exit code 137"},
		{name: "short", script: "echo hunter2", want: "fewer than 8 bytes"},
		{name: "no text", script: `printf '\377\376\375\374\373\372\371\370'`, want: "not text in UTF-8"},
		{name: "huge", script: "head -c 70000 /dev/zero | tr '\\0' h", want: "printed more than 65536 bytes"},
		{name: "endless", script: "yes hunter2 | head -c 8000000", want: "printed more than 65536 bytes"},
		{name: "refused", script: "echo hunter2-hunter2", want: "an agent may write it", o: ProgramOptions{Check: func(string) error { return refused }}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, tt.script, tt.o)
			_, ok, err := p.Secret(t.Context(), "a")
			if ok || err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("Secret = %t, %v, want %q and nothing of what it printed", ok, err, tt.want)
			}
			if values, err := p.Known(t.Context()); err != nil || len(values) > 0 {
				t.Errorf("Known = %v, %v, want none", values, err)
			}
		})
	}
}

// TestANoisyProgramIsCut: what it says beside the value is dropped.
func TestANoisyProgramIsCut(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "yes noise | head -c 1000000 >&2; echo hunter2-hunter2", ProgramOptions{})
	if got, ok, err := p.Secret(t.Context(), "a"); err != nil || !ok || got.Reveal() != "hunter2-hunter2" {
		t.Errorf("Secret = %q, %t, %v, want the value", got.Reveal(), ok, err)
	}
}

// TestASlowProgramIsEnded, with what it started.
func TestASlowProgramIsEnded(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "sleep 600 & echo hunter2-hunter2; sleep 600", ProgramOptions{})
	p.wait = 100 * time.Millisecond
	if _, ok, err := p.Secret(t.Context(), "a"); ok || err == nil || !strings.Contains(err.Error(), "it did not end within 100ms") {
		t.Errorf("Secret = %t, %v, want no answer", ok, err)
	}
}

// TestARunHoldsUpNoOtherReference: while one reference waits, others are answered, and
// all who ask for the one share its run. Who leaves does not end it.
func TestARunHoldsUpNoOtherReference(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newProgram(t, `echo "$1" >> "$DIR/log"; [ "$1" = fast ] || { : > "$DIR/started"; read _ < "$DIR/gate"; }; echo value-of-$1`,
		ProgramOptions{Env: map[string]string{"DIR": dir}})
	p.wait = time.Minute // it ends when this test lets it
	if err := syscall.Mkfifo(filepath.Join(dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { _, _, err := p.Secret(first, "slow"); left <- err }()
	for {
		if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
			break
		}
		runtime.Gosched()
	}
	got := make(chan string)
	for range 3 {
		go func() {
			s, _, err := p.Secret(t.Context(), "slow")
			got <- fmt.Sprint(s.Reveal(), err)
		}()
	}
	if s, ok, err := p.Secret(t.Context(), "fast"); err != nil || !ok || s.Reveal() != "value-of-fast" {
		t.Errorf("Secret(fast) while slow runs = %q, %t, %v", s.Reveal(), ok, err)
	}
	if values := known(t, p); len(values) != 1 {
		t.Errorf("Known while slow runs = %v", values)
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left has %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gate"), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if s := <-got; s != "value-of-slow<nil>" {
			t.Errorf("Secret(slow) = %s", s)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "log")); string(text) != "slow\nfast\n" {
		t.Errorf("it ran for %q, want once for each", text)
	}
}
