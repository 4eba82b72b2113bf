package gateway

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/running"
)

// TestACallThatIsOverIsNotParked: its question may still be on its way, or an
// answer that does not fit may arrive. Its client gets the result.
func TestACallThatIsOverIsNotParked(t *testing.T) {
	c := &core{}
	p := &suspendedCall{askableClient: &askableClient{core: c}, done: make(chan sallyport.Result, 1)}
	id, ok := c.parked.addCall(p)
	if !ok || c.parked.popCall(id) != p || c.parked.popCall(id) != nil {
		t.Fatal("a call that waits is not taken once")
	}
	c.parked.removeCall(p)
	p.done <- sallyport.OK("over")
	c.parked.restoreCall(p)
	if res, asked, err := p.suspendCall(); asked != nil || err != nil || res.Value != "over" {
		t.Errorf("park() = %+v, %v, %v, want the result", res, asked, err)
	}
	if len(c.parked.waiting) != 0 {
		t.Errorf("%d calls wait, want none", len(c.parked.waiting))
	}
}

// TestNobodyIsAskedInVain: once the server withdraws questions, it sends no
// more.
func TestNobodyIsAskedInVain(t *testing.T) {
	questions := running.New(maxQuestions, maxOwnQuestions)
	questions.Stop()
	p := &suspendedCall{
		askableClient: &askableClient{
			core: &core{questions: questions}, caller: &sallyport.Caller{}, able: wire.Abilities{Elicits: true},
		},
		turn: make(chan struct{}, 1), asked: make(chan *inputRound, 1),
	}
	for range 100 {
		_, err := p.Ask(t.Context(), sallyport.Question{Name: "q", Kind: sallyport.InputPerson})
		if err == nil || len(p.asked) != 0 {
			t.Fatalf("Ask() = %v with %d questions on their way, want an error and none", err, len(p.asked))
		}
	}
}
