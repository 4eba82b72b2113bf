package scoped

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
)

// endGrace is how long a child that may not run any more has to end by itself.
const endGrace = 500 * time.Millisecond

// followed is a child that outlives its call, and ends when its caller may not
// go on.
type followed struct {
	sallyport.Child
	why atomic.Pointer[error]
}

// follow has a child ended with what its caller may do.
func follow(
	child sallyport.Child, outlive func(string, bool, func(error), func(sallyport.NetworkGrant) bool) func(), what string, shared bool,
) *followed {
	f := &followed{Child: child}
	over := outlive(what, shared, func(why error) {
		f.why.Store(&why)
		child.Stop(endGrace)
	}, func(g sallyport.NetworkGrant) bool { return narrow(child, g) })
	go func() {
		<-child.Done()
		over()
	}()
	return f
}

// Wait waits for the end. That the gate brought it about is an error.
func (f *followed) Wait() (sallyport.ProcessResult, error) {
	res, err := f.Child.Wait()
	if why := f.why.Load(); why != nil {
		err = errors.Join(&sallyport.Error{
			Code: sallyport.CodePermissionDenied, Operation: "run", Detail: (*why).Error(), Err: *why,
		}, err)
	}
	return res, err
}

// Exchanged is [sallyport.Placed].
func (f *followed) Exchanged() string {
	if p, ok := f.Child.(sallyport.Placed); ok {
		return p.Exchanged()
	}
	return ""
}

// narrow takes hosts from a child, if that can be done.
func narrow(child sallyport.Child, g sallyport.NetworkGrant) bool {
	n, ok := child.(sallyport.Narrower)
	return ok && n.Narrow(g)
}
