package registry

import (
	"fmt"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// lostItem names something that a grant had and its successor has not, hosts
// left aside; empty when there is nothing.
func lostItem(was, now *sallyport.Grant) string {
	for _, group := range []struct {
		name     string
		was, now []string
		meet     func(declared, allowed []string) (granted, dropped []string)
	}{
		{"fs_reach.read", was.FS.Read, now.FS.Read, reach.IntersectPaths},
		{"fs_reach.write", was.FS.Write, now.FS.Write, reach.IntersectPaths},
		{"process", was.Process.Binaries, now.Process.Binaries, reach.IntersectNames},
		{"process.execFrom", was.Process.ExecFrom, now.Process.ExecFrom, reach.IntersectPaths},
		{"process.programs", was.Process.Programs, now.Process.Programs, reach.IntersectPaths},
		{"secrets", was.Secrets, now.Secrets, reach.IntersectRefs},
	} {
		for _, item := range group.was {
			if granted, _ := group.meet([]string{item}, group.now); !slices.Contains(granted, item) {
				return fmt.Sprintf("%s %s is not granted any more", group.name, item)
			}
		}
	}
	return lostGroupItem(was, now)
}

// lostGroupItem is lostItem for groups that are no lists of resources.
func lostGroupItem(was, now *sallyport.Grant) string {
	gone := func(group, item string) string { return fmt.Sprintf("%s %s is not granted any more", group, item) }
	if was.FS.Mode != now.FS.Mode {
		return "writes reach the disk in another way"
	}
	if was.Storage != nil && (now.Storage == nil || *was.Storage != *now.Storage) {
		return gone("storage", string(was.Storage.Scope))
	}
	if was.Attachments != nil && now.Attachments == nil {
		return gone("attachments", "access")
	}
	if was.Database != nil {
		for _, name := range was.Database.Connections {
			if now.Database == nil || !slices.Contains(now.Database.Connections, name) || was.Database.Mode != now.Database.Mode {
				return gone("database", name)
			}
		}
	}
	if was.Mail != nil {
		for _, to := range was.Mail.To {
			if now.Mail == nil || now.Mail.Relay != was.Mail.Relay || !slices.Contains(now.Mail.To, to) {
				return gone("mail", to)
			}
		}
	}
	for _, kind := range was.Input {
		if !slices.Contains(now.Input, kind) {
			return gone("input", string(kind))
		}
	}
	return ""
}

// sameNetwork reports whether two grants let the same through.
func sameNetwork(a, b *sallyport.NetworkGrant) bool {
	return slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Deny, b.Deny) && a.AllowPrivate == b.AllowPrivate && a.ReadOnly == b.ReadOnly
}

// isNarrower reports whether the second grant lets less through than the
// first. What cannot be read does.
func isNarrower(was, now *sallyport.NetworkGrant) bool {
	before, err := reach.ParseHosts(was.Allow)
	allowed, bad := reach.ParseHosts(now.Allow)
	if err != nil || bad != nil || was.AllowPrivate && !now.AllowPrivate || !was.ReadOnly && now.ReadOnly {
		return true
	}
	set := reach.NewHosts(allowed)
	return slices.ContainsFunc(before, func(p reach.HostPattern) bool { return !set.Covers(p) }) ||
		slices.ContainsFunc(now.Deny, func(d string) bool { return !slices.Contains(was.Deny, d) })
}
