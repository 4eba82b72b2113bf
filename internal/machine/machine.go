// Package machine says what a machine lacks to confine child processes, and the
// commands and flags that give it. The sandbox finds out by trying; this package
// names the cause by the files of /proc, /sys and /etc.
package machine

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// Page is the page that says more.
const Page = "docs/guides/machines.md"

// Facts is what is known of a machine.
type Facts struct {
	// OS is the system, as runtime.GOOS names it.
	OS string
	// Files is the root of its file system; nil where there is nothing to read.
	Files fs.FS
	// Root is true when the gate runs as root.
	Root bool
	// Program is the path of this program.
	Program string
	// Missing is what the sandbox lacked when it tried; empty when children are
	// confined.
	Missing string
}

// Advice is one thing that is missing and how to get it.
type Advice struct {
	// Lack says what is missing.
	Lack string `json:"lack"`
	// Steps are the commands and edits that give it, in order.
	Steps []string `json:"steps"`
}

// Diagnose returns what the machine lacks. It is empty when children are
// confined, and never empty when they are not.
func Diagnose(f *Facts) []Advice {
	if f.Missing == "" {
		return nil
	}
	if f.OS != "linux" {
		return []Advice{otherSystem(f.OS)}
	}
	if f.Files == nil {
		return []Advice{unknownCause(f)}
	}
	list := findCauses(f)
	if len(list) == 0 {
		list = append(list, unknownCause(f))
	}
	return list
}

// MayLack reports whether the files of a machine show a known cause for which
// children may not be confined. It is quick: only a trial tells.
func MayLack(f *Facts) bool {
	if f.OS != "linux" || f.Files == nil {
		return true
	}
	filtered := strings.Contains(f.readFile("proc/self/status"), "Seccomp:\t2")
	return slices.ContainsFunc(findCauses(f), func(a Advice) bool { return filtered || a.Lack != lackInContainer && a.Lack != lackInPod })
}

// findCauses returns the advice for each known cause that the files show.
func findCauses(f *Facts) (list []Advice) {
	for _, find := range []func(*Facts) *Advice{
		findFirstWSL, findOldKernel, findLandlockOff, findNoNamespaces, findNoUnprivileged, findAppArmor, findContainer,
	} {
		if a := find(f); a != nil {
			list = append(list, *a)
		}
	}
	return list
}

// What a container lacks, whatever else it may do.
const (
	lackInContainer = "the container may not make user namespaces"
	lackInPod       = "the pod may not make user namespaces"
)

// otherSystem is for systems whose kernel cannot confine a child.
func otherSystem(system string) Advice {
	switch system {
	case "darwin":
		return Advice{"macOS cannot confine child processes: MCP servers, programs and the shell need Linux; the other tools work", []string{
			"brew install lima && limactl start --name=sallyport template://ubuntu-24.04",
			"limactl shell sallyport      # install and run sallyport there; 'sallyport doctor' says what it still lacks",
		}}
	case "windows":
		return Advice{"Windows cannot confine child processes: MCP servers, programs and the shell need Linux; the other tools work", []string{
			"wsl --install -d Ubuntu-24.04",
			"wsl -d Ubuntu-24.04          # install and run sallyport there; 'sallyport doctor' says what it still lacks",
		}}
	}
	return Advice{system + " cannot confine child processes: MCP servers, programs and the shell need Linux; the other tools work", []string{
		"run sallyport in a virtual machine with Linux",
	}}
}

// findFirstWSL finds the first version of WSL, which is no Linux kernel.
func findFirstWSL(f *Facts) *Advice {
	release := f.readFile("proc/sys/kernel/osrelease")
	if !strings.HasSuffix(release, "-Microsoft") {
		return nil
	}
	return &Advice{"this is version 1 of WSL, which has no Linux kernel", []string{
		"wsl --list                   # on Windows: the name of this distribution",
		"wsl --set-version NAME 2",
	}}
}

