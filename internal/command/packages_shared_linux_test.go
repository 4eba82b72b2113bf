package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/needs"
)

// TestServersOfOnePackageShareOneCopy pins two servers of a package, and pins them anew:
// the registry is asked for the package once, unless the user did not install the copy or
// the copy is another one by now.
func TestServersOfOnePackageShareOneCopy(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	n := newNPMStandIn(t, "1.2.3")
	p := newPackageFolder(t, n)
	place(t, p.dir, app.ConfigName, `version: 1
mcp_servers: {notes: {command: [npx, notes-server@1.2.3, one]}, again: {command: [npx, notes-server@1.2.3, two]}}
personalities: {ops: {toolset: [], mcp_servers: [notes, again]}}
`)
	file := filepath.Join(p.dir, app.LockName)
	pin := func(step string, given int64) {
		t.Helper()
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		p.says(0, "wrote ", "lock")
		pinned, err := lock.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		one, other := pinned.Servers["notes"].Package, pinned.Servers["again"].Package
		if one == nil || other == nil || one.SHA256 != other.SHA256 || one.Before != other.Before {
			t.Errorf("%s: the servers are pinned with %+v and %+v, want the same copy", step, one, other)
		}
		if got := n.given.Load(); got != given || len(p.folders()) != 1 {
			t.Errorf("%s: the registry gave %d archives, want %d; the copies are %q, want one", step, got, given, p.folders())
		}
		p.says(0, "answered one", "call", "mcp__notes__echo", "{}")
		p.says(0, "answered two", "call", "mcp__again__echo", "{}")
	}
	pin("at first", 1)
	pin("again", 1)

	changed := filepath.Join(p.folders()[0], "package", "node_modules", "notes-server", "index.js")
	if err := os.Chmod(changed, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, []byte("// evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pin("after the copy was changed", 2)

	if err := os.RemoveAll(filepath.Join(p.dir, "home")); err != nil {
		t.Fatal(err)
	}
	pin("for a user who installed nothing", 3)

	// What is pinned and not here is installed once, too.
	makeRemovable(p.folders()[0])
	if err := os.RemoveAll(p.folders()[0]); err != nil {
		t.Fatal(err)
	}
	p.says(0, "answers", "check")
	if got := n.given.Load(); got != 4 {
		t.Errorf("the registry gave %d archives for two pinned servers without a copy, want one more", got)
	}
}
