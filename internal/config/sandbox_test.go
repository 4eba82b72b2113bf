package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
)

func TestSandboxLevels(t *testing.T) {
	tests := []struct {
		text string
		want sallyport.Level
	}{
		{"", sallyport.LevelFull},
		{"sandbox: strict\n", sallyport.LevelStrict},
		{"sandbox: full\n", sallyport.LevelFull},
		{"sandbox: landlock\n", sallyport.LevelLandlock},
		{"sandbox: none\n", sallyport.LevelNone},
		{"sandbox: {}\n", sallyport.LevelFull},
		{"sandbox: {level: none}\n", sallyport.LevelNone},
		{"sandbox: {memory: 1GiB}\n", sallyport.LevelFull},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			c, err := Parse("s.yaml", []byte("version: 1\n"+tt.text), testOptions())
			if err != nil || c.Sandbox.Level != tt.want {
				t.Fatalf("Parse = %+v, %v, want level %s", c, err, tt.want)
			}
			given := strings.Contains(tt.text, string(tt.want)) && tt.text != ""
			if got := c.Source("sandbox.level"); (got != "") != given {
				t.Errorf("Source(sandbox.level) = %q, want a place: %t", got, given)
			}
		})
	}
}

func TestSandboxLimits(t *testing.T) {
	tests := []struct {
		text string
		want Sandbox // of what is accepted
		err  string  // in the fault of what is not
	}{
		{text: "memory: 16MiB", want: Sandbox{Memory: 16 << 20}},
		{text: "memory: 1TiB", want: Sandbox{Memory: 1 << 40}},
		{text: "memory: 1024GiB", want: Sandbox{Memory: 1 << 40}},
		{text: "memory: 15MiB", err: "out of range: expected 16MiB to 1TiB"},
		{text: "memory: 1025GiB", err: "out of range"},
		{text: "memory: 2TiB", err: "out of range"},
		{text: "memory: 9999999999999999999999TiB", err: "out of range"},
		{text: "memory: 17179869185KiB", err: "out of range"}, // overflows after 2^64
		{text: "memory: 0GiB", err: "out of range"},
		{text: "memory: -1GiB", err: "expected a whole number followed by KiB"},
		{text: "memory: +1GiB", err: "expected a whole number followed by KiB"},
		{text: "memory: 1.5GiB", err: "expected a whole number followed by KiB"},
		{text: "memory: 010GiB", err: "expected a whole number followed by KiB"},
		{text: "memory: GiB", err: "expected a whole number followed by KiB"},
		{text: "memory: 1 GiB", err: "expected a whole number followed by KiB"},
		{text: "memory: 1gib", err: "expected a whole number followed by KiB"},
		{text: "memory: 1G", err: "expected a whole number followed by KiB"},
		{text: "file_size: 1MiB", want: Sandbox{FileSize: 1 << 20}},
		{text: "file_size: 1023KiB", err: "out of range: expected 1MiB to 1TiB"},
		{text: "tmp: 2048KiB", want: Sandbox{Tmp: 2 << 20}},
		{text: "processes: 16", want: Sandbox{Processes: 16}},
		{text: "processes: 32768", want: Sandbox{Processes: 32768}},
		{text: "processes: 15", err: "expected a whole number, 16 to 32768"},
		{text: "processes: 32769", err: "expected a whole number, 16 to 32768"},
		{text: "processes: 64.0", err: "expected a whole number, 16 to 32768"},
		{text: "processes: 0x40", err: "expected a whole number, 16 to 32768"},
		{text: "processes: 0100", err: "expected a whole number, 16 to 32768"},
		{text: "cpus: 1", want: Sandbox{CPUs: 1}},
		{text: "cpus: 0.1", want: Sandbox{CPUs: 0.1}},
		{text: "cpus: 1024", want: Sandbox{CPUs: 1024}},
		{text: "cpus: 0.09", err: "expected a number such as 1.5, 0.1 to 1024"},
		{text: "cpus: 1024.5", err: "expected a number such as 1.5"},
		{text: "cpus: -1", err: "expected a number such as 1.5"},
		{text: "cpus: .inf", err: "expected a number such as 1.5"},
		{text: "cpus: .nan", err: "expected a number such as 1.5"},
		{text: "toolchains: []", want: Sandbox{Toolchains: []string{}}},
		{text: "toolchains: [../go]", want: Sandbox{Toolchains: []string{"/work/go"}}},
		{text: "toolchains: [\"${home}/go\"]", want: Sandbox{Toolchains: []string{"/home/ann/go"}}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			c, err := Parse("s.yaml", []byte("version: 1\nsandbox:\n  "+tt.text+"\n"), testOptions())
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), "s.yaml:3:") || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("Parse = %v, want a fault with %q at line 3", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Level = sallyport.LevelFull
			if d := cmp.Diff(tt.want, c.Sandbox); d != "" {
				t.Errorf("Sandbox (-want +got):\n%s", d)
			}
		})
	}
}

