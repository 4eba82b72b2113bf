package registry

import (
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// Headers returns the arguments of a tool that clients repeat in headers of
// HTTP: none for what is no tool, and for one that the caller does not see,
// which the call itself refuses. They are shared: read only.
func (r *Registry) Headers(caller *sallyport.Caller, tool string) []schema.Header {
	e := r.findEntry(tool)
	if e == nil || e.tool.Form != sallyport.FormTool || len(e.args.Headers()) == 0 {
		return nil
	}
	if !mayAssumeRole(&caller.Principal, caller.Personality) || !r.roleFor(caller.Personality).decideVisible(&e.tool, caller.Exclude).Allowed {
		return nil
	}
	return e.args.Headers()
}
