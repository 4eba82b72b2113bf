package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestA14_NoChildPutsSomethingAtAnOwnPath has children try to make what the runtime
// would read as the operator's and what is not there yet.
func TestA14_NoChildPutsSomethingAtAnOwnPath(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	deny := []string{at("sallyport.lock"), at("skills") + "/", at("deep/er/known.txt"), at("state.db-journal")}
	o := &Options{Warm: -1, Files: &sallyport.FileBackend{Deny: deny}}
	w := workspace(t, open(t, o))
	w.dir, w.grant.FS.Read, w.grant.FS.Write = dir, []string{dir}, []string{dir}
	other := *w
	other.r = open(t, &Options{Warm: -1, Files: &sallyport.FileBackend{Deny: deny}})

	in, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := w.start(context.Background(), sallyport.SpawnOptions{Input: in}, "sh", "-c", `read go
for n in sallyport.lock skills deep/er/known.txt state.db-journal; do
  (echo evil > $n) 2>/dev/null; (echo evil > $n/x) 2>/dev/null
  rm -rf $n 2>/dev/null; mkdir -p $n/evil 2>/dev/null; mkfifo $n 2>/dev/null
  ln -sfn /dev/zero $n 2>/dev/null; echo evil > tmp; mv -f tmp $n 2>/dev/null
done; mv deep gone 2>/dev/null; true`)
	for _, path := range deny {
		if info, err := os.Lstat(path); err != nil || info.Size() > 0 && !info.IsDir() {
			t.Errorf("while a child runs %s is %v, %v; want a placeholder", path, info, err)
		}
	}
	other.ok(nil, "true") // Another gate does not take them away.
	end.Close()
	w.wait(c)
	for _, path := range append(deny, at("gone")) {
		if info, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("after the child %s is %v, %v; want nothing", path, info, err)
		}
	}
}
