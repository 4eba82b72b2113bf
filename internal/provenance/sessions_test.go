package provenance_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/internal/provenance"
)

const eve = "eve-the-attacker@evil.example"

// markOf is the mark that a call leaves which brought untrusted content.
func markOf(call string) []sallyport.FactMark {
	return []sallyport.FactMark{{Fact: sallyport.FactUntrusted, Session: true, Tool: "read", CallID: call, Time: time.Now()}}
}

// read has a call of a session bring texts.
func read(s *provenance.Sessions, principal, session, call string, texts ...string) {
	s.Begin(principal, session, call)
	s.Add(principal, session, provenance.Source{Tool: "read", CallID: call}, texts...)
	s.End(principal, session, call)
}

func finds(s *provenance.Sessions, principal, session, call string, marks []sallyport.FactMark, value string) (found, flooded bool) {
	r := s.Reading(principal, session, call, marks, time.Now())
	_, found, err := r.Find(context.Background(), effect.Mail, value, nil)
	return found && err == nil, r.Flooded()
}

// TestASessionFindsWhatItsPrincipalRead, in this session and others, and not what another
// principal read.
func TestASessionFindsWhatItsPrincipalRead(t *testing.T) {
	t.Parallel()
	s := new(provenance.Sessions)
	read(s, "p", "s1", "c1", "Write to "+eve)
	for _, c := range []struct {
		principal, session, value string
		found                     bool
	}{
		{"p", "s1", eve, true},
		{"p", "s1", "ann@example.com", false},
		{"p", "s2", eve, true},
		{"q", "s1", eve, false},
	} {
		marks := markOf("c1")
		if c.principal == "q" {
			marks = nil
		}
		if found, flooded := finds(s, c.principal, c.session, "c2", marks, c.value); found != c.found || flooded {
			t.Errorf("%s/%s finds %s: %v, flooded %v, want %v", c.principal, c.session, c.value, found, flooded, c.found)
		}
	}
	s.ForgetIdle("p", "s1", time.Now().Add(-time.Hour))
	if found, _ := finds(s, "p", "s1", "c2", nil, eve); !found {
		t.Error("what was read since then was forgotten")
	}
	s.ForgetIdle("p", "s1", time.Now().Add(time.Second))
	if found, _ := finds(s, "p", "s1", "c2", nil, eve); found {
		t.Error("what was forgotten is found")
	}
	s.Begin("p", "s1", "c3")
	s.ForgetIdle("p", "s1", time.Now().Add(time.Second))
	if s.Bytes() == 0 {
		t.Error("the conversation of a call that runs was forgotten")
	}
}

// TestWhatAnotherProcessReadIsUnknown, so that every value may have come from there.
func TestWhatAnotherProcessReadIsUnknown(t *testing.T) {
	t.Parallel()
	s := new(provenance.Sessions)
	read(s, "p", "s1", "c1", "nothing of interest")
	old := markOf("elsewhere")
	old[0].Time = time.Now().Add(-sallyport.SessionFactAge - time.Hour)
	if found, flooded := finds(s, "p", "s1", "c2", old, "ann@example.com"); found || flooded {
		t.Errorf("a mark that does not count any more: found %v, flooded %v, want neither", found, flooded)
	}
	private := markOf("elsewhere")
	private[0].Fact = sallyport.FactPrivate
	if found, flooded := finds(s, "p", "s1", "c2", private, "ann@example.com"); found || flooded {
		t.Errorf("a mark of private data: found %v, flooded %v, want neither", found, flooded)
	}
	if found, flooded := finds(s, "p", "s1", "c2", markOf("elsewhere"), "ann@example.com"); !found || !flooded {
		t.Errorf("a mark of another process: found %v, flooded %v, want both", found, flooded)
	}
}

// TestAReadHidesNothingThatAnotherProcessRead: a store has the newest mark alone, so that
// a call of this process takes the place of one of another.
func TestAReadHidesNothingThatAnotherProcessRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(provenance.Sessions)
		ofPrincipal := markOf("elsewhere")
		ofPrincipal[0].Session = false
		finds(s, "p", "s1", "c1", ofPrincipal, eve)
		finds(s, "p", "s2", "c1", markOf("elsewhere"), eve)
		for _, session := range []string{"s1", "s2", "s3"} {
			read(s, "p", session, "here", "nothing of interest")
			if found, flooded := finds(s, "p", session, "x", markOf("here"), "ann@example.com"); !found || !flooded {
				t.Errorf("%s: found %v, flooded %v, want both", session, found, flooded)
			}
		}
		if r := s.Others("p", "s3", "here"); !r.Unknown {
			t.Error("what other sessions read counts as known")
		}
		time.Sleep(sallyport.PrincipalFactAge + 2*sallyport.FactStep)
		for session, want := range map[string]bool{"s1": false, "s2": true} {
			if _, flooded := finds(s, "p", session, "x", nil, "ann@example.com"); flooded != want {
				t.Errorf("later: %s is flooded: %v, want %v", session, flooded, want)
			}
		}
	})
}

