package machine_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sallyport/sallyport/internal/machine"
)

// files makes a tree from lines "path=text".
func files(lines ...string) fs.FS {
	tree := fstest.MapFS{}
	for _, line := range lines {
		name, text, _ := strings.Cut(line, "=")
		tree[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return tree
}

const (
	release  = "proc/sys/kernel/osrelease="
	noble    = "etc/os-release=ID=ubuntu\nVERSION_ID=\"24.04\""
	strictly = "proc/sys/kernel/apparmor_restrict_unprivileged_userns=1"
	modules  = "sys/kernel/security/lsm=lockdown,capability,landlock,yama,apparmor"
	some     = "proc/sys/user/max_user_namespaces=63000"
	denied   = "user namespaces (refused by the kernel's settings, AppArmor or a container): operation not permitted"
)

func TestDiagnoseNamesTheCauseAndTheCommands(t *testing.T) {
	for _, tt := range []struct {
		name  string
		facts machine.Facts
		want  []string
		not   string
	}{
		{"stock Ubuntu 24.04", machine.Facts{
			OS: "linux", Program: "/usr/local/bin/sallyport", Missing: denied,
			Files: files(release+"6.8.0-31-generic", noble, strictly, modules, some, "proc/self/attr/apparmor/current=unconfined"),
		}, []string{"AppArmor", "sudo tee /etc/apparmor.d/sallyport", "sudo apparmor_parser -r /etc/apparmor.d/sallyport"}, "install -m 755"},
		{"the same with the program in a home", machine.Facts{
			OS: "linux", Program: "/home/ada lace/go/bin/sallyport", Missing: denied,
			Files: files(release+"6.8.0-31-generic", noble, strictly, modules, some, "proc/self/attr/apparmor/current=unconfined"),
		}, []string{"sudo install -m 755 '/home/ada lace/go/bin/sallyport' /usr/local/bin/sallyport", "apparmor_parser -r"}, ""},
		{"Ubuntu with the profile loaded, and something else", machine.Facts{
			OS: "linux", Program: "/usr/local/bin/sallyport", Missing: "seccomp: not there",
			Files: files(release+"6.8.0-31-generic", noble, strictly, modules, some, "proc/self/attr/apparmor/current=sallyport (unconfined)"),
		}, []string{"seccomp: not there"}, "apparmor_parser"},
		{"Ubuntu as root", machine.Facts{
			OS: "linux", Root: true, Missing: "Landlock: version 3 is needed",
			Files: files(release+"5.15.0-100-generic", "etc/os-release=ID=ubuntu\nVERSION_ID=\"22.04\"", strictly),
		}, []string{"5.15.0-100-generic", "linux-generic-hwe-22.04"}, "apparmor_parser"},
		{"Debian 12", machine.Facts{
			OS: "linux", Missing: "Landlock: version 3 is needed, this kernel has 2",
			Files: files(release+"6.1.0-18-amd64", "etc/os-release=ID=debian\nVERSION_ID=\"12\"", some),
		}, []string{"bookworm-backports linux-image-amd64"}, ""},
		{"Landlock not started", machine.Facts{
			OS: "linux", Missing: "Landlock: version 3 is needed, this kernel has 0",
			Files: files(release+"6.8.9-300.fc40.x86_64", "sys/kernel/security/lsm=capability,selinux", some),
		}, []string{"lsm=landlock,capability,selinux", "GRUB_CMDLINE_LINUX"}, ""},
		{"no user namespaces", machine.Facts{
			OS: "linux", Missing: denied, Files: files(release+"6.8.0", "proc/sys/user/max_user_namespaces=0"),
		}, []string{"user.max_user_namespaces=15000", "sudo sysctl --system"}, ""},
		{"namespaces for root alone", machine.Facts{
			OS: "linux", Missing: denied, Files: files(release+"6.8.0", some, "proc/sys/kernel/unprivileged_userns_clone=0"),
		}, []string{"kernel.unprivileged_userns_clone=1"}, ""},
		{"Docker", machine.Facts{
			OS: "linux", Root: true, Missing: denied, Files: files(release+"6.8.0", some, ".dockerenv="),
		}, []string{"--print seccomp > sallyport.json", "docker run --security-opt seccomp=sallyport.json", "systempaths=unconfined"}, "apparmor_parser"},
		{"Docker on Ubuntu", machine.Facts{
			OS: "linux", Missing: denied, Files: files(release+"6.8.0", some, strictly, ".dockerenv="),
		}, []string{"docker run"}, "apparmor_parser"},
		{"Podman", machine.Facts{
			OS: "linux", Root: true, Missing: denied, Files: files(release+"6.8.0", some, "run/.containerenv=engine=podman"),
		}, []string{"podman run --security-opt"}, ""},
		{"Kubernetes", machine.Facts{
			OS: "linux", Root: true, Missing: denied, Files: files(release+"6.8.0", some, "run/secrets/kubernetes.io/serviceaccount/token=x"),
		}, []string{"localhostProfile: sallyport.json", "/var/lib/kubelet/seccomp/", "hostUsers: false"}, "docker run"},
		{"a container on an old kernel", machine.Facts{
			OS: "linux", Root: true, Missing: "Landlock", Files: files(release+"5.10.0", some, ".dockerenv="),
		}, []string{"a container has the kernel of its host"}, ""},
		{"WSL 1", machine.Facts{
			OS: "linux", Missing: "Landlock", Files: files(release + "4.4.0-19041-Microsoft"),
		}, []string{"version 1 of WSL", "wsl --set-version NAME 2"}, "6.2 or later"},
		{"WSL 2 with an old kernel", machine.Facts{
			OS: "linux", Missing: "Landlock", Files: files(release+"5.15.153.1-microsoft-standard-WSL2", some),
		}, []string{"wsl --update"}, ""},
		{"WSL 2 without Landlock", machine.Facts{
			OS: "linux", Missing: "Landlock", Files: files(release+"6.6.87.2-microsoft-standard-WSL2", some, "sys/kernel/security/lsm=capability,yama"),
		}, []string{".wslconfig", "kernelCommandLine = lsm=landlock,capability,yama"}, "grub"},
		{"macOS", machine.Facts{OS: "darwin", Missing: "Linux only"}, []string{"macOS", "limactl start"}, ""},
		{"Windows", machine.Facts{OS: "windows", Missing: "Linux only"}, []string{"Windows", "wsl --install"}, ""},
		{"FreeBSD", machine.Facts{OS: "freebsd", Missing: "Linux only"}, []string{"virtual machine"}, ""},
		{"nothing to read", machine.Facts{OS: "linux", Missing: denied, Files: files()}, []string{denied, machine.Page}, ""},
		{"no files at all", machine.Facts{OS: "linux", Missing: denied}, []string{denied}, ""},
		{"a hostile release", machine.Facts{OS: "linux", Missing: denied, Files: files(release + "99999999999999999999.x\x1b[31m")}, []string{denied}, "\x1b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := machine.Diagnose(&tt.facts)
			var all strings.Builder
			for _, a := range list {
				if a.Lack == "" || len(a.Steps) == 0 {
					t.Errorf("the advice %+v lacks a cause or steps", a)
				}
				all.WriteString(a.Lack + "\n" + strings.Join(a.Steps, "\n") + "\n")
			}
			for _, w := range tt.want {
				if !strings.Contains(all.String(), w) {
					t.Errorf("the advice lacks %q:\n%s", w, all.String())
				}
			}
			if tt.not != "" && strings.Contains(all.String(), tt.not) {
				t.Errorf("the advice has %q:\n%s", tt.not, all.String())
			}
		})
	}
}

func TestAMachineThatConfinesLacksNothing(t *testing.T) {
	f := machine.Facts{OS: "linux", Files: files(release+"6.8.0", strictly, ".dockerenv=")}
	if list := machine.Diagnose(&f); len(list) != 0 {
		t.Errorf("Diagnose = %+v, want nothing", list)
	}
}

func TestMayLackNeedsASign(t *testing.T) {
	for _, tt := range []struct {
		name  string
		facts machine.Facts
		want  bool
	}{
		{"a machine without a sign", machine.Facts{OS: "linux", Files: files(release+"6.8.0", some, modules)}, false},
		{"Ubuntu", machine.Facts{OS: "linux", Files: files(release+"6.8.0", some, modules, strictly)}, true},
		{"a container with a filter", machine.Facts{OS: "linux", Files: files(release+"6.8.0", ".dockerenv=", "proc/self/status=Name:\tx\nSeccomp:\t2")}, true},
		{"a container without a filter", machine.Facts{OS: "linux", Files: files(release+"6.8.0", ".dockerenv=", "proc/self/status=Name:\tx\nSeccomp:\t0")}, false},
		{"macOS", machine.Facts{OS: "darwin"}, true},
	} {
		if got := machine.MayLack(&tt.facts); got != tt.want {
			t.Errorf("%s: MayLack = %t, want %t", tt.name, got, tt.want)
		}
	}
}
