// Package overlay gives a child a private copy of what it may write, and
// carries over afterwards what may be.
//
// Start with [New]. The builder of the child's tree makes the directories, in
// memory of a bounded size, mounts each of [Overlay.Mounts] with overlayfs and
// the option userxattr, in the child's user namespace, and hands the folder
// over to [Overlay.Attach]. When the child and all its descendants are gone,
// [Overlay.Diff] tells what it wrote, [Overlay.Commit] carries it over, and
// [Overlay.Discard] lets go of the memory.
//
// # What a commit promises
//
// Each file appears whole or not at all: it is written beside its place, synced
// and renamed. A commit as a whole is not atomic: when the runtime dies in the
// middle, some files are new and the others old, and files or directories
// named .sallyport-*.tmp may be left. Nothing on the always-deny floor is
// written, and nothing that the host changed since the start is overwritten or
// removed: such a change is reported with the code STALE_WRITE. That holds to
// the last moment: what a change replaces is moved away first, looked at, and
// removed when no program has it open for writing; else it gets its place back
// and a copy of what the child wrote is kept beside it. Names are
// looked up without following symbolic links, so one that is put in the place
// of a directory during the commit makes the commit of that file fail.
//
// Contents, permission bits, symbolic links, directories, removals and the
// modification time are carried over. Setuid, setgid and sticky bits, extended
// attributes and hard links between files are not; FIFOs, sockets and devices
// never.
//
// # How a change of the host is seen
//
// By the time of the last change of its inode (ctime), which no program
// without privileges can set. File systems take it from the clock's last tick,
// so New waits for the next tick, at most 10 ms: what was written before New
// is older than the start, and what is written after it is not. If the clock
// was set back since New, everything counts as changed. A server's clock may
// differ: a network file system as lower layer is judged by that clock.
//
// A file that the child wrote in place and the host removed is known by the
// mark of a copy that overlayfs leaves (user.overlay.origin), beside a change of
// the directory around it. One that the child replaced has no such mark: it is
// committed as a new file, which takes nothing from the host.
package overlay