// isSecondWSL reports whether the kernel is that of WSL 2.
func (f *Facts) isSecondWSL() bool {
	return strings.Contains(f.readFile("proc/sys/kernel/osrelease"), "microsoft-standard")
}

// The first kernel with version 3 of Landlock, which also mediates truncation.
const (
	neededMajor = 6
	neededMinor = 2
)

// findOldKernel finds a kernel that is older than the Landlock that is needed.
func findOldKernel(f *Facts) *Advice {
	major, minor, ok := parseRelease(f.readFile("proc/sys/kernel/osrelease"))
	if !ok || major > neededMajor || major == neededMajor && minor >= neededMinor || strings.HasSuffix(f.readFile("proc/sys/kernel/osrelease"), "-Microsoft") {
		return nil
	}
	a := &Advice{"the kernel is " + f.readFile("proc/sys/kernel/osrelease") + "; Landlock needs 6.2 or later", nil}
	switch id, version := f.readDistribution(); {
	case f.isSecondWSL():
		a.Steps = []string{"wsl --update                 # on Windows, then: wsl --shutdown"}
	case f.findContainer() != "":
		a.Steps = []string{"run the container on a machine with a newer kernel: a container has the kernel of its host"}
	case id == "ubuntu" && version == "22.04":
		a.Steps = []string{"sudo apt install linux-generic-hwe-22.04", "sudo reboot"}
	case id == "debian" && version == "12":
		a.Steps = []string{
			"echo 'deb http://deb.debian.org/debian bookworm-backports main' | sudo tee /etc/apt/sources.list.d/backports.list",
			"sudo apt update && sudo apt install -t bookworm-backports linux-image-amd64",
			"sudo reboot",
		}
	default:
		a.Steps = []string{"install a kernel of 6.2 or later, from a newer release of the distribution, and reboot"}
	}
	return a
}

// findLandlockOff finds a kernel that has Landlock and does not start it.
func findLandlockOff(f *Facts) *Advice {
	modules := f.readFile("sys/kernel/security/lsm")
	if modules == "" || slices.Contains(strings.Split(modules, ","), "landlock") {
		return nil
	}
	if f.isSecondWSL() {
		return &Advice{"the kernel does not start Landlock", []string{
			"add to %UserProfile%\\.wslconfig on Windows, below [wsl2]: kernelCommandLine = lsm=landlock," + modules,
			"wsl --shutdown               # on Windows",
		}}
	}
	return &Advice{"the kernel does not start Landlock", []string{
		"add lsm=landlock," + modules + " to GRUB_CMDLINE_LINUX in /etc/default/grub",
		"sudo update-grub && sudo reboot",
	}}
}

// findNoNamespaces finds a machine that allows no user namespace at all.
func findNoNamespaces(f *Facts) *Advice {
	if f.readFile("proc/sys/user/max_user_namespaces") != "0" {
		return nil
	}
	return &Advice{"the machine allows no user namespaces: user.max_user_namespaces is 0", []string{
		"echo user.max_user_namespaces=15000 | sudo tee /etc/sysctl.d/90-sallyport.conf",
		"sudo sysctl --system",
	}}
}

// findNoUnprivileged finds kernels that keep user namespaces for root.
func findNoUnprivileged(f *Facts) *Advice {
	if f.Root || f.readFile("proc/sys/kernel/unprivileged_userns_clone") != "0" {
		return nil
	}
	return &Advice{"only root may make user namespaces: kernel.unprivileged_userns_clone is 0", []string{
		"echo kernel.unprivileged_userns_clone=1 | sudo tee /etc/sysctl.d/90-sallyport.conf",
		"sudo sysctl --system",
	}}
}