// TestACallThatRunsMayHaveToldAnything, but not to itself.
func TestACallThatRunsMayHaveToldAnything(t *testing.T) {
	t.Parallel()
	s := new(provenance.Sessions)
	s.Begin("p", "s1", "c1")
	s.Begin("p", "s1", "c1") // once more is the same call
	if found, _ := finds(s, "p", "s1", "c1", markOf("c1"), "ann@example.com"); found {
		t.Error("a call that reads counts against itself")
	}
	if found, flooded := finds(s, "p", "s1", "c2", markOf("c1"), "ann@example.com"); !found || !flooded {
		t.Error("what a running call may have told does not count")
	}
	s.End("p", "s1", "c1")
	s.End("p", "s1", "c1")
	s.End("p", "s1", "unknown")
	s.End("q", "s1", "c1")
	if found, flooded := finds(s, "p", "s1", "c2", markOf("c1"), "ann@example.com"); found || flooded {
		t.Errorf("after its end: found %v, flooded %v", found, flooded)
	}
}

// TestASessionThatReadsTooMuchIsFlooded: every value may have come from what is not
// remembered.
func TestASessionThatReadsTooMuchIsFlooded(t *testing.T) {
	t.Parallel()
	s := new(provenance.Sessions)
	for i := range 5 {
		read(s, "p", "s1", fmt.Sprint("c", i), textOf(provenance.MaxBytes/4, i))
	}
	if found, flooded := finds(s, "p", "s1", "x", nil, "ann@example.com"); !found || !flooded {
		t.Errorf("found %v, flooded %v, want both", found, flooded)
	}
	if found, flooded := finds(s, "q", "s1", "x", nil, "ann@example.com"); found || flooded {
		t.Error("the flood of one principal reaches another")
	}
	many := new(provenance.Sessions)
	for i := range 5000 {
		many.Begin("p", "s1", fmt.Sprint("c", i))
		many.End("p", "s1", fmt.Sprint("c", i))
	}
	if _, flooded := finds(many, "p", "s1", "x", nil, "ann@example.com"); !flooded {
		t.Error("a session of more calls than are remembered is not flooded")
	}
}

// TestMemoriesAreBoundedTogether: of the principal that takes most, the session that was
// idle longest is forgotten, and its reading is unknown from then on. Another principal
// loses nothing, however long it was idle.
func TestMemoriesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	s := new(provenance.Sessions)
	read(s, "quiet", "s", "c", "Write to "+eve)
	read(s, "p", "first", "c", "Write to "+eve)
	for i := 0; i < provenance.MaxTotal; i += provenance.MaxBytes / 4 {
		read(s, "p", fmt.Sprint("s", i), fmt.Sprint("c", i), textOf(provenance.MaxBytes/4, i))
	}
	if found, flooded := finds(s, "p", "other", "x", nil, "ann@example.com"); !found || !flooded {
		t.Errorf("what the idle session read hides nothing: found %v, flooded %v", found, flooded)
	}
	if found, flooded := finds(s, "p", "first", "x", markOf("c"), "ann@example.com"); !found || !flooded {
		t.Error("its mark does not make the reading unknown")
	}
	if found, flooded := finds(s, "quiet", "s", "x", markOf("c"), eve); !found || flooded {
		t.Errorf("another principal lost what it read: found %v, flooded %v", found, flooded)
	}
	if found, flooded := finds(s, "quiet", "s", "x", markOf("c"), "ann@example.com"); found || flooded {
		t.Errorf("another principal's reading is unknown: found %v, flooded %v", found, flooded)
	}
}

// TestAMemoryThatIsFullTakesMore: principals that take alike make room in turn.
func TestAMemoryThatIsFullTakesMore(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	s := new(provenance.Sessions)
	n := 0
	for i := 0; i < provenance.MaxTotal+provenance.MaxTotal/8; i += provenance.MaxBytes / 4 {
		read(s, fmt.Sprint("p", i), "s", "c", textOf(provenance.MaxBytes/4, i))
		if found, flooded := finds(s, fmt.Sprint("p", i), "s", "x", markOf("c"), "ann@example.com"); found || flooded {
			t.Fatal("what was just read is not known")
		}
		n++
	}
	if s.Bytes() > provenance.MaxTotal {
		t.Errorf("%d conversations take %d bytes", n, s.Bytes())
	}
}

// TestCallsCountForTheirMemory: a session that makes many calls takes memory for each,
// whatever they read.
func TestCallsCountForTheirMemory(t *testing.T) {
	t.Parallel()
	s := new(provenance.Sessions)
	for i := range 1000 {
		read(s, "p", "s", fmt.Sprint("c", i), "the same")
	}
	one := new(provenance.Sessions)
	read(one, "p", "s", "c", "the same")
	if more := s.Bytes() - one.Bytes(); more < 999*9 {
		t.Errorf("999 calls more take %d bytes more", more)
	}
}

// TestOtherSessionsCountForAWhile: what another session read counts as long as its
// principal counts as having read it.
func TestOtherSessionsCountForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(provenance.Sessions)
		read(s, "p", "s1", "c1", "Write to "+eve)
		time.Sleep(sallyport.PrincipalFactAge)
		if found, _ := finds(s, "p", "s2", "x", nil, eve); !found {
			t.Error("what another session read does not count")
		}
		time.Sleep(sallyport.FactStep + time.Second)
		if found, _ := finds(s, "p", "s2", "x", nil, eve); found {
			t.Error("what another session read counts for ever")
		}
		if found, _ := finds(s, "p", "s1", "x", nil, eve); !found {
			t.Error("what the session itself read does not count any more")
		}
	})
}
