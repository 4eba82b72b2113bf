package gateway

import (
	"strings"
	"testing"
	"time"
)

func TestASealOpensOnlyForWhatItWasMade(t *testing.T) {
	s, err := newSeal()
	if err != nil {
		t.Fatal(err)
	}
	other, err := newSeal()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	bound := []string{"alice", "role", "held", argsOf([]byte(`{"a":1}`))}
	state, err := s.sealState(bound, "an-id", now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		seal  *stateSeal
		bound []string
		at    time.Time
		want  string
	}{
		{"itself", s, bound, now, ""},
		{"its last moment", s, bound, now.Add(time.Minute - time.Millisecond), ""},
		{"its expiry", s, bound, now.Add(time.Minute), "expired"},
		{"another process", other, bound, now, "not one of this server's"},
		{"words that run together", s, []string{"alicerole", "", "held", bound[3]}, now, "not one of this server's"},
		{"fewer words", s, bound[:3], now, "not one of this server's"},
	} {
		id, err := tt.seal.openState(tt.bound, state, tt.at)
		if tt.want == "" && (err != nil || id != "an-id") || tt.want != "" && (err == nil || id != "" || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: open() = %q, %v, want %s", tt.name, id, err, tt.want)
		}
	}
	if again, err := s.sealState(bound, "an-id", now.Add(time.Minute)); err != nil || again == state {
		t.Errorf("close() = %s twice, %v, want another text each time", again, err)
	}
	if _, err := s.sealState(bound, strings.Repeat("x", 400), now); err == nil {
		t.Error("close() took an id that open would refuse")
	}
}
