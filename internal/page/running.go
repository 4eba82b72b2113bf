package page

import (
	"net/http"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/output"
)

// runningBody is what the page of the running calls shows. Its texts are clean.
type runningBody struct {
	Runs []runRow
	More int
}

// runRow is a call that runs, or something that a call has left running.
type runRow struct {
	Call, What, Tool, Who, Role, Session, Says string
	Percent                                    *float64
	Since                                      time.Time
	For                                        string
}

// showRunning shows what runs, what began first at the top.
func (s *Site) showRunning(w http.ResponseWriter, r *http.Request) {
	var b runningBody
	now := time.Now()
	list := s.rt.Running().List()
	b.More = max(len(list)-perPage, 0)
	for i := range list[:len(list)-b.More] {
		b.Runs = append(b.Runs, runRow{
			Call: list[i].CallID, What: cleanText(list[i].What), Tool: cleanText(list[i].Tool), Who: cleanText(list[i].Principal.Name), Role: cleanText(list[i].Personality),
			Session: cleanText(list[i].Session), Says: cleanText(list[i].Says.Message), Percent: list[i].Says.Percent, Since: list[i].Since, For: spanOf(now.Sub(list[i].Since)),
		})
	}
	s.showPart(w, r, http.StatusOK, "running", frame{Title: "Running", Body: &b})
}

// takeStop ends a running call and what it has left running.
func (s *Site) takeStop(w http.ResponseWriter, r *http.Request) {
	p, _ := auth.PrincipalFrom(r.Context())
	id, reason := r.PostForm.Get("call"), r.PostForm.Get("reason")
	if len(reason) > sallyport.MaxApprovalReason {
		s.refuseRequest(w, r, http.StatusBadRequest, "The reason is too long.")
		return
	}
	why := "stopped by " + p.Name
	if reason != "" {
		why += ": " + string(output.Plain().Text(reason))
	}
	if s.rt.Running().EndCall(id, why) == 0 {
		s.refuseRequest(w, r, http.StatusConflict, "This call does not run any more.")
		return
	}
	e := app.ChangeEvent(audit.ActionEnd, "call "+id, reason)
	e.Principal, e.CallID = p.Name, id
	if err := s.rt.RecordDone(r.Context(), e, ""); err != nil {
		s.rt.Logger.Error("a stop at the page is not recorded", "error", err)
	}
	http.Redirect(w, r, "/page/running", http.StatusSeeOther)
}
