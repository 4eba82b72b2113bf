package facts

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

func note(t *testing.T, m *Memory, principal, session string, at time.Time) error {
	t.Helper()
	_, err := m.Note(t.Context(), principal, session, []sallyport.FactMark{{Fact: sallyport.FactPrivate, CallID: "c", Time: at}})
	return err
}

func TestPrincipalsAreBounded(t *testing.T) {
	m := NewMemory()
	m.most = 10
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range m.most {
		session := ""
		if i%2 == 0 {
			session = "s"
		}
		if err := note(t, m, fmt.Sprint(i), session, now); err != nil {
			t.Fatalf("Note(%d) = %v", i, err)
		}
	}
	if err := note(t, m, "one more", "", now); !errors.Is(err, ErrFull) {
		t.Errorf("Note of one principal more = %v, want ErrFull", err)
	}
	if err := note(t, m, "0", "", now); err != nil {
		t.Errorf("Note of a known principal = %v, want room", err)
	}
	// Facts of principals end long before those of sessions.
	now = now.Add(sallyport.PrincipalFactAge + sallyport.FactStep)
	if err := note(t, m, "one more", "", now); err != nil {
		t.Errorf("Note after the facts of principals ended = %v, want room", err)
	}
	if len(m.all) != 6 {
		t.Errorf("%d principals are left, want the five with a session and the new one", len(m.all))
	}
}
