package scoped_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// played returns a runner whose children leave one result.
func played(res sallyport.ProcessResult) *scopedtest.Runner {
	return &scopedtest.Runner{Play: func(context.Context, scopedtest.Spawned) (sallyport.ProcessResult, error) { return res, nil }}
}

func TestC5_A16_TouchedIsNoted(t *testing.T) {
	t.Parallel()
	g := gitGrant()
	g.Dropped = []sallyport.Dropped{{
		Capability: "network", Item: "npmjs.org", Why: "not in the personality's list",
		Source: "s.yaml:3:1", Fix: "add npmjs.org to it",
	}, {
		Capability: "network", Item: "db.example.org:5432", Why: "not in the personality's list",
		Source: "s.yaml:4:1", Fix: "add db.example.org:5432 to it",
	}}
	c, _, j := bind(t, g, gitBackends(played(sallyport.ProcessResult{Touched: sallyport.Touched{
		Hosts: []sallyport.HostUse{
			{Host: "api.github.com", Port: 443, Allowed: true, Connections: 3, Sent: 1200, Received: 5000},
			{Host: "api.example.com", Port: 8443, Allowed: true, Connections: 1, Why: "connection reset"},
			{Host: "npmjs.org", Port: 443, Connections: 2, Why: "is not in the declared allowedHosts"},
			{Host: "db.example.org", Connections: 1, Why: "is not in the declared allowedHosts"},
			{Host: `"a b"`, Connections: 1, Why: "is no host"},
			{Host: "inner.github.com", Port: 80, Connections: 1, Why: "resolves to a private address"},
			{Host: "localhost", Port: 80, Connections: 1, Why: "is a private address (loopback)"},
		},
		Binaries: []string{"/usr/bin/git", "/usr/lib/git-core/git-remote-https", "/opt/bin/git"},
		Written:  []string{"/work/a"},
		Changed:  []string{"/work/b"},
		More:     true,

		ChangedOnFloor: []string{"/work/new/.git/hooks/pre-commit"},
	}})))
	if _, err := c.Process.Spawn(t.Context(), "git", nil, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"process [git] spawn git",
		"refused fs_reach.write [/work/new/.git/hooks/pre-commit] on the deny floor, changed at the same time, by an unknown writer, as a child of git ran: it may run with the rights of the user of the folder; look at it or remove it",
		"refused network [npmjs.org] a child of git was refused 2 times: is not in the declared allowedHosts: not in the personality's list",
		"refused network [db.example.org] a child of git was refused 1 times: is not in the declared allowedHosts: not in the personality's list",
		"refused network [\"a b\"] a child of git was refused 1 times: is no host",
		"refused network [inner.github.com] a child of git was refused 1 times: resolves to a private address",
		"refused network [localhost:80] a child of git was refused 1 times: is a private address (loopback)",
		"network [api.github.com] a child of git connected 3 times, sent 1200 bytes, received 5000 bytes",
		"network [api.example.com:8443] a child of git connected 1 times, sent 0 bytes, received 0 bytes: connection reset",
		"process [/usr/bin/git] started as git",
		"process [/usr/lib/git-core/git-remote-https] a child of git asked to start it inside the confinement; it is not in the declared allowedBinaries",
		"process [/opt/bin/git] a child of git asked to start it; its name is in the declared allowedBinaries",
		"fs_reach.write [/work/a] a child of git wrote it",
		"fs_reach.write [/work/b] changed at the same time, by an unknown writer, as a child of git ran",
		"process [git] what a child of git used is not complete: it was too much",
	}
	if d := cmp.Diff(want, j.reasons()); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
	for _, d := range j.list {
		switch {
		case d.Resource == "npmjs.org" && (d.Source != "s.yaml:3:1" || d.Fix != "add npmjs.org to it"):
			t.Errorf("the refusal of npmjs.org has source %q and fix %q, want the dropped rule", d.Source, d.Fix)
		case d.Resource == "db.example.org" && d.Fix != "add db.example.org:5432 to it":
			t.Errorf("the refusal of a name that was looked up has the fix %q, want the dropped rule", d.Fix)
		case (d.Resource == "inner.github.com" || d.Resource == `"a b"`) && d.Source != reach.FloorSource:
			t.Errorf("the refusal of %s has source %q, want the floor", d.Resource, d.Source)
		case strings.Contains(d.Resource, ".git/hooks") && (d.Source != reach.FloorSource || d.Fix != ""):
			t.Errorf("the refusal of %s has source %q and fix %q, want the floor and none", d.Resource, d.Source, d.Fix)
		}
	}
}

