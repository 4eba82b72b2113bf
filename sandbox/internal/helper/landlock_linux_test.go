package helper

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A rule for what was judged is not made for what stands in its place.
func TestARuleIsForWhatWasJudged(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		rule PathRule
		want string
	}{
		{"same", PathRule{Path: dir, Dev: st.Dev, Ino: st.Ino}, "bad file descriptor"}, // of the ruleset
		{"another inode", PathRule{Path: dir, Dev: st.Dev, Ino: st.Ino + 1}, "exchanged"},
		{"another device", PathRule{Path: dir, Dev: st.Dev + 1, Ino: st.Ino}, "exchanged"},
		{"a link to it", PathRule{Path: dir + "/link", Dev: st.Dev, Ino: st.Ino}, "too many levels of symbolic links"},
		{"anything", PathRule{Path: dir + "/link"}, "bad file descriptor"},
	} {
		if err := c.rule.addRule(-1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
