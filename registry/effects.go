package registry

import (
	"strings"

	"github.com/sallyport/sallyport"
)

// does returns what a call of the tool does beside its answer: what the role says of it,
// or else the tool.
func (c *call) does() []sallyport.Effect { return c.plan().does }

// destinations returns which arguments say where something goes: what the role says of
// them, or else the tool.
func (c *call) destinations() map[string]sallyport.ValueKind { return c.plan().kinds }

// kindOf returns what the value at a path of the arguments names, when it says where
// something goes; else it is empty. What is within a destination is one.
func (c *call) kindOf(path string) sallyport.ValueKind { return kindAt(c.destinations(), path) }

func kindAt(kinds map[string]sallyport.ValueKind, path string) sallyport.ValueKind {
	for len(kinds) > 0 {
		if kind := kinds[path]; kind != "" {
			return kind
		}
		above := strings.LastIndexByte(path, '.')
		if above < 0 {
			break
		}
		path = path[:above]
	}
	return ""
}