func TestChangesAreNoted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		discard bool
		change  sallyport.Change
		want    string
		source  string
	}{
		{"committed", false, sallyport.Change{Kind: sallyport.ChangeModified, Bytes: 7, Committed: true}, "fs_reach.write [/work/a] a child of git: modified, 7 bytes, carried over", ""},
		{"refused", false, sallyport.Change{Kind: sallyport.ChangeAdded, Why: "on the always-deny floor"}, "refused fs_reach.write [/work/a] a child of git: added, 0 bytes, not carried over: on the always-deny floor", reach.CommitSource},
		{"discarded", true, sallyport.Change{Kind: sallyport.ChangeDeleted}, "fs_reach.write [/work/a] a child of git: deleted, 0 bytes, thrown away as asked", ""},
		{"outside of the grant", false, sallyport.Change{Kind: sallyport.ChangeAdded, Why: "not granted", NotGranted: true}, "refused fs_reach.write [/work/a] a child of git: added, 0 bytes, not carried over: not granted: /work is not in the list", "s.yaml:3:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := &sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: []string{"git"}}, FS: sallyport.FSGrant{Mode: sallyport.FSOverlay}, Dropped: []sallyport.Dropped{
				{Capability: "fs_reach.write", Item: "/work", Why: "/work is not in the list", Source: "s.yaml:3:1", Fix: "add /work to it"},
			}}
			tt.change.Path = "/work/a"
			c, _, j := bind(t, g, &sallyport.Backends{Process: played(sallyport.ProcessResult{
				Changes: []sallyport.Change{tt.change}, Touched: sallyport.Touched{Written: []string{"/work/a"}},
			})})
			if _, err := c.Process.Spawn(t.Context(), "git", nil, &sallyport.SpawnOptions{Discard: tt.discard}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"process [git] spawn git", tt.want}, j.reasons()); d != "" {
				t.Errorf("decisions (-want +got):\n%s", d)
			}
			if last := j.list[len(j.list)-1]; last.Source != tt.source {
				t.Errorf("the source of %q is %q, want %q", last.Why, last.Source, tt.source)
			}
		})
	}
}

