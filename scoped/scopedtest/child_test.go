package scopedtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// pusher is what a tool declares that works through git.
func pusher() *scopedtest.Options {
	return &scopedtest.Options{
		Capabilities: sallyport.Capabilities{
			Network: &sallyport.NetworkCapability{AllowedHosts: []string{"GitHub.com", "example.com"}},
			Secrets: []string{"git/token"},
			FSReach: &sallyport.FSCapability{Write: sallyport.Paths("${workspace}")},
			Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"git"}},
		},
		Secrets: map[string]string{"git/token": "correct horse"},
	}
}

func TestWhatChildrenTouch(t *testing.T) {
	o := pusher()
	o.Spawn = func(_ context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		return sallyport.ProcessResult{Touched: sallyport.Touched{
			Hosts: []sallyport.HostUse{
				{Host: "github.com", Port: 443, Allowed: true},
				{Host: "evil.example", Port: 8443},
			},
			Written: []string{s.Workspace + "/a"},
		}}, nil
	}
	c := scopedtest.NewCall(t, o)
	_, err := c.Process.Spawn(t.Context(), "git", []string{"push"}, &sallyport.SpawnOptions{
		Secrets: []sallyport.ChildSecret{{Env: "TOKEN", Ref: "git/token", Hosts: []string{"github.com"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"fs_reach.write ${workspace}/a", "network github.com", "process git",
		"refused network evil.example:8443", "secrets git/token",
	}
	if d := cmp.Diff(want, spelled(scopedtest.Touched(c))); d != "" {
		t.Errorf("Touched (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"network example.com"}, spelled(scopedtest.Unused(c))); d != "" {
		t.Errorf("Unused (-want +got):\n%s", d)
	}
	spawned := scopedtest.RecordOf(c).Spawned()
	if len(spawned) != 1 || len(spawned[0].Splices) != 1 || spawned[0].Splices[0].Value.Reveal() != "correct horse" {
		t.Errorf("Spawned = %+v, want one with the stand-in", spawned)
	}
}

// TestC21_ReadReachOfAChildIsNotCalledUnused declares reach for reading that no
// accessor but perhaps a child uses.
func TestC21_ReadReachOfAChildIsNotCalledUnused(t *testing.T) {
	o := &scopedtest.Options{Capabilities: sallyport.Capabilities{
		FSReach: &sallyport.FSCapability{Read: sallyport.Paths("${workspace}/in"), Write: sallyport.Paths("${workspace}/out")},
		Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"make"}},
	}}
	c := scopedtest.NewCall(t, o)
	if _, err := c.Process.Spawn(t.Context(), "rm", nil, nil); err == nil {
		t.Fatal("Spawn(rm) was not refused")
	}
	want := []string{"fs_reach.read ${workspace}/in", "fs_reach.write ${workspace}/out", "process make"}
	if d := cmp.Diff(want, spelled(scopedtest.Unused(c))); d != "" {
		t.Errorf("Unused without a child (-want +got):\n%s", d)
	}
	if _, err := c.Process.Spawn(t.Context(), "make", nil, nil); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"fs_reach.write ${workspace}/out"}, spelled(scopedtest.Unused(c))); d != "" {
		t.Errorf("Unused with a child (-want +got):\n%s", d)
	}
}

func spelled(list []scopedtest.Touch) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.String())
	}
	return out
}

func TestAPlayedChild(t *testing.T) {
	running := make(chan struct{})
	o := pusher()
	o.Spawn = func(ctx context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		_, _ = fmt.Fprint(s.Options.Output, "ready")
		close(running)
		<-ctx.Done()
		return sallyport.ProcessResult{ExitCode: 143}, nil
	}
	c := scopedtest.NewCall(t, o)
	var w chunks
	child, err := c.Process.Start(t.Context(), "git", nil, &sallyport.SpawnOptions{Output: &w})
	if err != nil {
		t.Fatal(err)
	}
	<-running
	child.Stop(time.Hour) // a play has nothing to wait for
	res, err := child.Wait()
	if err != nil || res.ExitCode != 143 || res.Level != sallyport.LevelNone || string(w) != "ready" {
		t.Errorf("Wait = %+v, %v after %q, want what the play left", res, err, w)
	}
	if _, err := c.Process.Start(t.Context(), "rm", nil, nil); !errors.Is(err, sallyport.ErrBinaryNotAllowed) {
		t.Errorf("Start(rm) = %v, want a refusal", err)
	}
}

// chunks keeps what is written.
type chunks []byte

func (c *chunks) Write(p []byte) (int, error) {
	*c = append(*c, p...)
	return len(p), nil
}