// TestToolchains judges folders by what children would see of the machine, and
// by what tools could put into them.
func TestToolchains(t *testing.T) {
	const rest = `
personalities:
  a: {fs_reach: {write: ["/data/out"]}}
  b: {fs_reach: {read: ["/srv/in"], write: ["/opt/kit/share"]}}
state: sqlite:/opt/gate/state.db
secrets: [{dir: /opt/keys/live}]
`
	const wide = "is not a toolchain"
	tests := map[string]string{
		"/opt/node": "", "/usr/local/go": "", "${home}/sdk/go1.26": "", "${home}/go": "", "/srv/in": "", "/srv/in/tc": "",
		"/nix/var/nix/profiles/default": "", "/run/current-system/sw": "", "/opt/gates": "", "/home/ann/.cargo": "",
		"/": wide, "/opt": wide, "/usr": wide, "/home": wide, "/etc": wide, "/var": wide, "/proc": wide, "/nowhere": wide,
		"${home}": wide, "/home/bob": wide, "/root": wide, "/Users/eve": wide, "/var/home/eve": wide,
		"/usr/local": wide, "/var/lib": wide, "/var/tmp": wide, "/etc/ssl": wide, "/proc/1/root": wide, "/sys/fs/cgroup": wide,
		"/dev/shm": wide, "/boot/efi": wide, "/run/user/1000": wide, "/opt/x/..": wide,
		"tools": "lies inside the workspace", ".": "is the workspace", "..": wide,
		"/opt/gate": "is the folder of the state", "/opt/gate/tc": "lies inside the folder of the state",
		"/opt/keys": "holds the folder of secrets", "/opt/keys/live": "is the folder of secrets",
		"/data/out": "is what personalities.a.fs_reach.write grants", "/data/out/tc": "lies inside what personalities.a.fs_reach.write grants",
		"/opt/kit": "holds what personalities.b.fs_reach.write grants",
	}
	for dir, want := range tests {
		t.Run(dir, func(t *testing.T) {
			c, err := Parse("s.yaml", []byte("version: 1\nsandbox: {toolchains: [/opt/first, \""+dir+"\"]}"+rest), testOptions())
			if want == "" {
				if err != nil || len(c.Sandbox.Toolchains) != 2 {
					t.Errorf("Parse = %v, want it accepted", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "s.yaml:2:36: sandbox.toolchains.1: ") || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "expected ") {
				t.Errorf("Parse = %v, want a fault with %q at 2:36", err, want)
			}
		})
	}
}

// TestToolchainsBehindLinks: a folder may lead to another one.
func TestToolchainsBehindLinks(t *testing.T) {
	c, err := Parse("s.yaml", []byte(`version: 1
sandbox: {toolchains: [/opt/node]}
personalities: {a: {fs_reach: {write: [/data/out]}}}
`), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"/opt/elsewhere": "", "/data/out/tc": "lies inside what", "/real/out": "is what", "/": "is not a toolchain", "/home/ann": "is not a toolchain",
	}
	for to, want := range tests {
		follow := func(path string) string {
			switch path {
			case "/opt/node":
				return to
			case "/data/out":
				if to == "/real/out" {
					return to
				}
			}
			return path
		}
		if err := c.CheckToolchain("/opt/node", "/home/ann", follow); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a link to %s gives %v, want %q", to, err, want)
		}
		err := c.Writable("/opt/node", follow)
		if want := strings.Contains(to, "out") || to == "/"; (err != nil) != want {
			t.Errorf("Writable of a link to %s = %v, want an error: %t", to, err, want)
		}
	}
}

func TestSandboxIsTextOrMapping(t *testing.T) {
	for text, want := range map[string]string{
		"[full]": "a list", "5": "a number", "~": "nothing", "true": "true or false",
	} {
		_, err := Parse("s.yaml", []byte("version: 1\nsandbox: "+text+"\n"), testOptions())
		if err == nil || !strings.Contains(err.Error(), "s.yaml:2:10: sandbox: expected a mapping or text, found "+want) {
			t.Errorf("sandbox: %s gives %v, want a fault", text, err)
		}
	}
}
