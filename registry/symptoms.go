package registry

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/symptom"
	"github.com/sallyport/sallyport/internal/text"
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
	said := c.result.Error + "\n" + c.result.Value
	if found := symptom.Find(said); len(found) > 0 {
		c.probeSymptoms(ctx, found)
	}
	if s, ok := symptom.FindUnnamed(said); ok && !c.hasAccessRefusal() {
		c.noteUnnamed(&s)
	}
}

// probeSymptoms puts symptoms to accessors.
func (c *call) probeSymptoms(ctx context.Context, found []symptom.Symptom) {
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
		q.notePath("write", &s, said)
	case symptom.Missing:
		// Many programs word a missing program like a missing file.
		if file, err := exec.LookPath(s.Name); err == nil && !strings.Contains(s.Name, "/") && !isThere(q.placeOf(s.Name)) {
			q.noteProgram(s.Name, file, said)
			return
		}
		q.notePath("read", &s, said)
	case symptom.Denied:
		if !q.notePath("read", &s, said) {
			q.notePath("write", &s, said)
		}
	case symptom.Host:
		q.noteHosts(s.Name, said)
	case symptom.Program:
		file, _ := exec.LookPath(s.Name)
		q.noteProgram(s.Name, file, said)
	case symptom.Socket:
		q.noteNoNetwork(said)
	}
}

// noteProgram notes a program that is not in the folders in which children look. The
// file is where the gate finds it; empty where it does not.
func (q *symptomProbe) noteProgram(name, file, said string) {
	d := sallyport.Decision{
		Step: sallyport.StepAccess, Capability: group.Process, Resource: name, Source: "this machine",
		Why: said + ": " + name + " is not in the program folders of this machine that children see",
		Fix: "install " + name + " into /usr/local/bin or /usr/bin",
	}
	if file != "" {
		d.Why += "; it is at " + file
		if root, ok := strings.CutSuffix(filepath.Dir(file), "/bin"); ok && root != "" {
			d.Fix += ", or list " + root + " in sandbox.toolchains, with the other toolchains that children need"
		}
	}
	q.addDecision(d)
}

// noteNoNetwork notes that a child without a granted host has no network.
func (q *symptomProbe) noteNoNetwork(said string) {
	if len(q.grant.Network.Allow)+len(q.grant.Network.Private) > 0 {
		return
	}
	d := q.explainRefusal(sallyport.Decision{Step: sallyport.StepAccess, Capability: group.Network, Resource: "HOST"})
	for _, lost := range q.grant.Dropped {
		if lost.Capability == group.Network && lost.Item != "*" {
			d.Source, d.Fix = lost.Source, lost.Fix
			break
		}
	}
	d.Resource, d.Why = "", said+": it is granted no host, so it has no network"
	q.trail.addDecision(d)
}

// notePath notes what the accessor says about a path, and reports whether it
// refuses.
func (q *symptomProbe) notePath(operation string, s *symptom.Symptom, said string) bool {
	path := q.placeOf(s.Name)
	capability := group.Files + "." + operation
	q.refused = nil
	err := scoped.Probe(q.bound, capability, path)
	switch {
	case err == nil && operation == "write":
		return q.noteNotCreated(path, said, s.Folder)
	case err == nil:
		return false
	case q.refused != nil:
		d := *q.refused
		d.Why = said + ": " + d.Why
		q.trail.addDecision(q.nameMissingFile(operation, path, s.Folder, d))
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

// placeOf returns the path that a child means by a name.
func (q *symptomProbe) placeOf(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	folder := q.workspace()
	if cwd, _ := q.doc.Value["cwd"].(string); cwd != "" {
		folder = cwd
		if !filepath.IsAbs(cwd) {
			folder = filepath.Join(q.workspace(), cwd)
		}
	}
	return filepath.Join(folder, name)
}

// nameMissingFile has the fix of a refused write say what a grant of the file
// alone would not allow, as long as the file is not there.
func (q *symptomProbe) nameMissingFile(operation, path string, folder bool, d sallyport.Decision) sallyport.Decision {
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
	case folder && !isThere(path):
		d.Fix += ", and make the folder first, since a child can create only a file there: mkdir -p " + text.ShellWord(path)
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

// isThere reports whether there is anything at a path.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// noteNotCreated notes a granted path that is not there and that no child can
// create: not at all, or not as a folder.
func (q *symptomProbe) noteNotCreated(path, said string, folder bool) bool {
	d := q.checkCreation(path)
	if d == nil && folder && slices.Contains(q.grant.FS.Write, path) && !isThere(path) {
		d = &sallyport.Decision{
			Step: sallyport.StepAccess, Capability: group.Files + ".write", Resource: path, Source: q.role.sourceOf("fs_reach.write"),
			Why: path + " is granted and does not exist, and a child can create only a file there", Fix: "mkdir -p " + text.ShellWord(path),
		}
	}
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

// noteHosts notes a host that a child named. Of a child that named none, as those in
// Python do, the addresses in the arguments are asked about.
func (q *symptomProbe) noteHosts(name, said string) {
	if name != "" {
		q.noteHost(name, said)
		return
	}
	hosts := symptom.HostsIn(string(q.doc.Canonical()))
	for _, host := range hosts {
		q.noteHost(host, said)
	}
	if len(hosts) == 0 {
		q.noteNoNetwork(said)
	}
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
