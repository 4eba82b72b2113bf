package scoped_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestProcess(t *testing.T) {
	runner := &scopedtest.Runner{Play: func(s scopedtest.Spawned) (sallyport.ProcessResult, error) {
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
	}}}
	if d := cmp.Diff(want, runner.Spawned()); d != "" {
		t.Errorf("the runner was asked for (-want +got):\n%s", d)
	}
	if len(env) != 4 {
		t.Errorf("the tool's own map was changed to %q", env)
	}
	if d := cmp.Diff([]string{
		"refused process [BASH_FUNC_ls%%, PATH, git_dir] environment variables that steer a child from outside are not passed on",
		"process [git] spawn git",
	}, j.whys()); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
}

func TestProcessRefusesBeforeTheRunner(t *testing.T) {
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
		{name: "large input", binary: "git", o: sallyport.SpawnOptions{Stdin: make([]byte, 64<<20+1)}, want: "the standard input has more than 67108864 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runner := &scopedtest.Runner{}
			c, _, _ := bind(t, &sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: []string{"git"}}}, &sallyport.Backends{Process: runner})
			_, err := c.Process.Spawn(t.Context(), tt.binary, tt.args, &tt.o)
			if err == nil || err.Error() != tt.want || len(runner.Spawned()) != 0 {
				t.Errorf("Spawn = %v after %d processes, want %q and none", err, len(runner.Spawned()), tt.want)
			}
		})
	}
}
