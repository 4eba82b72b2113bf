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
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/signin"
	"github.com/sallyport/sallyport/internal/text"
)

// healthBody is what the page of principals and health shows. Its texts are clean.
type healthBody struct {
	People     []personRow
	Principals []principalRow
	Stopped    []stoppedRow
	Kinds      []string
	Head       string
	HeadAt     time.Time
	StateSize  string
	Config     string
	Enforced   []report.Enforcement
	Limits     []limitRow
	Servers    []serverRow
	Running    int
	Verified   verification
}

// verification is what the last look at the chain of the record found.
type verification struct {
	At    time.Time
	Found string // empty before the first look
	Good  bool
	Fault string // why the last look came to no end; empty when it did
}

// limitRow is a tool with a limit of its own.
type limitRow struct{ Tool, Most string }

// personRow is who is signed in at the page.
type personRow struct {
	Name, Way string
	Expires   time.Time
}

// principalRow is who may call.
type principalRow struct {
	Name, Source, Status, Expires, Permissions, Roles, Spent string
	Good                                                     bool
	Over                                                     bool // the budget of the day is used up
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
	people, err := s.book.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range people {
		b.People = append(b.People, personRow{cleanText(people[i].Name), string(cmp.Or(people[i].Way, signin.WayLink)), people[i].Expires})
	}
	for _, p := range report.DescribePrincipals(entries, stopped, time.Now()) {
		roles := "any"
		if p.Personalities != nil {
			roles = cmp.Or(strings.Join(p.Personalities, ", "), "none")
		}
		spent, over, err := s.describeSpending(ctx, p.Name)
		if err != nil {
			return nil, err
		}
		b.Principals = append(b.Principals, principalRow{
			Spent: spent, Over: over,
			Name: cleanText(p.Name), Source: p.Source, Status: p.Status, Expires: p.Expires, Permissions: cleanText(cmp.Or(strings.Join(p.Permissions, ", "), "none")), Roles: cleanText(roles),
			Good: p.Status == "active",
		})
	}
	for i := range stopped {
		b.Stopped = append(b.Stopped, stoppedRow{string(stopped[i].Kind), stopped[i].Name, stopped[i].Reason, cleanText(stopped[i].String())})
	}
	deployed := s.live.InForce()
	for i := range deployed.Tools {
		if l := deployed.Tools[i].RateLimit; l != nil {
			b.Limits = append(b.Limits, limitRow{cleanText(deployed.Tools[i].Name), fmt.Sprintf("%s in %s", text.CountOf(l.Requests, "call"), l.Window)})
		}
	}
	b.Servers, b.Running = s.describeServers(deployed), len(s.rt.Running().List())
	if v := s.verified.Load(); v != nil {
		b.Verified = *v
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

// describeSpending says what a principal spent within a day, and whether its budget is used
// up.
func (s *Site) describeSpending(ctx context.Context, principal string) (said string, over bool, err error) {
	spent, err := s.rt.SpendingOf(ctx, principal)
	switch {
	case err != nil:
		return "", false, err
	case spent.Most != nil:
		return costs.Text(spent.Spent) + " of " + costs.Text(spent.Most) + " USD", spent.Spent.Cmp(spent.Most) >= 0, nil
	case spent.Spent.Sign() == 0:
		return "–", false, nil
	default:
		return costs.Text(spent.Spent) + " USD", false, nil
	}
}

// verifyWait bounds how long the page looks at the chain.
const verifyWait = 2 * time.Minute

// takeVerification checks the chain of the record, once at a time.
func (s *Site) takeVerification(w http.ResponseWriter, r *http.Request) {
	if !s.verifying.TryLock() {
		s.refuseRequest(w, r, http.StatusConflict, "The record is being verified: load the page again in a moment.")
		return
	}
	defer s.verifying.Unlock()
	// The result is for all who look: it does not end with the browser of one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), verifyWait)
	defer cancel()
	var v verification
	if last := s.verified.Load(); last != nil {
		v = *last
	}
	switch found, err := s.rt.VerifyRecord(ctx); {
	case err != nil:
		v.Fault = cleanText(err.Error()) // what was found before stays
	case !found.OK():
		v = verification{At: time.Now(), Found: fmt.Sprintf("record %d: %s", found.Bad.Seq, cleanText(found.Bad.Why))}
	default:
		v = verification{At: time.Now(), Found: text.CountOf(int(found.Records), "record") + ", up to " + found.Head.String(), Good: true}
	}
	s.verified.Store(&v)
	http.Redirect(w, r, "/page/health", http.StatusSeeOther)
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
