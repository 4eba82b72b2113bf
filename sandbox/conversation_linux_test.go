package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// TestAChildIsTalkedTo has a child answer line by line, with its errors apart.
func TestAChildIsTalkedTo(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	var complaints strings.Builder
	c := w.start(t.Context(), sallyport.SpawnOptions{Input: in, Output: out, ErrorOutput: &complaints},
		"sh", "-c", `while read -r line; do echo "got $line"; echo "saw $line" >&2; done; echo end`)
	lines := bufio.NewScanner(answers)
	for i := range 3 {
		if _, err := fmt.Fprintf(ask, "line %d\n", i); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("got line %d", i); !lines.Scan() || lines.Text() != want {
			t.Fatalf("answer %d = %q, %v, want %q", i, lines.Text(), lines.Err(), want)
		}
	}
	// The end of what is said is the end of the child's input.
	if err := ask.Close(); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "end" {
		t.Errorf("last answer = %q, want end", lines.Text())
	}
	if res := w.wait(c); res.ExitCode != 0 || len(res.Stdout)+len(res.Stderr) != 0 {
		t.Errorf("result = %+v, want nothing beside what was handed over", res)
	}
	if got := complaints.String(); got != "saw line 0\nsaw line 1\nsaw line 2\n" {
		t.Errorf("standard error = %q", got)
	}
}

// TestAChildIsTalkedToApart has a child read descriptor 3 and write descriptor 4, with its
// own streams beside them, which reach nothing but its error output.
func TestAChildIsTalkedToApart(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	var complaints strings.Builder
	c := w.start(t.Context(), sallyport.SpawnOptions{Input: in, Output: out, ErrorOutput: &complaints, Apart: true},
		"sh", "-c", `cat; echo said; read -r line <&3; echo "got $line" >&4; echo complained >&2; ls /proc/self/fd`)
	if _, err := io.WriteString(ask, "line\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(answers)
	if !lines.Scan() || lines.Text() != "got line" {
		t.Fatalf("answer = %q, %v", lines.Text(), lines.Err())
	}
	if res := w.wait(c); res.ExitCode != 0 {
		t.Errorf("exit code %d", res.ExitCode)
	}
	// The last number is that of the folder that ls reads.
	if got := complaints.String(); got != "said\ncomplained\n0\n1\n2\n3\n4\n5\n" {
		t.Errorf("standard output and error = %q", got)
	}
}

// TestAChildThatEndsIsNotTalkedTo: a writer learns that.
func TestAChildThatEndsIsNotTalkedTo(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	in, ask := io.Pipe()
	c := w.start(t.Context(), sallyport.SpawnOptions{Input: in, Output: io.Discard, ErrorOutput: io.Discard}, "sleep", "600")
	c.Stop(time.Second)
	if _, err := ask.Write([]byte("x")); err == nil {
		t.Error("writing to a child that has ended succeeded")
	}
}

// TestARunningChildTellsWhatItWasRefused looks at a child that goes on.
func TestARunningChildTellsWhatItWasRefused(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	w.grant.Network = sallyport.NetworkGrant{Allow: []string{"granted.example"}}
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	c := w.start(t.Context(), sallyport.SpawnOptions{Input: in, Output: out, ErrorOutput: io.Discard},
		"sh", "-c", `while read -r host; do getent hosts "$host" >/dev/null; echo asked; done`)
	refused := func() (names []string) {
		for _, u := range c.(interface{ RefusedHosts() []sallyport.HostUse }).RefusedHosts() {
			names = append(names, u.Host)
		}
		return names
	}
	if got := refused(); got != nil {
		t.Errorf("before it asked: RefusedHosts() = %q, want none", got)
	}
	lines := bufio.NewScanner(answers)
	for _, host := range []string{"granted.example", "other.example"} {
		if _, err := fmt.Fprintln(ask, host); err != nil || !lines.Scan() {
			t.Fatalf("the child does not ask: %v, %v", err, lines.Err())
		}
	}
	if got, want := refused(), []string{"other.example"}; !slices.Equal(got, want) {
		t.Errorf("RefusedHosts() = %q, want %q", got, want)
	}
	_ = ask.Close()
	w.wait(c)
}
