package survey

import (
	"strings"

	"github.com/sallyport/sallyport/scoped"
)

// marks are the names by which git knows the directory of a repository.
type marks struct{ head, objects, refs, common bool }

func (m *marks) note(name string) {
	switch len(name) {
	case len("HEAD"): // and refs
		m.head = m.head || strings.EqualFold(name, "HEAD")
		m.refs = m.refs || strings.EqualFold(name, "refs")
	case len("objects"):
		m.objects = m.objects || strings.EqualFold(name, "objects")
	case len("commondir"):
		m.common = m.common || strings.EqualFold(name, "commondir")
	}
}

func (m *marks) repository() bool {
	return scoped.GitDirectory(func(name string) bool {
		switch name {
		case "HEAD":
			return m.head
		case "objects":
			return m.objects
		case "refs":
			return m.refs
		case "commondir":
			return m.common
		default:
			return false
		}
	})
}
