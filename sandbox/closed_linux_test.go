package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// systemPlace makes a folder among the system's files.
func systemPlace(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can put files into /usr")
	}
	dir, err := os.MkdirTemp("/usr/local/share", "sallyport-test-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, f := range []struct {
		name      string
		dir, file os.FileMode
	}{
		{"secret", 0o755, 0o600},
		{"group", 0o755, 0o640},
		{"closed/inner", 0o700, 0o644},
		{"home/.ssh/id_rsa", 0o755, 0o600},
		{"open", 0o755, 0o644},
	} {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("SYSTEM-SECRET"), f.file); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(path), f.dir); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestA10_WhatOnlyRootMayReadOfTheSystemIsClosed(t *testing.T) {
	t.Parallel()
	dir := systemPlace(t)
	for _, without := range []layers{0, layerUsers} {
		for _, level := range []layers{0, layerLandlock} {
			w := workspace(t, open(t, &Options{Warm: -1, without: without | level}))
			res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "cd "+dir+" && cat secret group closed/inner home/.ssh/id_rsa; chmod 777 secret closed; cat secret; cat open")
			if got := strings.Count(string(res.Stdout), "SYSTEM-SECRET"); got != 1 || res.ExitCode != 0 {
				t.Errorf("without %d: the child read %d files, want the open one: %s", without|level, got, res.Stderr)
			}
		}
	}
}

// What of the system is on the deny floor and open to every user is covered where
// the system is looked through.
func TestA10_TheFloorHoldsInTheSystemOfASharedUser(t *testing.T) {
	t.Parallel()
	dir := systemPlace(t)
	if err := os.Chmod(dir+"/home/.ssh/id_rsa", 0o644); err != nil {
		t.Fatal(err)
	}
	w := workspace(t, open(t, &Options{Warm: -1, without: layerUsers}))
	if res := w.run(sallyport.SpawnOptions{}, "cat", dir+"/home/.ssh/id_rsa"); res.ExitCode == 0 {
		t.Errorf("the child read %q", res.Stdout)
	}
}

// A small file of /etc is copied into the tree for everybody.
func TestA10_AClosedFileIsNotCopied(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	for mode, want := range map[os.FileMode]string{0o600: helper.DoBind, 0o640: helper.DoBind, 0o644: helper.DoFile} {
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if ops, err := systemPathOps(path); err != nil || len(ops) != 1 || ops[0].Do != want {
			t.Errorf("mode %o: shown = %v, %v, want %s", mode, ops, err, want)
		}
	}
}

func TestA23_ProcTellsLittleOfTheMachine(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	for _, without := range []layers{0, layerUsers, layerLandlock} {
		w := workspace(t, open(t, &Options{Warm: -1, without: without}))
		for _, path := range append(machineProc, hiddenProc...) {
			if _, err := os.Stat(path); err != nil {
				continue
			}
			if res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "if [ -d "+path+" ]; then ls "+path+"; else cat "+path+"; fi"); res.ExitCode == 0 {
				t.Errorf("without %d: the child read %s: %.60q", without, path, res.Stdout)
			}
		}
		got := strings.Fields(w.sh(`cd /proc/sys; find . -type f | wc -l; find . -type f -exec cat {} + > /dev/null && echo all
			cat kernel/hostname; test -e kernel/random/boot_id || echo none; (echo x > kernel/hostname) 2>/dev/null || echo kept`))
		if len(got) != 5 || strings.Join(got[1:], " ") != "all sandbox none kept" {
			t.Errorf("without %d: of the settings the child said %q", without, got)
		}
		if a, b := w.sh("cat "+freshID), w.sh("cat "+freshID); a == b || len(a) != 37 {
			t.Errorf("two fresh ids are %q and %q", a, b)
		}
		w.sh("for f in cpuinfo meminfo stat self/status version sys/kernel/osrelease; do grep -q . /proc/$f || exit 1; done")
	}
}
