package metrics

import (
	"strconv"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
)

const (
	// maxServerTools bounds the labels of the tools of one mounted server, which may
	// offer as many as it wants.
	maxServerTools = 50
	// maxTools bounds all others, and maxServers the servers that have labels.
	maxTools, maxServers = 300, 100
	// maxToolBytes bounds a label.
	maxToolBytes = 128
	// otherTools is the label of every name that is no tool, and of those beyond a
	// bound.
	otherTools = "other"
)

// toolNames gives each tool a label, within bounds. It is safe for concurrent use.
type toolNames struct {
	mu     sync.RWMutex
	labels map[string]string
	counts map[string]int // labels by server; "" for all other tools
}

func newToolNames() *toolNames {
	return &toolNames{labels: map[string]string{}, counts: map[string]int{}}
}

// labelTool returns the label of a name that was called. A name that is no tool takes no
// memory: a later tool of that name still gets a label of its own.
func (t *toolNames) labelTool(name string, isTool bool) string {
	if len(name) > maxToolBytes || !isTool {
		return otherTools
	}
	t.mu.RLock()
	label, ok := t.labels[name]
	t.mu.RUnlock()
	if ok {
		return label
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	server, most := "", maxTools
	if rest, mounted := strings.CutPrefix(name, "mcp__"); mounted {
		server, _, _ = strings.Cut(rest, "__")
		most = maxServerTools
		if _, counted := t.counts[server]; !counted && len(t.counts) > maxServers {
			return otherTools
		}
	}
	if t.counts[server] >= most {
		if server == "" {
			return otherTools
		}
		return "mcp__" + server + "__" + otherTools
	}
	t.counts[server]++
	t.labels[name] = name
	return name
}

// surfaceLabel returns the label of a surface.
func surfaceLabel(p sallyport.Platform) string {
	if len(p) > maxToolBytes {
		return otherTools
	}
	return string(p)
}

// methodLabel returns the label of a method; a client may send any.
func methodLabel(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return method
	}
	return otherTools
}

// statusLabel returns the label of a status.
func statusLabel(status int) string {
	if status < 100 || status > 599 {
		return otherTools
	}
	return strconv.Itoa(status)
}
