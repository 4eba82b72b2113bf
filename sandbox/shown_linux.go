package sandbox

import "golang.org/x/sys/unix"

// exchangedPath returns a path of the reach at which another file or folder
// lies by now than was judged; empty when there is none, and for one that is
// gone.
func (p *reachPlan) exchangedPath() string {
	for _, a := range p.areas {
		var st unix.Stat_t
		if unix.Lstat(a.real, &st) == nil && (st.Ino != a.ino || uint64(st.Dev) != a.dev) {
			return a.real
		}
	}
	return ""
}
