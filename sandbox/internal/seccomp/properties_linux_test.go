package seccomp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// drawArgs draws argument words, often near values that the policy knows.
func drawArgs(t *rapid.T) [6]uint64 {
	var args [6]uint64
	for i := range args {
		args[i] = rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 64), rapid.Just(uint64(unix.TIOCSTI)),
			rapid.Just(uint64(unix.MSG_FASTOPEN)), rapid.Just(uint64(unix.CLONE_PARENT)), rapid.Just(uint64(setIDs))).Draw(t, "argument")
	}
	return args
}

// The high half of an argument never decides, but for the address of sendto,
// which is a pointer.
func TestHighHalvesAreIgnored(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		f := newFilter(t, arch, full)
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.SampledFrom(numbers).Draw(t, "call")
				nr := f.m.number(n)
				if nr == absent {
					return
				}
				low, mixed := drawArgs(t), [6]uint64{}
				for i := range low {
					low[i] &= 1<<32 - 1
					mixed[i] = low[i] | rapid.Uint64().Draw(t, "high")<<32
				}
				if n.name == "sendto" {
					mixed[4] = low[4]
				}
				d := data{nr: uint32(nr), arch: f.m.audit, args: low}
				want := f.run(t, d)
				d.args = mixed
				if got := f.run(t, d); got != want {
					t.Fatalf("%s(%#x) is %s, with high halves %s", n.name, low, verdict(want), verdict(got))
				}
			})
		})
	}
}

func TestForeignCallsAreFatal(t *testing.T) {
	t.Parallel()
	const i386, arm, riscv = 0x40000003, 0x40000028, 0xc00000f3
	for _, arch := range arches {
		f := newFilter(t, arch, full)
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				known := rapid.SampledFrom([]uint32{
					i386, arm, riscv, 0, machines["amd64"].audit, machines["arm64"].audit,
				})
				audit := rapid.OneOf(known, rapid.Uint32()).Draw(t, "architecture")
				nr := rapid.Uint32Range(0, 500).Draw(t, "number")
				foreign := audit != f.m.audit
				if arch == "amd64" && !foreign {
					nr |= 0x40000000
					foreign = true
				}
				got := f.run(t, data{nr: nr, arch: audit, args: drawArgs(t)})
				if foreign && got != unix.SECCOMP_RET_KILL_PROCESS {
					t.Fatalf("call %#x of architecture %#x is %s, want kill", nr, audit, verdict(got))
				}
			})
		})
	}
}

func TestUnknownCallsAreMissing(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		f := newFilter(t, arch, full)
		known := map[uint32]bool{}
		for _, nr := range f.byName {
			known[nr] = true
		}
		limit := uint32(0x3fffffff)
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				nr := rapid.OneOf(rapid.Uint32Range(0, 1000), rapid.Uint32Range(0, limit)).Draw(t, "number")
				if known[nr] {
					return
				}
				if got := verdict(f.run(t, data{nr: nr, arch: f.m.audit, args: drawArgs(t)})); got != "ENOSYS" {
					t.Fatalf("the unknown call %d is %s, want ENOSYS", nr, got)
				}
			})
		})
	}
}

// Every known call has exactly one rule, so that a new one in x/sys is decided
// about when it comes in; and every rule names known calls.
func TestEveryCallHasARule(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, r := range rules {
		if (r.answer == nil) == (r.check == nil) || r.group == "" || r.why == "" || r.calls == "" {
			t.Errorf("the rule %+v is not described", r)
		}
		for _, call := range strings.Fields(r.calls) {
			count[call]++
		}
	}
	for _, n := range numbers {
		if count[n.name] != 1 {
			t.Errorf("%s has %d rules, want 1", n.name, count[n.name])
		}
		delete(count, n.name)
	}
	for call := range count {
		t.Errorf("the rule of %s is for no known call", call)
	}
}

// What is allowed whatever the arguments is allowed on both architectures and
// with every option.
func TestConstantRulesHold(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		for _, o := range []Options{{}, full, {Notify: true}} {
			f := newFilter(t, arch, o)
			for _, r := range rules {
				if r.check != nil {
					continue
				}
				for _, call := range strings.Fields(r.calls) {
					nr, ok := f.byName[call]
					if !ok {
						continue
					}
					got := verdict(f.run(t, data{nr: nr, arch: f.m.audit}))
					if want := verdict(r.answer[0].(bpf.RetConstant).Val); got != want {
						t.Errorf("%s: %s with %+v is %s, want %s", arch, call, o, got, want)
					}
				}
			}
		}
	}
}

func TestWatchSeesAndRefusesNothingElse(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		f := newFilter(t, arch, Options{Watch: true})
		watched := f.m.watchedCalls()
		for name, nr := range f.byName {
			want := "allow"
			_, shaped := shapes[name]
			switch {
			case shaped:
				want = "notify"
			case strings.HasPrefix(name, "io_uring_"):
				want = "ENOSYS"
			}
			if got := verdict(f.run(t, data{nr: nr, arch: f.m.audit})); got != want {
				t.Errorf("%s: %s is %s, want %s", arch, name, got, want)
			}
			if (want == "notify") != (watched[nr] == name) {
				t.Errorf("%s: watched[%d] = %q, want %s to be %s", arch, nr, watched[nr], name, want)
			}
		}
		if got := f.run(t, data{nr: 5, arch: 0x40000003}); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("%s: a foreign call is %s, want allow", arch, verdict(got))
		}
	}
}

func TestNumbersAreGenerated(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "numbers")
	if msg, err := exec.Command("go", "run", "gen.go", out).CombinedOutput(); err != nil {
		t.Fatalf("go run gen.go: %v\n%s", err, msg)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("numbers_linux.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("numbers_linux.go is not what gen.go writes: run go generate")
	}
}
