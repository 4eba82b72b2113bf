package scoped_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestProcess(t *testing.T) {
	t.Parallel()
	runner := &scopedtest.Runner{Play: func(_ context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		return sallyport.ProcessResult{ExitCode: 3, Stdout: []byte(s.Binary)}, nil
	}}
	c, _, j := bind(t, &sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: []string{"git"}}}, &sallyport.Backends{Process: runner})
	env := map[string]string{"FOO": "bar", "PATH": "/evil", "git_dir": "/x", "BASH_FUNC_ls%%": "() { :; }"}
	res, err := c.Process.Spawn(t.Context(), "git", []string{"status"}, &sallyport.SpawnOptions{
		Dir: "/work", Env: env, Stdin: []byte("in"), Timeout: time.Second,
	})
	if err != nil || res.ExitCode != 3 || string(res.Stdout) != "git" {
		t.Errorf("Spawn = %+v, %v, want what the runner answered", res, err)
	}
	want := []scopedtest.Spawned{{Binary: "git", Args: []string{"status"}, Options: sallyport.SpawnOptions{
		Dir: "/work", Env: map[string]string{"FOO": "bar"}, Stdin: []byte("in"), Timeout: time.Second,
	}, Workspace: "/work"}}
	if d := cmp.Diff(want, runner.Spawned()); d != "" {
		t.Errorf("the runner was asked for (-want +got):\n%s", d)
	}
	if len(env) != 4 {
		t.Errorf("the tool's own map was changed to %q", env)
	}
	if d := cmp.Diff([]string{
		"refused process [BASH_FUNC_ls%%, PATH, git_dir] environment variables that steer a child from outside are not passed on",
		"process [git] spawn git",
	}, j.reasons()); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
}

func TestProcessRefusesBeforeTheRunner(t *testing.T) {
	t.Parallel()
	many := make([]string, 1<<17)
	tests := []struct {
		name   string
		binary string
		args   []string
		o      sallyport.SpawnOptions
		want   string
	}{
		{name: "binary", binary: "/tmp/git", want: "BINARY_NOT_ALLOWED: /tmp/git is not in the declared allowedBinaries"},
		{name: "NUL in an argument", binary: "git", args: []string{"a\x00b"}, want: "an argument holds a NUL byte"},
		{name: "long argument", binary: "git", args: []string{strings.Repeat("a", 128<<10)}, want: "the argument list is too long"},
		{name: "many arguments", binary: "git", args: many, want: "the argument list is too long"},
		{name: "long environment", binary: "git", o: sallyport.SpawnOptions{Env: map[string]string{"A": strings.Repeat("a", 128<<10)}}, want: "the environment is too long"},
		{name: "NUL in the environment", binary: "git", o: sallyport.SpawnOptions{Env: map[string]string{"A": "a\x00"}}, want: "an environment variable has no name, a NUL byte, or an equals sign in its name"},
		{name: "smuggled variable", binary: "git", o: sallyport.SpawnOptions{Env: map[string]string{"A=B\nLD_PRELOAD": "x"}}, want: "an environment variable has no name, a NUL byte, or an equals sign in its name"},
		{name: "negative timeout", binary: "git", o: sallyport.SpawnOptions{Timeout: -1}, want: "the timeout is negative"},
		{name: "negative bound", binary: "git", o: sallyport.SpawnOptions{MaxOutput: -1}, want: "the bound of the output is not within 0 to 67108864 bytes"},
		{name: "large bound", binary: "git", o: sallyport.SpawnOptions{MaxOutput: 64<<20 + 1}, want: "the bound of the output is not within 0 to 67108864 bytes"},
		{name: "nothing to throw away", binary: "git", o: sallyport.SpawnOptions{Discard: true}, want: "only what is written in overlay mode can be thrown away"},
		{name: "NUL in the directory", binary: "git", o: sallyport.SpawnOptions{Dir: "/work\x00"}, want: "the working directory holds a NUL byte"},
		{name: "launcher", binary: "sudo", want: "BINARY_NOT_ALLOWED: sudo asks for privileges that no child gets"},
		{name: "launcher by its path", binary: "/usr/bin/docker", want: "BINARY_NOT_ALLOWED: /usr/bin/docker asks a service of this machine to act outside the confinement"},
		{name: "input given twice", binary: "git", o: sallyport.SpawnOptions{Stdin: []byte("a"), Input: io.NopCloser(strings.NewReader("b"))}, want: "the standard input is given twice"},
		{name: "apart without an input", binary: "git", o: sallyport.SpawnOptions{Output: io.Discard, ErrorOutput: io.Discard, Apart: true}, want: "streams apart from the standard ones need a reader, a writer, and a writer for standard error"},
		{name: "errors without output", binary: "git", o: sallyport.SpawnOptions{ErrorOutput: io.Discard}, want: "standard error by itself needs a writer for standard output"},
		{name: "large input", binary: "git", o: sallyport.SpawnOptions{Stdin: make([]byte, 64<<20+1)}, want: "the standard input has more than 67108864 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runner := &scopedtest.Runner{}
			c, _, _ := bind(t, &sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: []string{"git", "*"}}}, &sallyport.Backends{Process: runner})
			_, err := c.Process.Spawn(t.Context(), tt.binary, tt.args, &tt.o)
			if err == nil || err.Error() != tt.want || len(runner.Spawned()) != 0 {
				t.Errorf("Spawn = %v after %d processes, want %q and none", err, len(runner.Spawned()), tt.want)
			}
			child, err := c.Process.Start(t.Context(), tt.binary, tt.args, &tt.o)
			if child != nil || err == nil || err.Error() != tt.want || len(runner.Spawned()) != 0 {
				t.Errorf("Start = %v, %v after %d processes, want %q and none", child, err, len(runner.Spawned()), tt.want)
			}
		})
	}
}

