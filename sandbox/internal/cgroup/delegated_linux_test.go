package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALimitWithoutControllerIsRefused(t *testing.T) {
	none := &Controllers{why: "because"}
	for _, l := range []Limits{{}, {Memory: 1}} {
		if _, err := none.New(l); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "because") {
			t.Errorf("New(%+v) without control groups = %v", l, err)
		}
	}
	some := &Controllers{kind: KindV1, dirs: map[string]string{memory: t.TempDir()}}
	if _, err := some.New(Limits{CPUs: 1}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("New with a limit of processors and no controller = %v", err)
	}
}

const (
	v2Mount = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	v1Mount = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)

// machine makes the files of a machine in a directory.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
	return root
}

func TestOpenFindsWhatIsDelegated(t *testing.T) {
	slice := "sys/fs/cgroup/user.slice/gate.scope/"
	pid := fmt.Sprintln(os.Getpid())
	tests := []struct {
		name     string
		files    map[string]string
		delegate bool
		kind     string
		names    []string
		why      string
		leaf     bool
	}{
		{
			name: "version 2, enabled already", kind: KindV2, names: []string{memory, pids, cpu},
			files: map[string]string{
				"proc/self/mountinfo": v2Mount, "proc/self/cgroup": "0::/user.slice/gate.scope\n",
				slice + "cgroup.controllers": "cpu io memory pids\n", slice + "cgroup.procs": "",
				slice + "cgroup.subtree_control": "cpu memory pids\n", slice + "cgroup.type": "domain\n",
			},
		},
		{
			name: "version 2 without cpu", kind: KindV2, names: []string{memory, pids}, why: "does not delegate the cpu controller",
			files: map[string]string{
				"proc/self/mountinfo": v2Mount, "proc/self/cgroup": "0::/user.slice/gate.scope\n",
				slice + "cgroup.controllers": "memory pids\n", slice + "cgroup.procs": "",
				slice + "cgroup.subtree_control": "memory pids\n",
			},
		},
		{
			name: "version 2 without controllers, version 1 beside it", kind: KindV1, names: []string{memory, cpu},
			why: "cgroup v2 has no memory controller at ",
			files: map[string]string{
				"proc/self/mountinfo": v2Mount + v1Mount, "proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/\n0::/\n",
				"sys/fs/cgroup/cgroup.controllers": "hugetlb\n", "sys/fs/cgroup/memory/x/cgroup.procs": "",
				"sys/fs/cgroup/cpu,cpuacct/cgroup.procs": "",
			},
		},
		{
			name: "other processes in the group", why: "holds other processes",
			files: map[string]string{
				"proc/self/mountinfo": v2Mount, "proc/self/cgroup": "0::/user.slice/gate.scope\n",
				slice + "cgroup.controllers": "cpu memory pids\n", slice + "cgroup.procs": pid + "1\n",
				slice + "cgroup.subtree_control": "", slice + "cgroup.type": "domain\n",
			}, delegate: true,
		},
		{
			name: "alone, but not delegated", why: "is not marked as delegated",
			files: map[string]string{
				"proc/self/mountinfo": v2Mount, "proc/self/cgroup": "0::/user.slice/gate.scope\n",
				slice + "cgroup.controllers": "cpu memory pids\n", slice + "cgroup.procs": pid,
				slice + "cgroup.subtree_control": "", slice + "cgroup.type": "domain\n",
			},
		},
		{
			name: "outside what is mounted", why: "is not visible here",
			files: map[string]string{
				"proc/self/mountinfo": strings.Replace(v2Mount, "0:38 /", "0:38 /docker/abc", 1),
				"proc/self/cgroup":    "0::/../other\n",
			},
		},
		{
			name: "nothing is mounted", why: "cgroup v2 is not mounted",
			files: map[string]string{"proc/self/mountinfo": "", "proc/self/cgroup": ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := machine(t, tt.files)
			if tt.delegate {
				must(t, syscall.Setxattr(filepath.Join(root, slice), "user.delegate", []byte("1"), 0))
			}
			if !tt.delegate && os.Geteuid() != 0 && strings.Contains(tt.why, "delegated") {
				t.Skip("what belongs to this user is delegated to it")
			}
			c, err := Open(root)
			must(t, err)
			if diff := cmp.Diff(tt.names, c.Names()); diff != "" || c.Kind() != tt.kind {
				t.Errorf("Open() = %q (-want +got):\n%s%s", c.Kind(), diff, c.Why())
			}
			if !strings.Contains(c.Why(), tt.why) || tt.why == "" && c.Why() != "" {
				t.Errorf("Why() = %q, want %q in it", c.Why(), tt.why)
			}
		})
	}
}

// TestARuntimeThatIsAloneMakesRoomForItself follows the steps on files: a real
// kernel moves the process when its number is written.
func TestARuntimeThatIsAloneMakesRoomForItself(t *testing.T) {
	slice := "sys/fs/cgroup/gate.scope"
	root := machine(t, map[string]string{
		"proc/self/mountinfo": v2Mount, "proc/self/cgroup": "0::/gate.scope\n",
		slice + "/cgroup.controllers": "cpu memory pids\n", slice + "/cgroup.procs": fmt.Sprintln(os.Getpid()),
		slice + "/cgroup.subtree_control": "", slice + "/cgroup.type": "domain\n",
	})
	base := filepath.Join(root, slice)
	must(t, syscall.Setxattr(base, "user.delegate", []byte("1"), 0))
	name, err := thisProcess()
	must(t, err)
	leaf := filepath.Join(base, leafName+name.String())
	must(t, os.Mkdir(leaf, 0o755))
	must(t, os.WriteFile(filepath.Join(leaf, "cgroup.procs"), nil, 0o644))
	_, err = Open(root)
	must(t, err)
	if got := readWords(filepath.Join(leaf, "cgroup.procs")); len(got) != 1 || got[0] != fmt.Sprint(os.Getpid()) {
		t.Errorf("the leaf holds %v, want this process", got)
	}
	if got := readWords(filepath.Join(base, "cgroup.subtree_control")); len(got) != 1 || !strings.HasPrefix(got[0], "+") {
		t.Errorf("enabled: %v", got)
	}
}
