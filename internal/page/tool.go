package page

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

// toolBody is what the page of a tool in a role shows. Its texts are clean.
type toolBody struct {
	Tool, Role, Explained string
	Suggest               string
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
	s.showPart(w, r, http.StatusOK, "tool", frame{Title: "Tool", Body: &toolBody{
		Tool: cleanText(tool), Role: cleanText(role), Explained: cleanLines(said.String()),
		Suggest: s.rt.CommandLine("suggest --role " + text.ShellWord(role) + " --since 30d"),
	}})
}
