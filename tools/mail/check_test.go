package mail_test

import "testing"

func TestCheckLogsInAndSendsNothing(t *testing.T) {
	s := newServer(t, nil)
	if err := s.backend(t, relay()).Check(t.Context(), "default"); err != nil {
		t.Errorf("Check = %v, want that the relay answers", err)
	}
	if len(s.mails()) != 0 || s.connections() == 0 {
		t.Errorf("the relay saw %d connections and %d mails, want some and none", s.connections(), len(s.mails()))
	}
	wantFailure(t, s.backend(t, relay()).Check(t.Context(), "other"), "is not configured")
	silent := newServer(t, func(s *server) { s.mechanisms = nil })
	if err := silent.backend(t, relay()).Check(t.Context(), "default"); err == nil {
		t.Error("Check of a relay without a login succeeded, want an error")
	}
}