// TestTouchedIsBounded: a child that uses a thousand of everything, started
// again and again, leaves a few of each kind, and its hosts among them.
func TestTouchedIsBounded(t *testing.T) {
	t.Parallel()
	var res sallyport.ProcessResult
	for i := range 1000 {
		res.Touched.Binaries = append(res.Touched.Binaries, fmt.Sprintf("/usr/bin/p%d", i))
		res.Touched.Changed = append(res.Touched.Changed, fmt.Sprintf("/work/f%d", i))
		res.Touched.ChangedOnFloor = append(res.Touched.ChangedOnFloor, fmt.Sprintf("/work/r%d/.git/config", i))
		res.Touched.Hosts = append(res.Touched.Hosts,
			sallyport.HostUse{Host: fmt.Sprintf("h%d.github.com", i), Port: 443, Allowed: true},
			sallyport.HostUse{Host: fmt.Sprintf("h%d.evil.example", i), Port: 443})
	}
	res.Touched.More = true
	c, _, j := bind(t, gitGrant(), gitBackends(played(res)))
	for range 8 {
		if _, err := c.Process.Spawn(t.Context(), "git", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	count := map[string]int{}
	for _, why := range j.reasons() {
		word, _, _ := strings.Cut(why, " [")
		if strings.Contains(why, " further ") {
			word = "rest of " + word
		}
		count[word]++
	}
	want := map[string]int{
		"network": 14, "refused network": 14, "rest of network": 3, "rest of refused network": 1,
		"process": 14, "rest of process": 1, "fs_reach.write": 10, "rest of fs_reach.write": 1,
		"refused fs_reach.write": 10, "rest of refused fs_reach.write": 2,
	}
	if d := cmp.Diff(want, count); d != "" {
		t.Errorf("decisions by kind (-want +got):\n%s", d)
	}
	for _, d := range j.list {
		if len(d.Why) > 300 || len(d.Resource) > 300 {
			t.Errorf("a decision has %d bytes, want it clipped", len(d.Why))
		}
	}
}

// TestTheLargestHostIsListed: a host that got the most is listed, however many
// came before it and whichever child used it.
func TestTheLargestHostIsListed(t *testing.T) {
	t.Parallel()
	var many sallyport.ProcessResult
	for i := range 14 {
		many.Touched.Hosts = append(many.Touched.Hosts,
			sallyport.HostUse{Host: fmt.Sprintf("h%d.github.com", i), Port: 443, Allowed: true, Connections: 1, Sent: 100},
			sallyport.HostUse{Host: fmt.Sprintf("r%d.example", i), Port: 443, Connections: 1})
	}
	many.Touched.Hosts = append(many.Touched.Hosts,
		sallyport.HostUse{Host: "large.github.com", Port: 443, Allowed: true, Connections: 1, Sent: 1 << 30})
	order := slices.Clone(many.Touched.Hosts)
	later := sallyport.ProcessResult{Touched: sallyport.Touched{Hosts: []sallyport.HostUse{
		{Host: "small.github.com", Port: 443, Allowed: true, Connections: 1, Sent: 1},
		{Host: "later.github.com", Port: 443, Allowed: true, Connections: 1, Sent: 1 << 20},
	}}}
	runner := &scopedtest.Runner{Play: func(_ context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		if len(s.Args) > 0 {
			return later, nil
		}
		return many, nil
	}}
	c, _, j := bind(t, gitGrant(), gitBackends(runner))
	for _, args := range [][]string{nil, {"later"}} {
		if _, err := c.Process.Spawn(t.Context(), "git", args, nil); err != nil {
			t.Fatal(err)
		}
	}
	const unlisted = " further hosts of a child are not listed, nor are all of later children: sent "
	all := strings.Join(j.reasons(), "\n")
	for _, want := range []string{
		"network [large.github.com] a child of git connected 1 times, sent 1073741824 bytes",
		"network [git] 1" + unlisted + "100 bytes in all, 100 of them to h13.github.com, by git",
		"network [git] 2" + unlisted + "1048577 bytes in all, 1048576 of them to later.github.com, by git",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the record does not say %q:\n%s", want, all)
		}
	}
	if d := cmp.Diff(order, many.Touched.Hosts); d != "" {
		t.Errorf("the result of the tool was changed (-want +got):\n%s", d)
	}
}

// TestChangedOnFloorIsNotBuried: refusals that a tool provokes do not keep what is
// new on the deny floor out of the record.
func TestChangedOnFloorIsNotBuried(t *testing.T) {
	t.Parallel()
	c, _, j := bind(t, gitGrant(), gitBackends(played(sallyport.ProcessResult{
		Touched: sallyport.Touched{ChangedOnFloor: []string{"/work/new/.git/config"}},
	})))
	for range 200 {
		if _, err := c.Process.Spawn(t.Context(), "curl", nil, nil); err == nil {
			t.Fatal("curl was started, want a refusal")
		}
	}
	if _, err := c.Process.Spawn(t.Context(), "git", nil, nil); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(j.reasons(), "\n"); !strings.Contains(all, "refused fs_reach.write [/work/new/.git/config] on the deny floor, changed at the same time, by an unknown writer") {
		t.Errorf("the record does not say what is new:\n%s", all)
	}
}

func TestLevelIsTheWeakest(t *testing.T) {
	t.Parallel()
	runner := &scopedtest.Runner{Play: func(_ context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		return sallyport.ProcessResult{Level: sallyport.Level(s.Args[0])}, nil
	}}
	c, b, _ := bind(t, gitGrant(), gitBackends(runner))
	if got := b.Level(); got != "" {
		t.Errorf("Level before any child = %q, want none", got)
	}
	for _, step := range []struct{ level, want sallyport.Level }{
		{sallyport.LevelFull, sallyport.LevelFull},
		{sallyport.LevelStrict, sallyport.LevelFull},
		{sallyport.LevelLandlock, sallyport.LevelLandlock},
		{"odd", "odd"}, // what is not known is no stronger than none
		{sallyport.LevelFull, "odd"},
	} {
		if _, err := c.Process.Spawn(t.Context(), "git", []string{string(step.level)}, nil); err != nil {
			t.Fatal(err)
		}
		if got := b.Level(); got != step.want {
			t.Errorf("Level after a child at %s = %q, want %q", step.level, got, step.want)
		}
	}
	if got := (*scoped.Binding)(nil).Level(); got != "" {
		t.Errorf("Level of a tool without grant = %q, want none", got)
	}
}

// mute is a runner that says little: children end without a level, and some
// could not be started after all.
type mute struct{ start, wait error }

func (m mute) Confines(*sallyport.Grant) (sallyport.Level, error) { return sallyport.LevelFull, nil }

func (m mute) Start(context.Context, *sallyport.Spawn) (sallyport.Child, error) { return m, m.start }

func (m mute) Done() <-chan struct{} { return nil }

func (m mute) Wait() (sallyport.ProcessResult, error) { return sallyport.ProcessResult{}, m.wait }

func (m mute) Stop(time.Duration) {}

func TestAChildWithoutALevel(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tests := []struct {
		name   string
		runner mute
		want   sallyport.Level
	}{
		{"ran", mute{}, sallyport.LevelNone},
		{"not started", mute{start: boom}, ""},
		{"not started after all", mute{wait: boom}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := gitBackends(nil)
			b.Process = tt.runner
			c, binding, _ := bind(t, gitGrant(), b)
			_, err := c.Process.Spawn(t.Context(), "git", nil, nil)
			if (err == nil) != (tt.want != "") || binding.Level() != tt.want {
				t.Errorf("Spawn = %v at level %q, want %q", err, binding.Level(), tt.want)
			}
		})
	}
	b := gitBackends(nil)
	b.Process = mute{start: boom}
	c, binding, _ := bind(t, gitGrant(), b)
	if _, err := c.Process.Start(t.Context(), "git", nil, nil); !errors.Is(err, boom) || err.Error() != "git could not be started" || binding.Level() != "" {
		t.Errorf("Start = %v at level %q, want the runner's failure hidden", err, binding.Level())
	}
}

// TestA8_AFullLayerIsNoted: the record says why a child had no space, and what
// would give it more.
func TestA8_AFullLayerIsNoted(t *testing.T) {
	t.Parallel()
	c, _, j := bind(t, gitGrant(), gitBackends(played(sallyport.ProcessResult{LayerFull: "1048576 bytes"})))
	if _, err := c.Process.Spawn(t.Context(), "git", nil, nil); err != nil {
		t.Fatal(err)
	}
	d := j.list[len(j.list)-1]
	if d.Allowed || d.Why != "the private layer of a child of git is full: 1048576 bytes" || !strings.Contains(d.Fix, "sandbox.layer") {
		t.Errorf("the last decision is %+v", d)
	}
}
