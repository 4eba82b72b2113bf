package scopedtest

import (
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

func (r *Record) declaredItems() []Touch {
	var list []Touch
	declared := &r.declared
	for _, g := range group.All() {
		for _, r := range g.Reaches {
			if !r.Accessed {
				continue
			}
			for _, item := range r.Declared(declared) {
				if item == group.FromPersonality {
					item = workspaceVariable
				}
				list = append(list, Touch{Capability: r.Name, Item: item})
			}
		}
	}
	return list
}

func (r *Record) coversTouch(declared, t Touch) bool {
	if declared.Capability != t.Capability {
		return false
	}
	if declared.Item == "*" || declared.Item == t.Item {
		return true
	}
	switch t.Capability {
	case "network":
		p, err := reach.ParseHosts([]string{declared.Item})
		if err != nil {
			return false
		}
		host, port := splitItem(t.Item)
		return reach.NewHosts(p).Match(host, port)
	case "secrets":
		return reach.MatchRef([]string{declared.Item}, t.Item)
	case "fs_reach.read", "fs_reach.write":
		return reach.Within(r.expandItem(declared.Item), r.expandItem(t.Item))
	case "mail":
		domain, ok := strings.CutPrefix(declared.Item, "*")
		return ok && strings.HasSuffix(strings.ToLower(t.Item), strings.ToLower(domain))
	default:
		return false
	}
}

// recordTouch records one thing and passes the error of the access on.
func (r *Record) recordTouch(capability, item string, err error) error {
	refused := errors.Is(err, sallyport.ErrHostNotAllowed) || errors.Is(err, sallyport.ErrSecretNotDeclared) ||
		errors.Is(err, sallyport.ErrPathNotReachable) || errors.Is(err, sallyport.ErrBinaryNotAllowed) ||
		errors.Is(err, sallyport.ErrNotAvailable)
	r.runLocked(func() { r.touched = append(r.touched, Touch{capability, item, refused}) })
	return err
}

const workspaceVariable = "${workspace}"

// itemOf returns a path so that it is the same in every run.
func (r *Record) itemOf(abs string) string {
	if rel, err := filepath.Rel(r.workspace, abs); err == nil && filepath.IsLocal(rel) {
		if rel == "." {
			return workspaceVariable
		}
		return workspaceVariable + "/" + filepath.ToSlash(rel)
	}
	return abs
}

func (r *Record) expandItem(item string) string {
	if rest, ok := strings.CutPrefix(item, workspaceVariable); ok {
		return filepath.Join(r.workspace, rest)
	}
	return item
}

// hostItem names a host, with its port when that is no standard one.
func hostItem(host string, port uint16) string {
	if port == 80 || port == 443 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// splitItem is the inverse of hostItem.
func splitItem(item string) (string, uint16) {
	host, port, err := reach.SplitHostPort(item)
	if err != nil {
		return item, 443
	}
	if port == 0 {
		port = 443
	}
	return host, port
}
