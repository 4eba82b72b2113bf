package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sallyport/sallyport"
)

// againPause is how long an upstream server that did not answer, or that has
// something held back, is left alone before it is asked again: doubled each
// time, up to longestAgain.
const againPause, longestAgain = time.Minute, 32 * time.Minute

// grantsOf says what the grant of a server depends on in a role, beside its
// declaration: the ceilings of the role, and whatever else is not known to have
// nothing to do with them.
func grantsOf(roles sallyport.Personalities) func(server, role string) string {
	return func(_, role string) string {
		p, ok := roles.Personality(role)
		if !ok {
			return ""
		}
		ceiling := *p
		ceiling.Description, ceiling.Sources = "", nil
		ceiling.Toolset, ceiling.MCPServers, ceiling.Plugins = nil, nil, nil
		ceiling.Approvals, ceiling.Flow = nil, sallyport.Flow{}
		text, err := json.Marshal(ceiling)
		if err != nil {
			return ""
		}
		return string(text)
	}
}

// again asks the servers of a turn in force that did not answer, and registers
// the tools of those that do now; it asks those again that have something held
// back, which may be whole again. It returns what to tell the operator.
func (t *turn) again(ctx context.Context, role string) (news []string) {
	s := &t.servers
	if s.mounts == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, discoverWait)
	defer cancel()
	held := map[string]bool{}
	for _, l := range s.mounts.Quarantined() {
		held[l.Server] = held[l.Server] || !l.New
	}
	for i, f := range s.found {
		silent := f.role != "" && f.why != ""
		if !silent && !held[f.Name] || s.pins.of[f.Name].why != "" || time.Since(f.again) < f.pause {
			continue
		}
		f.again, f.pause = time.Now(), min(max(againPause, 2*f.pause), longestAgain)
		now := &foundServer{Server: f.Server, part: f.part}
		if t.ask(ctx, now, role); !silent || now.why != "" {
			continue
		}
		s.found[i] = now
		t.registerFound(func(server string) bool { return server == f.Name })
		news = append(news, fmt.Sprintf("the MCP server %s answers now: %d tools", f.Name, len(now.tools)))
	}
	return news
}

// again asks the servers of the turn in force again, in the background: who
// waits for a server must not wait for a changed configuration.
func (f *follower) again(ctx context.Context) {
	if !f.asking.CompareAndSwap(false, true) {
		return
	}
	t := f.live.enter()
	f.old.Go(func() {
		defer f.asking.Store(false)
		defer f.live.leave(t)
		news := t.again(ctx, f.role)
		for _, n := range news {
			fmt.Fprintf(f.env.stderr, "sallyport: %s\n", n)
		}
		if len(news) > 0 {
			f.live.listChanged()
		}
	})
}
