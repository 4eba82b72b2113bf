package app

import (
	"context"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/registry"
)

// ReachQuestion asks whether a tool reaches a host or a path. An empty text asks
// nothing.
type ReachQuestion struct {
	// Host is a host, or host:port.
	Host string
	// Path is a path.
	Path string
	// Write asks only whether the tool may write at the path. Otherwise the question is
	// about what the tool declares: reading, writing, or both.
	Write bool
}

// AnswerReach answers a question about a tool that was explained.
func (rt *Runtime) AnswerReach(ctx context.Context, caller *sallyport.Caller, x *registry.Explanation, q *ReachQuestion) ([]sallyport.Decision, error) {
	var answers []sallyport.Decision
	if q.Host != "" {
		host, port, err := reach.SplitHostPort(q.Host)
		if err != nil {
			return nil, fmt.Errorf("--host: %w", err)
		}
		answers = append(answers, askHost(x, host, port))
	}
	if q.Path != "" {
		operations := q.listOperations(&x.Declared)
		for _, operation := range operations {
			d := rt.InForce().Registry.Path(ctx, caller, x.Tool, operation, q.Path)
			if d.Allowed && len(operations) > 1 {
				d.Why = map[string]string{"read": "it may be read", "write": "it may be written"}[operation]
			}
			answers = append(answers, d)
		}
	}
	return answers, nil
}

// listOperations returns what the question about a path is about.
func (q *ReachQuestion) listOperations(declared *sallyport.Capabilities) (list []string) {
	for _, operation := range []string{"read", "write"} {
		r, ok := group.FindReach(group.Files + "." + operation)
		if ok && len(r.Declared(declared)) > 0 && (!q.Write || operation == "write") {
			list = append(list, operation)
		}
	}
	if len(list) == 0 && q.Write {
		return []string{"write"}
	}
	if len(list) == 0 {
		return []string{"read"}
	}
	return list
}

// askHost answers the question about a host and a port. A host without a port
// means both default ports: the host is reachable when one of them is.
func askHost(x *registry.Explanation, host string, port uint16) sallyport.Decision {
	if port != 0 {
		return x.Host(host, port)
	}
	d := x.Host(host, 443)
	if plain := x.Host(host, 80); !d.Allowed && plain.Allowed {
		plain.Why = "at port 80 only"
		return plain
	}
	return d
}
