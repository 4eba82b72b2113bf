package sandbox

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

var update = flag.Bool("update", false, "rewrite the table of attacks in docs/guides/security.md")

// spaces is the namespaces with the tree in them: one does not stand without
// the other.
const spaces = layerNamespaces | layerTree

// columns are the steps of the table, each with the layers of the one before.
// All run as root when root runs the tests, who has the most to lose.
var columns = []column{
	{"none", sallyport.LevelNone, 0},
	{"Landlock", sallyport.LevelFull, spaces | layerSeccomp | layerCaps},
	{"+ seccomp", sallyport.LevelFull, spaces | layerCaps},
	{"+ namespaces, tree", sallyport.LevelFull, layerCaps},
	{"full", sallyport.LevelFull, 0},
}

// layerTests name for each layer attacks that are refused with it and work
// without it. Where another layer would refuse them too, it is off in both
// runs: beside is what is off.
var layerTests = []struct {
	layer, beside layers
	name          string
	attacks       []string
}{
	{layerLandlock, spaces, "Landlock without a tree", []string{
		"read outside", "write outside", "create outside", "list outside", "truncate outside", "remove outside",
		"execute outside", "planted symbolic link", "rename into the reach", "rename out of the reach",
		"replace a program in the read reach", "arguments of the runtime",
	}},
	{layerLandlock, spaces | layerSeccomp, "Landlock without tree and filter", []string{
		"TCP to the host", "abstract unix socket", "signal to the runtime",
	}},
	// Root without capabilities may not trace root with all of them.
	{layerLandlock, spaces | layerSeccomp | layerCaps, "Landlock alone", []string{
		"ptrace of the runtime", "process_vm_readv of the runtime", "pidfd_getfd from the runtime",
	}},
	{layerSeccomp, 0, "seccomp", []string{
		"netlink socket", "vsock socket", "unix socket in reach", "io_uring", "keyrings",
		"clone3", "nested user namespace by clone", "nested user namespace by unshare",
	}},
	{spaces, 0, "namespaces and tree", []string{
		"stat outside", "chdir outside", "chmod outside", "utime outside", "setxattr outside", "read a key in reach",
		"plant a git hook", "write the git configuration", "rename .git and make another",
	}},
	{spaces, layerSeccomp, "namespaces and tree without a filter", []string{
		"UDP to the host", "MPTCP to the host", "shared memory of the host", "run it through the loader",
	}},
	{layerCaps, 0, "capabilities", []string{"hold a capability"}},
	// Landlock lets no process mount.
	{layerCaps, layerSeccomp | layerLandlock, "capabilities without filter and Landlock", []string{
		"mount", "lift a mask with umount",
	}},
}

// Each layer stops something that nothing else stops.
func TestLayers(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	run := func(off layers) *results { return attack(t, column{level: sallyport.LevelFull, without: off}) }
	for _, c := range layerTests {
		with, without := run(c.beside), run(c.beside|c.layer)
		for _, name := range c.attacks {
			if with.Said[name] == "" || with.allowed(name) {
				t.Errorf("%s: %s with the layer: %q, want BLOCKED", c.name, name, with.Said[name])
			}
			if !without.allowed(name) {
				t.Errorf("%s: %s without the layer: %q, want ALLOWED", c.name, name, without.Said[name])
			}
		}
	}
}

// What is granted for writing only is not read: the tree knows no such thing,
// so that Landlock alone holds it, at every level.
func TestWhatIsForWritingOnlyIsNotRead(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/srv", "sallyport-drop-")
	if err != nil {
		t.Skip("nothing below the folders for temporary files is granted for writing only, and no other folder can be made: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.WriteFile(dir+"/secret", []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, off := range []layers{0, layerLandlock} {
		r := open(t, &Options{Warm: -1, without: off})
		r.probe = func() *Report { return &Report{Level: sallyport.LevelFull, Wanted: sallyport.LevelFull} }
		c, err := r.Start(t.Context(), &sallyport.Spawn{
			Binary: "sh", Args: []string{"-c", "echo x >new; cat secret; ls"}, Workspace: dir,
			Grant: &sallyport.Grant{FS: sallyport.FSGrant{Write: []string{dir}}, Process: sallyport.ProcessGrant{Binaries: []string{"sh"}}},
		})
		if err != nil {
			t.Fatal(textOf(err))
		}
		res, err := c.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir + "/new"); err != nil {
			t.Errorf("without %b: it was not written: %s", off, res.Stderr)
		}
		if read := len(res.Stdout) != 0; read != (off != 0) {
			t.Errorf("without %b: it was read: %v\n%s%s", off, read, res.Stdout, res.Stderr)
		}
	}
}

const (
	securityPage = "../docs/guides/security.md"
	tableBegin   = "<!-- attacks: written by go test ./sandbox -run TestAttackTable -update -->\n"
	tableEnd     = "<!-- attacks end -->\n"
)

// TestAttackTable holds the table of docs/guides/security.md to what the program sees.
func TestAttackTable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the columns of the table are those of root")
	}
	var seen []*results
	names := []string{}
	for _, c := range columns {
		seen = append(seen, attack(t, c))
		names = append(names, c.name)
	}
	seen, names = append(seen, hostileAsNobody(t)), append(names, "full, ordinary user")
	want := "\nSeen on Linux " + release(t) + ", by root except in the last column.\n" + table(names, seen)

	page, err := os.ReadFile(securityPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), tableBegin)
	old, tail, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", securityPage)
	}
	if *update {
		if err := os.WriteFile(securityPage, []byte(head+tableBegin+want+tableEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !strings.Contains(old, release(t)) {
		// Another kernel refuses other things by itself; what confinement
		// refuses is what TestHostile and TestLayers hold it to.
		t.Logf("the page was written on another kernel:\n%s", difference(old, want))
		return
	}
	if old != want {
		t.Errorf("%s is not what the program sees; run with -update and read the difference:\n%s", securityPage, difference(old, want))
	}
}

func release(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// table writes the results as Markdown.
func table(names []string, seen []*results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| attack | %s |\n|%s\n", strings.Join(names, " | "), strings.Repeat(" --- |", len(names)+1))
	for _, name := range seen[0].Names {
		fmt.Fprintf(&b, "| %s |", name)
		for _, r := range seen {
			if r.allowed(name) {
				b.WriteString(" works |")
			} else {
				b.WriteString(" - |")
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nWhat works at the level `full`, and why:\n\n")
	for _, list := range []map[string]string{tolerated, toleratedForRoot} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if !slices.ContainsFunc(seen[len(columns)-1:], func(r *results) bool { return r.allowed(name) }) {
				continue
			}
			fmt.Fprintf(&b, "- %s: %s.\n", name, list[name])
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// difference lists the lines that only one of two texts has.
func difference(old, now string) string {
	var b strings.Builder
	was, is := strings.Split(old, "\n"), strings.Split(now, "\n")
	for _, l := range was {
		if !slices.Contains(is, l) {
			fmt.Fprintln(&b, "-", l)
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			fmt.Fprintln(&b, "+", l)
		}
	}
	return b.String()
}
