package scoped

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
)

// endGrace is how long a child that may not run any more has to end by itself.
const endGrace = 500 * time.Millisecond

// followedChild is a child that outlives its call, and ends when its caller may not
// go on.
type followedChild struct {
	sallyport.Child
	why atomic.Pointer[error]
	// words is its command.
	words []string
}

// followChild ends a child when its caller may not go on.
func followChild(
	child sallyport.Child, outlive func(string, bool, func(error), func(sallyport.NetworkGrant) bool) func(), words []string, shared bool,
) *followedChild {
	f := &followedChild{Child: child, words: words}
	over := outlive("process "+words[0], shared, func(why error) {
		f.why.Store(&why)
		child.Stop(endGrace)
	}, func(g sallyport.NetworkGrant) bool { return narrowChild(child, g) })
	go func() {
		<-child.Done()
		over()
	}()
	return f
}

// Wait waits for the end. That the gate brought it about is an error.
func (f *followedChild) Wait() (sallyport.ProcessResult, error) {
	res, err := f.Child.Wait()
	if why := f.why.Load(); why != nil {
		err = errors.Join(&sallyport.Error{
			Code: sallyport.CodePermissionDenied, Operation: "run", Detail: (*why).Error(), Err: *why,
		}, err)
	}
	return res, err
}

// IsEnding reports whether the gate has told the child to end.
func (f *followedChild) IsEnding() bool { return f.why.Load() != nil }

// Exchanged is [sallyport.Placed].
func (f *followedChild) Exchanged() string {
	if p, ok := f.Child.(sallyport.Placed); ok {
		return p.Exchanged()
	}
	return ""
}

// Level is the confinement of the child, [sallyport.LevelNone] where it does not tell.
func (f *followedChild) Level() sallyport.Level {
	if c, ok := f.Child.(interface{ Level() sallyport.Level }); ok {
		return c.Level()
	}
	return sallyport.LevelNone
}

// RefusedHosts returns the hosts that the child was refused since its start; none where it
// does not tell.
func (f *followedChild) RefusedHosts() []sallyport.HostUse {
	if c, ok := f.Child.(hostReporter); ok {
		return c.RefusedHosts()
	}
	return nil
}

// narrowChild removes hosts from what a child may reach, if that can be done.
func narrowChild(child sallyport.Child, g sallyport.NetworkGrant) bool {
	n, ok := child.(sallyport.Narrower)
	return ok && n.Narrow(g)
}

// childSet is the set of running children of the calls of a scope.
type childSet struct {
	mu     sync.Mutex
	all    map[sallyport.Child]struct{}
	narrow *sallyport.NetworkGrant // what the scope was narrowed to; nil when it was not
}

// addChild counts a child in until forget. One that was begun before the scope
// was narrowed is narrowed now, or ends.
func (f *childSet) addChild(child sallyport.Child) (forget func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[sallyport.Child]struct{}{}
	}
	f.all[child] = struct{}{}
	if f.narrow != nil && !narrowChild(child, *f.narrow) {
		go child.Stop(endGrace)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.all, child)
	}
}

// Narrow takes from the calls that run under the scope, and from their children,
// the hosts that a grant does not hold, and cuts what is open to them. It reports
// false when a child cannot be held to that.
func (s *Scope) Narrow(g sallyport.NetworkGrant) bool {
	held := s.network == nil || s.network.narrowClient(g)
	s.running.mu.Lock()
	defer s.running.mu.Unlock()
	s.running.narrow = &g
	for child := range s.running.all {
		held = narrowChild(child, g) && held
	}
	return held
}

func (n *networkReach) narrowClient(g sallyport.NetworkGrant) bool {
	client := n.openClient()
	if client == nil {
		return true // it refuses everything
	}
	_, err := client.Narrow(g)
	return err == nil
}