// findAppArmor finds the restriction of Ubuntu since 23.10: a program without a
// profile that says userns gets namespaces without capabilities.
func findAppArmor(f *Facts) *Advice {
	profile := f.readFile("proc/self/attr/apparmor/current")
	if profile == "" {
		profile = f.readFile("proc/self/attr/current")
	}
	if f.Root || f.readFile("proc/sys/kernel/apparmor_restrict_unprivileged_userns") != "1" || strings.HasPrefix(profile, "sallyport ") || f.findContainer() != "" {
		return nil
	}
	a := &Advice{"AppArmor keeps user namespaces from programs without a profile, as Ubuntu does since 23.10", []string{
		"sallyport doctor --print apparmor | sudo tee /etc/apparmor.d/sallyport >/dev/null",
		"sudo apparmor_parser -r /etc/apparmor.d/sallyport",
	}}
	if dir := path.Dir(f.Program); dir != "/usr/local/bin" && dir != "/usr/bin" {
		a.Lack += "; the profile is for /usr/local/bin and /usr/bin, where only root can write"
		a.Steps = append([]string{"sudo install -m 755 " + text.ShellWord(f.Program) + " /usr/local/bin/sallyport"}, a.Steps...)
	}
	return a
}

// findContainer finds a container, whose runtime filters the calls that make
// namespaces.
func findContainer(f *Facts) *Advice {
	if f.readFile("proc/sys/user/max_user_namespaces") == "0" || f.findContainer() == "" {
		return nil
	}
	if f.findContainer() == "kubernetes" {
		return &Advice{lackInPod, []string{
			"sallyport doctor --print seccomp > sallyport.json      # copy it to /var/lib/kubelet/seccomp/ of each node",
			"securityContext of the container: {seccompProfile: {type: Localhost, localhostProfile: sallyport.json}, appArmorProfile: {type: Unconfined}, procMount: Unmasked}",
			"spec of the pod: hostUsers: false                       # procMount: Unmasked needs it; without both, children see no /proc",
		}}
	}
	return &Advice{lackInContainer, []string{
		"sallyport doctor --print seccomp > sallyport.json      # on the host",
		f.findContainer() + " run --security-opt seccomp=sallyport.json --security-opt apparmor=unconfined --security-opt systempaths=unconfined …",
	}}
}

// findContainer names what runs the container that this is: docker, podman or
// kubernetes; empty when this is none.
func (f *Facts) findContainer() string {
	switch {
	case f.hasFile("run/secrets/kubernetes.io") || f.hasFile("var/run/secrets/kubernetes.io"):
		return "kubernetes"
	case f.hasFile("run/.containerenv"):
		return "podman"
	case f.hasFile(".dockerenv"):
		return "docker"
	case strings.Contains(f.readFile("proc/1/cgroup"), "kubepods"):
		return "kubernetes"
	}
	return ""
}

// unknownCause says what the sandbox said.
func unknownCause(f *Facts) Advice {
	return Advice{"children cannot be confined: " + f.Missing, []string{"see " + Page + ", which lists what a machine must give"}}
}

// readDistribution returns the name and version of the distribution.
func (f *Facts) readDistribution() (id, version string) {
	for line := range strings.Lines(f.readFile("etc/os-release")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch value = strings.Trim(value, `"'`); key {
		case "ID":
			id = value
		case "VERSION_ID":
			version = value
		}
	}
	return id, version
}

// maxFileBytes bounds what is read of one file.
const maxFileBytes = 64 << 10

// readFile returns the text of a file without the space around it; empty when there
// is none.
func (f *Facts) readFile(name string) string {
	file, err := f.Files.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	data := make([]byte, maxFileBytes)
	n := 0
	for n < len(data) {
		m, err := file.Read(data[n:])
		if n += m; err != nil || m == 0 {
			break
		}
	}
	return string(bytes.Trim(data[:n], " \t\r\n\x00"))
}

func (f *Facts) hasFile(name string) bool {
	_, err := fs.Stat(f.Files, name)
	return err == nil
}

// parseRelease returns the first two numbers of the release of a kernel.
func parseRelease(release string) (major, minor int, ok bool) {
	first, rest, _ := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	major, err := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(rest[:end])
	return major, minor, err == nil && err2 == nil
}
