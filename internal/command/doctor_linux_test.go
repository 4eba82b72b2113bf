package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/machine"
	"github.com/sallyport/sallyport/internal/needs"
)

// strictFilter refuses the calls that make user namespaces, as the default
// filters of container runtimes do.
const strictFilter = `{"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"], "syscalls": [
	{"names": ["unshare", "mount", "setns"], "action": "SCMP_ACT_ERRNO"},
	{"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
	{"names": ["clone"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 0, "value": 268435456, "valueTwo": 268435456, "op": "SCMP_CMP_MASKED_EQ"}]}]}`

// TestDoctorInAContainer runs the program as the first process of a container:
// under a filter like those of container runtimes it says which flags it needs,
// and under the shipped profile it confines children.
func TestDoctorInAContainer(t *testing.T) {
	needs.Machines(t)
	t.Parallel()
	runtime := needs.Program(t, "runc")
	profile, err := machine.Profile("seccomp")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, filter, want string
		user, code         int
		masked             bool
	}{
		{"filter", strictFilter, "docker run --security-opt seccomp=sallyport.json", 0, 1, true},
		{"filter-user", strictFilter, "docker run --security-opt seccomp=sallyport.json", 1000, 1, true},
		{"profile", string(profile), "level full, shown by a child", 0, 0, false},
		{"profile-masked", string(profile), "level full, shown by a child", 0, 0, true},
		{"profile-user", string(profile), "level full, shown by a child", 1000, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeBundle(t, dir, tt.filter, tt.user, tt.masked)
			id := "sallyport-" + strings.ToLower(filepath.Base(filepath.Dir(dir))) + "-" + tt.name
			cmd := exec.CommandContext(t.Context(), runtime, "--root", filepath.Join(dir, "runtime"), "run", "--bundle", dir, id)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.want) {
				t.Errorf("doctor exits %d and prints\n%s\nwant %d and %q", code, out, tt.code, tt.want)
			}
		})
	}
}

// writeBundle writes the bundle of a container in which doctor runs, with the
// system folders of this machine.
func writeBundle(t *testing.T, dir, filter string, user int, masked bool) {
	t.Helper()
	program, err := exec.LookPath("sallyport")
	if err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	mounts := []object{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755"}},
	}
	bind := func(from, to, mode string) {
		mounts = append(mounts, object{"destination": to, "type": "bind", "source": from, "options": []string{"rbind", mode}})
	}
	for _, name := range []string{"usr", "bin", "lib", "lib64", "etc"} {
		if _, err := os.Stat("/" + name); err == nil {
			bind("/"+name, "/"+name, "ro")
		}
	}
	bind("/sys", "/sys", "ro")
	bind(program, "/program/sallyport", "ro")
	for _, name := range []string{"tmp", "work", "rootfs/program", "rootfs/proc"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tmp", "work"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		bind(filepath.Join(dir, name), "/"+name, "rw")
	}
	if err := os.WriteFile(filepath.Join(dir, "rootfs", ".dockerenv"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	inside := object{
		"namespaces": []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}},
		"seccomp":    json.RawMessage(filter),
	}
	if masked {
		inside["maskedPaths"] = []string{"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/scsi"}
		inside["readonlyPaths"] = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
	}
	held := []string{}
	if user == 0 {
		held = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_SETGID", "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_SYS_CHROOT", "CAP_KILL"}
	}
	data, err := json.Marshal(object{
		"ociVersion": "1.0.2", "hostname": "container", "root": object{"path": "rootfs"}, "mounts": mounts, "linux": inside,
		"process": object{
			"user": object{"uid": user, "gid": user}, "cwd": "/work", "args": []string{"/program/sallyport", "doctor"},
			"env":          []string{"PATH=/usr/bin:/bin", "HOME=/work"},
			"capabilities": object{"bounding": held, "effective": held, "permitted": held},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}
