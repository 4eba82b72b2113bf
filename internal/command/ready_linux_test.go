package command

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readyz asks until it gets the wanted status: the server repeats an answer for
// a while.
func readyz(t *testing.T, s *service, want int) (text string) {
	t.Helper()
	status := 0
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if status, text = s.request(t, "GET", "/readyz", "", s.headers("Authorization", "")); status == want {
			return text
		}
	}
	t.Errorf("/readyz = %d %s, want %d", status, text, want)
	return text
}

func TestB10_NotReadyOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	small := filepath.Join(dir, "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	stateAt(t, dir, "sqlite:small/state.db")
	s := serveHTTP(t, dir)
	readyz(t, s, 200)
	ballast := filepath.Join(small, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	if text := readyz(t, s, 503); !strings.Contains(text, `"reason":"disk"`) || strings.Contains(text, "small") {
		t.Errorf("/readyz says %s, want the disk and no path", text)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	readyz(t, s, 200)
}

func TestB10_NotReadyWithoutTheKey(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := serveHTTP(t, dir)
	readyz(t, s, 200)
	keys, err := filepath.Glob(filepath.Join(dir, ".sallyport", "audit.key"))
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys = %v, %v", keys, err)
	}
	if err := os.Rename(keys[0], keys[0]+".away"); err != nil {
		t.Fatal(err)
	}
	if text := readyz(t, s, 503); !strings.Contains(text, `"reason":"key"`) {
		t.Errorf("/readyz says %s", text)
	}
}

// stateAt makes a configuration keep its state in another folder.
func stateAt(t *testing.T, dir, where string) {
	t.Helper()
	path := filepath.Join(dir, "sallyport.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "state:") {
			lines = append(lines, line)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")+"\nstate: "+where+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
