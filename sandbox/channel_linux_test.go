package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// A child answers on its standard input when that is a channel, and the channel ends
// with the child.
func TestAChildTalksOverItsStandardInput(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{}))
	for _, c := range []struct{ level, script, want string }{
		{"talks", `read a; echo "said $a" >&0; read b; echo "done $b"`, "done two\n"},
		{"ends first", `read a; echo "said $a" >&0`, ""},
	} {
		heard, over := make(chan string, 1), make(chan error, 1)
		res := w.run(sallyport.SpawnOptions{
			Stdin: []byte("one\n"),
			Channel: func(end io.ReadWriteCloser) {
				r := bufio.NewReader(end)
				line, _ := r.ReadString('\n')
				heard <- line
				fmt.Fprintln(end, "two")
				_, err := io.Copy(io.Discard, r)
				over <- err
			},
		}, "sh", "-c", c.script)
		if got := <-heard; got != "said one\n" {
			t.Errorf("%s: the runtime heard %q", c.level, got)
		}
		<-over
		if string(res.Stdout) != c.want || res.ExitCode != 0 {
			t.Errorf("%s: exit code %d, %q, %s", c.level, res.ExitCode, res.Stdout, res.Stderr)
		}
	}
}

// Beside the channel a child inherits no descriptor: no listener and no connection of
// the program is among them.
func TestAChannelIsTheOnlySocket(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{}))
	res := w.run(sallyport.SpawnOptions{
		Channel: func(end io.ReadWriteCloser) { _, _ = io.Copy(io.Discard, end) },
	}, "sh", "-c", `for f in /proc/self/fd/*; do readlink $f; done`)
	if n := strings.Count(string(res.Stdout), "socket:"); n != 1 {
		t.Errorf("the child holds %d sockets, want its channel alone:\n%s%s", n, res.Stdout, res.Stderr)
	}
}

// A channel whose child does not start ends.
func TestAChannelEndsWithoutAChild(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{}))
	over := make(chan error, 1)
	_, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{
		Dir:     "/nowhere",
		Channel: func(end io.ReadWriteCloser) { _, err := end.Read(make([]byte, 1)); over <- err },
	}, "sh", "-c", "true"))
	if err == nil {
		t.Fatal("a child started in a folder that is not there")
	}
	select {
	case <-over: // It was made, and ended.
	default: // It was not made.
	}
}
