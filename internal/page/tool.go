package page

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/app/granting"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

// toolBody is what the page of a tool in a role shows. Its texts are clean.
type toolBody struct {
	Tool, Role, Explained string
	Suggest               string
	Asked                 change
	Kinds                 []string
}

// change is a change of a role that a person asks about, and what it would do. Its texts
// are clean.
type change struct {
	Verb, Kind, Item    string
	Difference, Command string
	Warnings            []string
	Fault               string
}

// changeKinds are what a change may be about, as the flags of grant call it.
var changeKinds = []string{"read", "write", "host", "private", "secret", "bin"}

// planWait bounds how long the page looks for what a change would do.
const planWait = 20 * time.Second

// planChange says what a change of a role would do to the files, and writes nothing.
func (s *Site) planChange(ctx context.Context, role, verb, kind, item string) change {
	c := change{Verb: verb, Kind: kind, Item: item}
	if item == "" {
		return c
	}
	r := &granting.Request{Target: "role:" + role, Revoke: verb == "revoke"}
	lists := map[string]*[]string{"read": &r.Read, "write": &r.Write, "host": &r.Hosts, "private": &r.Private, "secret": &r.Secrets, "bin": &r.Binaries}
	list := lists[kind]
	if list == nil {
		c.Fault = "Expected read, write, host, private, secret or bin."
		return c
	}
	if (kind == "read" || kind == "write") && !filepath.IsAbs(item) && !strings.HasPrefix(item, "${") {
		c.Fault = "Expected an absolute path, or one that begins with ${workspace} or ${home}."
		return c
	}
	*list = []string{item}
	if !s.planning.TryLock() { // each loads the configuration
		c.Fault = "Another change is being looked at: try again."
		return c
	}
	defer s.planning.Unlock()
	ctx, cancel := context.WithTimeout(ctx, planWait)
	defer cancel()
	plan, err := granting.NewPlan(ctx, s.rt, s.rt.ConfigFiles, r)
	switch {
	case err != nil:
		c.Fault = cleanText(err.Error())
	case plan.Empty():
		c.Fault = "Nothing would change."
	default:
		c.Difference, c.Command = cleanLines(plan.Difference), cleanLines(s.rt.CommandLine(strings.TrimPrefix(r.Command(r.Target), "sallyport ")))
		for _, w := range plan.Warnings {
			c.Warnings = append(c.Warnings, cleanText(w))
		}
	}
	return c
}

// showTool shows what a tool gets in a role, and the command that proposes less.
func (s *Site) showTool(w http.ResponseWriter, r *http.Request) {
	role, tool := r.PathValue("role"), r.PathValue("tool")
	if !slices.Contains(s.live.InForce().Config.Names(), role) {
		s.refuseRequest(w, r, http.StatusNotFound, "There is no such role.")
		return
	}
	x, err := s.live.Explain(s.callerIn(role), tool)
	if err != nil {
		s.refuseRequest(w, r, http.StatusNotFound, "This cannot be explained: "+err.Error())
		return
	}
	var said strings.Builder
	p := &report.Printer{W: &said, Trim: s.rt.TrimCommands}
	if err := report.PrintExplanation(p, &report.Explanation{Explanation: x}); err != nil {
		s.refuseRequest(w, r, http.StatusInternalServerError, "This cannot be explained.")
		return
	}
	q := r.URL.Query()
	s.showPart(w, r, http.StatusOK, "tool", frame{Title: "Tool", Body: &toolBody{
		Kinds: changeKinds, Asked: s.planChange(r.Context(), role, q.Get("verb"), q.Get("kind"), q.Get("item")),
		Tool: cleanText(tool), Role: cleanText(role), Explained: cleanLines(said.String()),
		Suggest: s.rt.CommandLine("suggest --role " + text.ShellWord(role) + " --since 30d"),
	}})
}
