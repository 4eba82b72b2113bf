package reach

import (
	"path/filepath"
	"slices"
	"strings"
)

// Why a launcher is refused. A child has no privileges and reaches no socket
// of the host, so that such a program can only fail in it; and a declaration
// that names one asks for something that no grant means.
const (
	askPrivileges = "asks for privileges that no child gets"
	askHost       = "asks a service of this machine to act outside the confinement"
	askNamespaces = "changes mounts or namespaces, which no child may"
)

type launcherRule struct{ name, why string }

// launchers is sorted by name. The programs are those of sudo, opendoas,
// polkit, shadow and util-linux that change the user; of util-linux, coreutils
// and fuse that change the tree; of systemd, sysvinit, cron and at that have
// work done by a service; and the clients of container engines, whose socket
// is root on the host.
var launchers = [...]launcherRule{
	{"at", askHost},
	{"batch", askHost},
	{"busctl", askHost},
	{"chroot", askNamespaces},
	{"crictl", askHost},
	{"crontab", askHost},
	{"ctr", askHost},
	{"doas", askPrivileges},
	{"docker", askHost},
	{"docker-compose", askHost},
	{"fusermount", askNamespaces},
	{"fusermount3", askNamespaces},
	{"halt", askHost},
	{"incus", askHost},
	{"initctl", askHost},
	{"launchctl", askHost},
	{"loginctl", askHost},
	{"lxc", askHost},
	{"machinectl", askHost},
	{"mount", askNamespaces},
	{"nerdctl", askHost},
	{"newgrp", askPrivileges},
	{"nsenter", askNamespaces},
	{"pkexec", askPrivileges},
	{"podman", askHost},
	{"poweroff", askHost},
	{"reboot", askHost},
	{"run0", askPrivileges},
	{"runuser", askPrivileges},
	{"service", askHost},
	{"sg", askPrivileges},
	{"shutdown", askHost},
	{"su", askPrivileges},
	{"sudo", askPrivileges},
	{"sudo-rs", askPrivileges},
	{"sudoedit", askPrivileges},
	{"systemctl", askHost},
	{"systemd-run", askHost},
	{"telinit", askHost},
	{"umount", askNamespaces},
}

// RefuseLauncher says why a binary, a name or a path, is never started; it is empty
// for any other. The names help the author of a declaration and are no
// boundary: what holds a child is its confinement, by whatever name a program
// goes.
func RefuseLauncher(binary string) (why string) {
	name := filepath.Base(binary)
	i, found := slices.BinarySearchFunc(launchers[:], name, func(l launcherRule, name string) int {
		return strings.Compare(l.name, name)
	})
	if !found {
		return ""
	}
	return launchers[i].why
}