func TestSpawnTimesOut(t *testing.T) {
	t.Parallel()
	runner := &scopedtest.Runner{Level: sallyport.LevelFull, Play: untilStopped}
	c, _, _ := bind(t, gitGrant(), gitBackends(runner))
	res, err := c.Process.Spawn(t.Context(), "git", nil, &sallyport.SpawnOptions{Timeout: time.Millisecond})
	if err != nil || !res.TimedOut || res.Level != sallyport.LevelFull {
		t.Errorf("Spawn = %+v, %v, want a result that timed out and no error", res, err)
	}
}

// untilStopped plays a child that only its end ends.
func untilStopped(ctx context.Context, _ scopedtest.Spawned) (sallyport.ProcessResult, error) {
	<-ctx.Done()
	return sallyport.ProcessResult{ExitCode: 137}, nil
}

// TestSpawnEndsWithTheCall: whatever context a tool brings, what Spawn waits
// for does not outlive the call, and what Start started does.
func TestSpawnEndsWithTheCall(t *testing.T) {
	t.Parallel()
	g := gitGrant()
	call, end := context.WithCancel(t.Context())
	runner := &scopedtest.Runner{Level: sallyport.LevelFull, Play: func(ctx context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		if len(s.Args) > 0 { // the call ends while it runs
			end()
		}
		return untilStopped(ctx, s)
	}}
	s, err := scoped.New("tool", g, gitBackends(runner))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := newCall()
	b, err := s.Bind(call, c, scoped.Turn{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	child, err := c.Process.Start(call, "git", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Process.Spawn(context.Background(), "git", []string{"status"}, nil); !errors.Is(err, context.Canceled) || err.Error() != "git could not be run: the call was cancelled" {
		t.Errorf("Spawn in a call that ends = %v, want the end of the call", err)
	}
	if got := b.Level(); got != sallyport.LevelFull {
		t.Errorf("Level = %q, want full", got)
	}
	select {
	case <-child.Done():
		t.Error("the started child ended with the call, want it to go on")
	default:
	}
	child.Stop(0)
	if res, err := child.Wait(); err != nil || res.ExitCode != 137 {
		t.Errorf("Wait = %+v, %v, want what the child left", res, err)
	}
	if _, err := c.Process.Start(context.Background(), "git", nil, nil); !errors.Is(err, sallyport.ErrNotAvailable) {
		t.Errorf("Start after the call = %v, want not_available", err)
	}
}

func TestStartNeedsALiveContext(t *testing.T) {
	t.Parallel()
	runner := &scopedtest.Runner{}
	c, _, _ := bind(t, gitGrant(), gitBackends(runner))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if child, err := c.Process.Start(ctx, "git", nil, nil); !errors.Is(err, context.Canceled) || child != nil || len(runner.Spawned()) != 0 {
		t.Errorf("Start = %v, %v after %d processes, want the end of the context and none", child, err, len(runner.Spawned()))
	}
}

func TestAMissingLayerIsNamed(t *testing.T) {
	t.Parallel()
	missing := &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: "this machine has no user namespaces"}
	c, b, _ := bind(t, gitGrant(), gitBackends(&scopedtest.Runner{Missing: missing}))
	_, err := c.Process.Spawn(t.Context(), "git", nil, nil)
	_, err2 := c.Process.Start(t.Context(), "git", nil, nil)
	for _, err := range []error{err, err2} {
		if !errors.Is(err, sallyport.ErrNotAvailable) || err.Error() != missing.Detail {
			t.Errorf("error = %v, want %v", err, missing)
		}
	}
	if got := b.Level(); got != "" {
		t.Errorf("Level = %q, want none when nothing ran", got)
	}
}

// lately is a runner whose children are there when it is let.
type lately struct {
	began, let chan struct{}
	narrowed   chan sallyport.NetworkGrant
}

func (l lately) Confines(*sallyport.Grant) (sallyport.Level, error) { return sallyport.LevelFull, nil }

func (l lately) Start(context.Context, *sallyport.Spawn) (sallyport.Child, error) {
	close(l.began)
	<-l.let
	return l, nil
}

func (l lately) Narrow(g sallyport.NetworkGrant) bool { l.narrowed <- g; return true }

func (l lately) Done() <-chan struct{} { return nil }

func (l lately) Wait() (sallyport.ProcessResult, error) { return sallyport.ProcessResult{}, nil }

func (l lately) Stop(time.Duration) {}

// TestA6_AChildThatWasBeingStartedIsNarrowedToo takes a host from a scope while a
// child is being started.
func TestA6_AChildThatWasBeingStartedIsNarrowedToo(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(p sallyport.Process) error{
		"Spawn": func(p sallyport.Process) error { _, err := p.Spawn(t.Context(), "git", nil, nil); return err },
		"Start": func(p sallyport.Process) error { _, err := p.Start(t.Context(), "git", nil, nil); return err },
	} {
		t.Run(name, func(t *testing.T) {
			runner := lately{make(chan struct{}), make(chan struct{}), make(chan sallyport.NetworkGrant, 1)}
			backends := gitBackends(nil)
			backends.Process = runner
			s, err := scoped.New("tool", gitGrant(), backends)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := newCall()
			if _, err := s.Bind(t.Context(), c, scoped.Turn{}, nil); err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() { done <- start(c.Process) }()
			<-runner.began
			s.Narrow(sallyport.NetworkGrant{Allow: []string{"left.example"}})
			close(runner.let)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if len(runner.narrowed) == 0 {
				t.Error("the child has the hosts of before")
			}
		})
	}
}
