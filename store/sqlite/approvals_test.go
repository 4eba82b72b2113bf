package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store/sqlite"
)

// childApprovals serves one store to a parent that writes a request a line:
// what to do and about what.
func childApprovals(path string) error {
	ctx, lines := context.Background(), bufio.NewScanner(os.Stdin)
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	l, err := audit.New(db, childKey(), nil)
	if err != nil {
		return err
	}
	s := db.Approvals()
	for lines.Scan() {
		what, id, _ := strings.Cut(lines.Text(), " ")
		var answer any
		var err error
		switch what {
		case "ask":
			var a sallyport.Approval
			a, err = s.Ask(ctx, heldBy(id))
			answer = a.ID
		case "approve":
			err = s.Decide(ctx, id, "boss", true, "")
			answer = "done"
		case "wait":
			var a sallyport.Approval
			a, err = s.Wait(ctx, id)
			answer = a.State
		case "use":
			answer, err = s.Use(ctx, id)
		case "claim":
			_, answer, err = s.(approvals.Claimer).Claim(ctx, id)
		case "run":
			answer, err = runOn(ctx, s, l, id)
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Println(answer); err != nil {
			return err
		}
	}
	return db.Close()
}

// runOn does what a call does that runs on an approval, up to where the tool starts, and
// reports whether it would.
func runOn(ctx context.Context, s sallyport.ApprovalStore, l *audit.Log, id string) (bool, error) {
	settle, ok, err := s.(approvals.Claimer).Claim(ctx, id)
	if !ok {
		return false, err
	}
	err = recordUse(ctx, l, id)
	err = errors.Join(err, settle(err == nil))
	return err == nil, err
}

// recordUse records the intent of a call that uses an approval.
func recordUse(ctx context.Context, l *audit.Log, id string) error {
	e := audittest.NewEvent(audit.KindIntent, "call of "+id)
	e.Durable, e.Used = true, &approvals.Used{Approvals: []string{id}}
	return l.Record(ctx, e)
}

// heldBy is a request of a digest that all children share.
func heldBy(id string) sallyport.Approval {
	now := time.Now()
	return sallyport.Approval{ID: id, Digest: "d", Tool: "t", Principal: "p", Created: now, Expires: now.Add(time.Hour)}
}

// writeLine writes a request to a child and does not wait for the answer.
func (c *child) writeLine(t testing.TB, request string) {
	t.Helper()
	if _, err := fmt.Fprintln(c.stdin, request); err != nil {
		t.Fatal(err)
	}
}

func (c *child) readLine(t testing.TB) string {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("the child ended: %v", c.lines.Err())
	}
	return c.lines.Text()
}

func TestApprovalsOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	here := open(t, path, nil).Approvals()
	children := make([]*child, 4)
	for i := range children {
		children[i] = startChild(t, "approvals", path)
	}
	for round := range 10 {
		// All ask at once and share one request.
		for i, c := range children {
			c.writeLine(t, fmt.Sprintf("ask r%d-%d", round, i))
		}
		id := children[0].readLine(t)
		for _, c := range children[1:] {
			if got := c.readLine(t); got != id {
				t.Fatalf("round %d: held as %s and %s", round, id, got)
			}
		}
		// All wait, and hear what another process decides.
		for _, c := range children {
			c.writeLine(t, "wait "+id)
		}
		if err := here.Decide(t.Context(), id, "boss", true, ""); err != nil {
			t.Fatal(err)
		}
		for _, c := range children {
			if got := c.readLine(t); got != "approved" {
				t.Fatalf("round %d: Wait = %s, want approved", round, got)
			}
		}
		// All use it at once, and one may.
		for i, c := range children {
			c.writeLine(t, []string{"use ", "run "}[(round+i)%2]+id)
		}
		used := 0
		for _, c := range children {
			if c.readLine(t) == "true" {
				used++
			}
		}
		if used != 1 {
			t.Fatalf("round %d: %d processes used one approval", round, used)
		}
	}
	for _, c := range children {
		c.stdin.Close()
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("child: %v", err)
		}
	}
}

func TestApprovalsSurviveKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	for _, step := range []struct {
		request, answer string
		state           sallyport.ApprovalState
	}{
		{"ask a", "a", sallyport.ApprovalPending},
		{"approve a", "done", sallyport.ApprovalApproved},
		{"use a", "true", sallyport.ApprovalUsed},
		{"ask b", "b", sallyport.ApprovalPending},
		{"approve b", "done", sallyport.ApprovalApproved},
		{"claim b", "true", sallyport.ApprovalUsed},
		{"ask c", "c", sallyport.ApprovalPending},
		{"approve c", "done", sallyport.ApprovalApproved},
		{"run c", "true", sallyport.ApprovalUsed},
	} {
		c := startChild(t, "approvals", path)
		c.writeLine(t, step.request)
		if got := c.readLine(t); got != step.answer {
			t.Fatalf("%s = %s, want %s", step.request, got, step.answer)
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait()
		db, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := db.Approvals().Get(t.Context(), step.request[len(step.request)-1:])
		if a.State != step.state || err != nil {
			t.Errorf("after %s and a kill: %s, %v, want %s", step.request, a.State, err, step.state)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOldApprovalsAreRemoved(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, &sqlite.Options{Now: func() time.Time { return now }}).Approvals()
	add := func(id string) {
		t.Helper()
		a := heldBy(id)
		a.Digest, a.Created, a.Expires = id, now, now.Add(time.Hour)
		if _, err := s.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int) {
		t.Helper()
		all, err := s.List(t.Context(), true)
		if err != nil || len(all) != want {
			t.Errorf("List(true) = %d requests, %v, want %d", len(all), err, want)
		}
	}
	add("old")
	now = now.Add(31 * 24 * time.Hour)
	add("new")
	count(1)
	now = now.Add(time.Hour)
	rawExec(t, path, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2100)
		INSERT INTO approvals(id, digest, state, principal, expires, decided, decided_by, reason, body)
		SELECT 'n' || i, 'n' || i, 'used', x'', %d, 0, x'', '', '{}' FROM n`, now.UnixNano()))
	add("last")
	all, err := s.List(t.Context(), true)
	if err != nil || len(all) != 2000 || all[1999].ID != "last" {
		t.Errorf("%d requests are kept, %v, want the newest 2000", len(all), err)
	}
}

func TestADamagedApprovalIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, nil).Approvals()
	if _, err := s.Ask(t.Context(), heldBy("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Decide(t.Context(), "a", "boss", true, ""); err != nil {
		t.Fatal(err)
	}
	rawExec(t, path, `UPDATE approvals SET body = '{'`)
	if ok, err := s.Use(t.Context(), "a"); ok || err == nil {
		t.Errorf("Use of a damaged request = %v, %v, want an error", ok, err)
	}
}
