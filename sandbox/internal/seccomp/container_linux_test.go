package seccomp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the profile for containers")

// containerCalls are the calls that the gate itself needs in a container beside
// those that it allows its children: they make the namespaces, the tree and the
// user of a child. The kernel lets a process use them in a user namespace of its
// own without any right on the host.
const containerCalls = `unshare setns clone3 mount umount2 pivot_root chroot open_tree open_tree_attr move_mount
	mount_setattr fsopen fsconfig fsmount fspick sethostname setdomainname openat2 name_to_handle_at
	pidfd_getfd statmount listmount set_thread_area get_thread_area modify_ldt`

// containerProfile is a profile in the form of the OCI runtime specification.
type containerProfile struct {
	DefaultAction   string          `json:"defaultAction"`
	DefaultErrnoRet int             `json:"defaultErrnoRet"`
	Architectures   []string        `json:"architectures"`
	Syscalls        []containerRule `json:"syscalls"`
}

type containerRule struct {
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet *int     `json:"errnoRet,omitempty"`
}

// TestContainerProfile keeps the profile for containers with the policy of
// children: what a child may call, possibly under a condition, the container may
// call, and what the gate needs to confine a child. Everything else is refused in
// the container, too.
func TestContainerProfile(t *testing.T) {
	const path = "../../../internal/machine/profiles/seccomp.json"
	allowed, absent := strings.Fields(containerCalls), []string{}
	for i := range rules {
		names := strings.Fields(rules[i].calls)
		switch {
		case rules[i].check != nil || slices.Equal(rules[i].answer, allow):
			allowed = append(allowed, names...)
		case slices.Equal(rules[i].answer, missing):
			absent = append(absent, names...)
		}
	}
	absent = slices.DeleteFunc(absent, func(name string) bool { return slices.Contains(allowed, name) })
	slices.Sort(allowed)
	slices.Sort(absent)
	noSuchCall := 38
	p := containerProfile{
		DefaultAction: "SCMP_ACT_ERRNO", DefaultErrnoRet: 1,
		Architectures: []string{"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"},
		Syscalls: []containerRule{
			{Names: slices.Compact(allowed), Action: "SCMP_ACT_ALLOW"},
			{Names: slices.Compact(absent), Action: "SCMP_ACT_ERRNO", ErrnoRet: &noSuchCall},
		},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(p); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is not what the policy says (%v): run go test ./sandbox/internal/seccomp -run TestContainerProfile -update", path, err)
	}
	for _, name := range []string{"bpf", "kexec_load", "init_module", "open_by_handle_at", "keyctl", "perf_event_open", "userfaultfd", "reboot", "ptrace", "io_uring_setup"} {
		if slices.Contains(allowed, name) {
			t.Errorf("a container may call %s", name)
		}
	}
}
