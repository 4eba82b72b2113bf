package app

import "github.com/sallyport/sallyport"

// ListedResource is a resource with the ID of the tool that reads it, as
// `tools --form resource --json` prints it.
type ListedResource struct {
	// ID names the tool.
	ID string `json:"id"`
	sallyport.Resource
}

// ListResources lists the resources that the caller sees, each with its reader. It
// leaves out a resource that two tools of the caller list, because the gate
// offers none of these.
func (rt *Runtime) ListResources(caller *sallyport.Caller) []ListedResource {
	readers := map[[2]string]string{}
	for _, t := range rt.InForce().Registry.Tools() {
		if t.Form != sallyport.FormResource || !rt.isOffered(caller, t.ID()) {
			continue
		}
		for i := range t.Resources {
			readers[[2]string{t.Resources[i].URI, t.Resources[i].Template}] = t.ID()
		}
	}
	lines := []ListedResource{}
	for _, res := range rt.InForce().Registry.Resources(caller) {
		lines = append(lines, ListedResource{readers[[2]string{res.URI, res.Template}], res})
	}
	return lines
}

// isOffered reports whether the gate offers a tool to a caller.
func (rt *Runtime) isOffered(caller *sallyport.Caller, id string) bool {
	// An error in computing the grant does not hide the tool.
	x, _ := rt.InForce().Registry.Explain(caller, id)
	for _, d := range x.Decisions {
		switch d.Step {
		case sallyport.StepFind, sallyport.StepVisible, sallyport.StepReady:
			if !d.Allowed {
				return false
			}
		}
	}
	return true
}
