package registry

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/symptom"
	"github.com/sallyport/sallyport/internal/tray"
	"github.com/sallyport/sallyport/scoped"
)

// noteSymptoms tells the operator what the child of a failed call could not
// reach. A child meets the edge of its grant as an error of the system, such as
// EROFS, and says so in its own words: each path and host that it names is put to
// the accessors, and what they would refuse is noted with its rule and its fix.
// Nothing is decided here, and what the words are wrong about is left out.
func (c *call) noteSymptoms(ctx context.Context) {
	if len(c.grant.Process.Binaries) == 0 || !hasFailed(&c.result) {
		return
	}
	found := symptom.Find(c.result.Error + "\n" + c.result.Value)
	if len(found) == 0 {
		return
	}
	q := &symptomProbe{call: c}
	// A call of its own: the tool may still hold the other one.
	bound := c.out
	if _, err := c.scope.Bind(context.WithoutCancel(ctx), &bound, scoped.Turn{}, q.keepRefusal); err != nil {
		return
	}
	q.bound = &bound
	for _, s := range found {
		q.noteSymptom(s)
	}
}

// hasFailed reports whether a result tells of a failure: its own, or that of the
// program that it ran.
func hasFailed(res *sallyport.Result) bool {
	switch code := res.Structured["exitCode"].(type) {
	case int:
		return !res.OK || code != 0
	case float64:
		return !res.OK || code != 0
	}
	return !res.OK
}

// symptomProbe puts symptoms to the accessors of a call.
type symptomProbe struct {
	*call
	bound   *sallyport.Call
	refused *sallyport.Decision // by the accessor that was asked last
}

func (q *symptomProbe) keepRefusal(d sallyport.Decision) {
	if !d.Allowed {
		q.refused = &d
	}
}

// noteSymptom notes one symptom.
func (q *symptomProbe) noteSymptom(s symptom.Symptom) {
	said := "a child said " + `"` + s.Said + `"`
	switch s.Kind {
	case symptom.Write:
		q.notePath("write", s.Name, said)
	case symptom.Missing:
		q.notePath("read", s.Name, said)
	case symptom.Denied:
		if !q.notePath("read", s.Name, said) {
			q.notePath("write", s.Name, said)
		}
	case symptom.Host:
		q.noteHost(s.Name, said)
	case symptom.Program:
		q.addDecision(sallyport.Decision{
			Step: sallyport.StepAccess, Capability: group.Process, Resource: s.Name, Source: "this machine",
			Why: said + ": " + s.Name + " is not in the program folders of this machine that children see",
			Fix: "install " + s.Name + " into /usr/local/bin or /usr/bin, or grant the folder that holds it for reading",
		})
	case symptom.Socket:
		if len(q.grant.Network.Allow) == 0 {
			q.addDecision(sallyport.Decision{
				Step: sallyport.StepAccess, Capability: group.Network, Why: said + ": it is granted no host, so it has no network",
				Fix: "declare the hosts that it needs in the tool's capabilities.network.allowedHosts",
			})
		}
	}
}

// notePath notes what the accessor says about a path, and reports whether it
// refuses.
func (q *symptomProbe) notePath(operation, name, said string) bool {
	path := name
	if !filepath.IsAbs(path) {
		folder := q.workspace()
		if cwd, _ := q.doc.Value["cwd"].(string); cwd != "" {
			folder = cwd
			if !filepath.IsAbs(cwd) {
				folder = filepath.Join(q.workspace(), cwd)
			}
		}
		path = filepath.Join(folder, name)
	}
	capability := group.Files + "." + operation
	q.refused = nil
	err := scoped.Probe(q.bound, capability, path)
	switch {
	case err == nil && operation == "write":
		return q.noteNotCreated(path, said)
	case err == nil:
		return false
	case q.refused != nil:
		d := *q.refused
		d.Why = said + ": " + d.Why
		q.trail.addDecision(q.nameMissingFile(operation, path, d))
	case isRefusal(err):
		q.addDecision(sallyport.Decision{
			Step: sallyport.StepAccess, Capability: capability, Resource: path, Why: said + ": " + err.Error(),
			Fix: "declare " + path + " in the tool's capabilities." + capability,
		})
	default:
		return false
	}
	return true
}

// nameMissingFile has the fix of a refused write say what a grant of the file
// alone would not allow, as long as the file is not there.
func (q *symptomProbe) nameMissingFile(operation, path string, d sallyport.Decision) sallyport.Decision {
	if d = q.explainRefusal(d); operation != "write" || d.Fix == "" {
		return d
	}
	g := q.grant.FS
	g.Write = append(slices.Clone(g.Write), path)
	f := tray.CheckPath(&g, q.level, path)
	beside := slices.IndexFunc(q.grant.FS.Write, func(w string) bool { return filepath.Dir(w) == filepath.Dir(path) && isFile(w) })
	switch {
	case f != nil:
		d.Fix += ", or rather its folder: " + f.Why
	case beside >= 0 && !isFile(path):
		// Programs write beside a file, and rename what they wrote.
		d.Fix += ", or rather its folder: nothing can be renamed over " + q.grant.FS.Write[beside] + ", which is granted by its own name"
	}
	return d
}

// isFile reports whether there is a file at a path.
func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// noteNotCreated notes a granted file that is not there and that no child can
// create.
func (q *symptomProbe) noteNotCreated(path, said string) bool {
	d := q.checkCreation(path)
	if d == nil {
		return false
	}
	d.Why = said + ": " + d.Why
	q.trail.addDecision(*d)
	return true
}

// isRefusal reports whether an accessor refused, and did not fail.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*sallyport.Error](err)
	return ok && e.Code.Scoped()
}

// noteHost notes what the accessor says about a host, with its port where the
// child named one.
func (q *symptomProbe) noteHost(name, said string) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		host, port = name, "443"
	}
	q.refused = nil
	if scoped.Probe(q.bound, group.Network, "https://"+net.JoinHostPort(host, port)+"/") == nil || q.refused == nil {
		return
	}
	d := *q.refused
	d.Why = said + ": " + d.Why
	if !q.knowsRefusal(&d) {
		q.addDecision(d)
	}
}

// knowsRefusal reports whether the trail already has a refusal of the same
// thing.
func (q *symptomProbe) knowsRefusal(d *sallyport.Decision) bool {
	for _, known := range q.trail.decisions() {
		if !known.Allowed && known.Capability == d.Capability && hostOnly(known.Resource) == hostOnly(d.Resource) {
			return true
		}
	}
	return false
}

// hostOnly returns a host without its port.
func hostOnly(resource string) string {
	if host, _, err := net.SplitHostPort(resource); err == nil {
		return host
	}
	return resource
}
