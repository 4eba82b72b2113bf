package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/signin"
)

// healthBody is what the page of principals and health shows. Its texts are clean.
type healthBody struct {
	People     []signin.SignIn
	Principals []principalRow
	Stopped    []stoppedRow
	Kinds      []string
	Head       string
	HeadAt     time.Time
	StateSize  string
	Config     string
	Enforced   []report.Enforcement
}

// principalRow is who may call.
type principalRow struct {
	Name, Source, Status, Expires, Permissions, Roles string
	Good                                              bool
}

// stoppedRow is a kill switch that is thrown.
type stoppedRow struct {
	Kind, Name, Reason string // as they were thrown: a form sends them back
	Shown              string
}

// switchKinds are what a person may stop.
var switchKinds = []auth.SwitchKind{auth.SwitchPrincipal, auth.SwitchSession, auth.SwitchTool, auth.SwitchServer, auth.SwitchEverything}

// showHealth shows who may call, what is stopped, and whether everything is well.
func (s *Site) showHealth(w http.ResponseWriter, r *http.Request) {
	b, err := s.describeHealth(r.Context())
	if err != nil {
		s.rt.Logger.Error("the page cannot read the state", "error", err)
		s.refuseRequest(w, r, http.StatusServiceUnavailable, "The state cannot be read now.")
		return
	}
	s.showPart(w, r, http.StatusOK, "health", frame{Title: "Health", Body: b})
}

func (s *Site) describeHealth(ctx context.Context) (*healthBody, error) {
	b := &healthBody{Enforced: report.DescribeEnforcement(s.rt)}
	for _, k := range switchKinds {
		b.Kinds = append(b.Kinds, string(k))
	}
	entries, err := s.rt.Callers.Entries(ctx)
	if err != nil {
		return nil, err
	}
	stopped, err := s.rt.Switches.All(ctx)
	if err != nil {
		return nil, err
	}
	if b.People, err = s.book.List(ctx); err != nil {
		return nil, err
	}
	for _, p := range report.DescribePrincipals(entries, stopped, time.Now()) {
		roles := "any"
		if p.Personalities != nil {
			roles = cmp.Or(strings.Join(p.Personalities, ", "), "none")
		}
		b.Principals = append(b.Principals, principalRow{
			Name: cleanText(p.Name), Source: p.Source, Status: p.Status, Expires: p.Expires, Permissions: cleanText(cmp.Or(strings.Join(p.Permissions, ", "), "none")), Roles: cleanText(roles),
			Good: p.Status == "active",
		})
	}
	for i := range stopped {
		b.Stopped = append(b.Stopped, stoppedRow{string(stopped[i].Kind), stopped[i].Name, stopped[i].Reason, cleanText(stopped[i].String())})
	}
	head, err := audit.Newest(ctx, s.rt.State)
	if err != nil {
		return nil, err
	}
	b.Head = head.String()
	if path := s.live.InForce().Config.State.Path; path != "" {
		b.Config = cleanText(path)
		if st, err := os.Stat(path); err == nil {
			b.StateSize = fmt.Sprintf("%.1f MiB", float64(st.Size())/(1<<20))
		}
	}
	return b, nil
}

// takeSwitch throws a kill switch, or releases one.
func (s *Site) takeSwitch(w http.ResponseWriter, r *http.Request) {
	p, _ := auth.PrincipalFrom(r.Context())
	kind, name, reason := auth.SwitchKind(r.PostForm.Get("kind")), r.PostForm.Get("name"), r.PostForm.Get("reason")
	if kind == auth.SwitchEverything {
		name = auth.Everything
	}
	var err error
	switch r.PostForm.Get("do") {
	case "stop":
		if !slices.Contains(switchKinds, kind) {
			s.refuseRequest(w, r, http.StatusBadRequest, "This cannot be stopped.")
			return
		}
		err = s.rt.StopAs(r.Context(), p.Name, kind, name, reason)
	case "start":
		err = s.rt.StartAs(r.Context(), p.Name, kind, name)
	default:
		s.refuseRequest(w, r, http.StatusBadRequest, "Expected stop or start.")
		return
	}
	if err != nil {
		s.refuseRequest(w, r, http.StatusConflict, err.Error())
		return
	}
	http.Redirect(w, r, "/page/health", http.StatusSeeOther)
}
