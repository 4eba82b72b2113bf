package gateway

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/running"
)

// TestACallThatIsOverIsNotParked: its question may still be on its way, or an
// answer that does not fit may arrive. Its client gets the result.
func TestACallThatIsOverIsNotParked(t *testing.T) {
	s := &Server{}
	p := &suspendedCall{askableClient: &askableClient{Server: s}, done: make(chan sallyport.Result, 1)}
	id, ok := s.parked.addCall(p)
	if !ok || s.parked.popCall(id) != p || s.parked.popCall(id) != nil {
		t.Fatal("a call that waits is not taken once")
	}
	s.parked.removeCall(p)
	p.done <- sallyport.OK("over")
	s.parked.restoreCall(p)
	if res, asked, err := p.suspendCall(); asked != nil || err != nil || res.Value != "over" {
		t.Errorf("park() = %+v, %v, %v, want the result", res, asked, err)
	}
	if len(s.parked.waiting) != 0 {
		t.Errorf("%d calls wait, want none", len(s.parked.waiting))
	}
}

// TestNobodyIsAskedInVain: once the server withdraws questions, it sends no
// more.
func TestNobodyIsAskedInVain(t *testing.T) {
	questions := running.New(maxQuestions, maxOwnQuestions)
	questions.Stop()
	p := &suspendedCall{
		askableClient: &askableClient{
			Server: &Server{questions: questions}, caller: &sallyport.Caller{},
			able: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
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
