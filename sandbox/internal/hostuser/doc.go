// Package hostuser gives a child of root a user of the host's own, and shows it
// root's files as if they were that user's.
//
// What the kernel counts for a user (epoll watches, inotify, queued signals,
// processes) a child then takes from a number that no program of the host has,
// and what only root may read of the system stays closed to it. Start with
// [Open], take an [User] with [Pool.Acquire], and make mounts for it with
// [Clone].
package hostuser
