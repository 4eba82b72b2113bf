package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
)

// packaged is a workspace that holds the runtime's folder with two installed
// packages, one that is being made, and a key.
func packaged(t *testing.T, o *Options) (w *workplace, store string) {
	t.Helper()
	// Below the folders for temporary files every child has rights of its own.
	dir, err := os.MkdirTemp("/srv", "sallyport-packages-")
	if err != nil {
		here, _ := os.Getwd()
		dir, err = os.MkdirTemp(here, "packages-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	store = filepath.Join(dir, ".sallyport", "packages")
	o.Warm, o.Files = -1, &sallyport.FileBackend{Deny: []string{filepath.Join(dir, ".sallyport")}, Packages: store}
	w = workspace(t, open(t, o))
	w.dir = dir
	w.grant.FS = sallyport.FSGrant{}
	w.write(".sallyport/audit.key", "the key")
	for _, name := range []string{"one", "two", ".stage"} {
		w.write(".sallyport/packages/"+name+"/main.sh", "echo "+name+" ran")
	}
	return w, store
}

// TestAnInstalledPackageRuns at every level, with the workspace around it
// within reach or not, and shows nothing else of the runtime's folder.
func TestAnInstalledPackageRuns(t *testing.T) {
	t.Parallel()
	const script = `sh $1/one/main.sh
cat $1/two/main.sh $1/.stage/main.sh $1/../audit.key; ls -A $1/..
echo evil >> $1/one/main.sh; rm -f $1/one/main.sh; echo x > $1/one/new; mkdir $1/three && echo made; mkdir $1/../three && echo made; mv $1 $1.away
`
	reach := func(w *workplace) map[string]sallyport.FSGrant {
		all := []string{w.dir}
		return map[string]sallyport.FSGrant{
			"no reach": {}, "read": {Read: all}, "write": {Read: all, Write: all},
			"overlay":   {Read: all, Write: all, Mode: sallyport.FSOverlay},
			"the store": {Read: []string{filepath.Join(w.dir, ".sallyport", "packages")}},
		}
	}
	w, store := packaged(t, &Options{})
	for name, fs := range reach(w) {
		t.Run(name, func(t *testing.T) {
			w.grant.FS = fs
			w.grant.Process.Programs = []string{filepath.Join(store, "one")}
			res, err := tryRun(w, "sh", "-c", script, "sh", store)
			if err != nil {
				t.Fatal(err)
			}
			out := string(res.Stdout)
			if !strings.HasPrefix(out, "one ran\n") || strings.Contains(out, "two ran") || strings.Contains(out, "stage ran") ||
				strings.Contains(out, "the key") || strings.Contains(out, "audit.key") ||
				strings.Contains(out, "made") && !strings.HasPrefix(w.dir, tmpDir) {
				t.Errorf("the child saw %q %s", out, res.Stderr)
			}
			text, err := os.ReadFile(filepath.Join(store, "one", "main.sh"))
			if err != nil || string(text) != "echo one ran" {
				t.Errorf("the package is now %q, %v", text, err)
			}
			for _, path := range []string{"one/new", "three", "../packages.away"} {
				if _, err := os.Lstat(filepath.Join(store, path)); err == nil {
					t.Errorf("%s was made", path)
				}
			}
		})
	}
}

// TestAPackageIsShownToWhoIsGrantedItAlone: another server sees nothing of it,
// wherever it may read.
func TestAPackageIsShownToWhoIsGrantedItAlone(t *testing.T) {
	t.Parallel()
	w, store := packaged(t, &Options{})
	w.grant.FS.Read = []string{w.dir}
	res, err := tryRun(w, "sh", "-c", "cat $1/one/main.sh; ls $1", "sh", store)
	if err != nil || len(res.Stdout) != 0 {
		t.Errorf("a child without the grant saw %q, %v", res.Stdout, err)
	}
}

// TestPackagesRunSideBySide in one child, where the floor closes the folder
// around the store for writing only.
func TestPackagesRunSideBySide(t *testing.T) {
	t.Parallel()
	w, store := packaged(t, &Options{})
	w.r.floor = denyfloor.New(&sallyport.FileBackend{Packages: store})
	w.grant.FS = sallyport.FSGrant{Read: []string{w.dir}, Write: []string{w.dir}}
	w.grant.Process.Programs = []string{filepath.Join(store, "one"), filepath.Join(store, "two")}
	res, err := tryRun(w, "sh", "-c", `sh $1/one/main.sh; sh $1/two/main.sh; cat $1/.stage/main.sh
mkdir $1/three || echo x >> $1/two/main.sh || echo x >> $1/../audit.key || rm -r $1 || mv $1 $1.away || echo held`, "sh", store)
	if want := "one ran\ntwo ran\nheld\n"; err != nil || string(res.Stdout) != want {
		t.Errorf("the child said %q %s, %v, want %q", res.Stdout, res.Stderr, err, want)
	}
	if text, err := os.ReadFile(filepath.Join(store, "two", "main.sh")); err != nil || string(text) != "echo two ran" {
		t.Errorf("the package is now %q, %v", text, err)
	}
}

func TestAnInstalledPackageRunsWithoutATree(t *testing.T) {
	t.Parallel()
	for _, level := range []sallyport.Level{sallyport.LevelLandlock, sallyport.LevelNone} {
		t.Run(string(level), func(t *testing.T) {
			w, store := packaged(t, &Options{Level: level})
			if _, err := w.r.Confines(w.grant); err != nil {
				t.Skip(err)
			}
			w.grant.Process.Programs = []string{filepath.Join(store, "one")}
			res, err := tryRun(w, "sh", "-c", "sh $1/one/main.sh; cat $1/two/main.sh; echo evil >> $1/one/main.sh", "sh", store)
			if err != nil || !strings.HasPrefix(string(res.Stdout), "one ran\n") {
				t.Fatalf("the package said %q, %v", res.Stdout, err)
			}
			text, _ := os.ReadFile(filepath.Join(store, "one", "main.sh"))
			if held := level != sallyport.LevelNone; held && (strings.Contains(string(res.Stdout), "two") || string(text) != "echo one ran") {
				t.Errorf("the child saw %q and left %q", res.Stdout, text)
			}
		})
	}
}

// TestOnlyPackagesAreShownAsPackages: neither the store, nor what is in a
// package, nor what is being made, nor what a link leads to.
func TestOnlyPackagesAreShownAsPackages(t *testing.T) {
	t.Parallel()
	w, store := packaged(t, &Options{})
	for name, target := range map[string]string{"link": "/etc", "key": filepath.Join(w.dir, ".sallyport", "audit.key")} {
		if err := os.Symlink(target, filepath.Join(store, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(store, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "..", ".stage", "link", "key", "file", "absent", "one/main.sh"} {
		path := filepath.Join(store, name)
		w.grant.Process.Programs = []string{path}
		if res, err := tryRun(w, "ls", path); err == nil {
			t.Errorf("the program %s was shown: %q", path, res.Stdout)
		} else if name != "link" && name != "key" && !errors.Is(err, sallyport.ErrBinaryNotAllowed) {
			t.Errorf("the program %s = %v, want a refusal", path, err)
		}
	}
}
