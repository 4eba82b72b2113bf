package page

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/registry"
)

const (
	// usedFor is the time over which use is counted, usedRecords how many of the newest
	// records are counted at most, and usedPause how long a count is kept.
	usedFor, usedRecords, usedPause = 30 * 24 * time.Hour, 100_000, 10 * time.Minute
)

// How what a call touches is held to its grant.
const (
	byKernel  = "kernel"       // its children are confined by the kernel
	byRuntime = "runtime"      // Go code behind accessors
	byServer  = "asserted"     // a remote server does it, and says what it does
	byNothing = "not enforced" // its children are not confined
)

// rolesBody is what the page of the roles shows.
type rolesBody struct {
	Roles []string
	Rows  []roleRow
	Since time.Time
}

// roleRow is a tool in every role.
type roleRow struct {
	Tool  string
	Cells []roleCell
}

// roleCell is a tool in a role.
type roleCell struct {
	Held, Why string // Held is empty where the role does not have the tool
	Asks      bool
	Used      int
	Tool      string
	Role      string
}

// useCount is how often tools ran in roles.
type useCount struct {
	mu   sync.Mutex
	at   time.Time
	used map[[2]string]int
}

// countUse returns how often each tool ran in each role, by the newest records.
func (u *useCount) countUse(ctx context.Context, from audit.Reader, now time.Time) map[[2]string]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.used != nil && now.Sub(u.at) < usedPause {
		return u.used
	}
	used := map[[2]string]int{}
	for e, err := range audit.Events(ctx, from, audit.Query{Since: now.Add(-usedFor), Last: usedRecords}) {
		if err != nil {
			return used // shown once, and counted again at the next look
		}
		if e.Kind == audit.KindOutcome && e.Stage == "" && !e.DryRun {
			used[[2]string{string(e.Tool), string(e.Personality)}]++
		}
	}
	u.used, u.at = used, now
	return used
}

// showRoles shows which role has which tool, and how each is held to its grant.
func (s *Site) showRoles(w http.ResponseWriter, r *http.Request) {
	reg, release := s.live.Acquire()
	defer release()
	d := s.live.InForce()
	now := time.Now()
	used := s.uses.countUse(r.Context(), s.rt.State, now)
	b := rolesBody{Roles: d.Config.Names(), Since: now.Add(-usedFor)}
	visible := map[string]map[string]bool{}
	var tools []string
	for _, role := range b.Roles {
		visible[role] = map[string]bool{}
		for _, t := range reg.List(s.callerIn(role)) {
			visible[role][t.Name] = true
			if !slices.Contains(tools, t.Name) {
				tools = append(tools, t.Name)
			}
		}
	}
	slices.Sort(tools)
	for _, tool := range tools {
		row := roleRow{Tool: cleanText(tool)}
		for _, role := range b.Roles {
			c := roleCell{Used: used[[2]string{tool, role}], Tool: tool, Role: role}
			if visible[role][tool] {
				c.Held, c.Why, c.Asks = describeGrant(d, reg, s.callerIn(role), tool)
			}
			row.Cells = append(row.Cells, c)
		}
		b.Rows = append(b.Rows, row)
	}
	for i := range b.Roles {
		b.Roles[i] = cleanText(b.Roles[i])
	}
	s.showPart(w, r, http.StatusOK, "roles", frame{Title: "Roles", Body: &b})
}

// callerIn returns the local user in a role, for questions that call nothing.
func (s *Site) callerIn(role string) *sallyport.Caller {
	return &sallyport.Caller{Principal: s.rt.Callers.Local(), Personality: role}
}

// describeGrant says how a tool is held to its grant in a role, and whether a person is
// asked.
func describeGrant(d *app.Deployment, reg *registry.Registry, caller *sallyport.Caller, tool string) (held, why string, asks bool) {
	x, err := reg.Explain(caller, tool)
	if err != nil {
		return "refused", cleanText(err.Error()), false
	}
	for i := range x.Decisions {
		dec := &x.Decisions[i]
		if asks = asks || dec.Step == sallyport.StepApprove && dec.Why != ""; !dec.Allowed {
			return "refused", cleanText(dec.Why), false
		}
	}
	if server := app.ServerOf(tool); server != "" {
		for i := range d.Servers.Declared {
			if one := &d.Servers.Declared[i]; one.Name == server && one.URL != "" {
				return byServer, "", asks
			}
		}
	}
	switch {
	case x.Level == sallyport.LevelNone:
		return byNothing, "", asks
	case x.Level != "":
		return byKernel, "level " + string(x.Level), asks
	default:
		return byRuntime, "", asks
	}
}
