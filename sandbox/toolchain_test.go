package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestToolchainsThatShowTheMachine are refused by New, by name and by where a
// link leads.
func TestToolchainsThatShowTheMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := func(name, to string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct{ path, want string }{
		{dir, ""},
		{filepath.Join(dir, "missing"), ""},
		{link("good", dir), ""},
		{"/", "directly below"},
		{"/usr", "directly below"},
		{"/opt", "directly below"},
		{"/usr/../etc", "directly below"},
		{"/proc/1/root", "the kernel's"},
		{"/sys/fs", "the kernel's"},
		{"/dev/shm", "the kernel's"},
		{"tools", "not an absolute path"},
		{"", "not an absolute path"},
		{link("root", "/"), "directly below"},
		{link("system", "/usr"), "directly below"},
		{link("kernel", "/proc/self"), "the kernel's"},
	}
	for _, tt := range tests {
		for kind, tc := range map[string]Toolchain{
			"dir": Dir(tt.path), "cache": {Caches: []Cache{{tt.path, "x"}}},
		} {
			r, err := New(&Options{Level: sallyport.LevelNone, Toolchains: []Toolchain{tc}})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New with %s %q = %v, want %q", kind, tt.path, err, tt.want)
			}
			if err == nil {
				r.Close()
			}
		}
	}
	for _, home := range []string{"../x", "/etc", ""} {
		if _, err := New(&Options{Level: sallyport.LevelNone, Toolchains: []Toolchain{{Caches: []Cache{{dir, home}}}}}); err == nil {
			t.Errorf("New with a cache that appears at %q gives no error", home)
		}
	}
}

// TestToolchainsFindsNothingWide: what is found by itself never keeps New from
// starting.
func TestToolchainsFindsNothingWide(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, dir := range []string{".cargo/bin", ".cargo/registry"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	rust := func() *Toolchain {
		for _, tc := range Toolchains(home) {
			if tc.Env["RUSTUP_HOME"] != "" {
				return &tc
			}
		}
		return nil
	}
	if rust() != nil {
		t.Error("Rust is found without rustup")
	}
	rustup := filepath.Join(home, ".rustup")
	if err := os.Mkdir(rustup, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := rust(); got == nil || len(got.Caches) != 1 {
		t.Fatalf("Toolchains = %+v, want Rust with a cache", got)
	}
	if err := os.Remove(rustup); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr", rustup); err != nil {
		t.Fatal(err)
	}
	if got := rust(); got != nil {
		t.Errorf("Toolchains = %+v with a link to /usr, want none", got)
	}
}
