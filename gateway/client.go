package gateway

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
)

const (
	// askWait is how long a person has to answer a question over a session. The
	// request of the call stays open for that time. Without an answer the call
	// stays held.
	askWait = 5 * time.Minute
	// maxQuestions bounds the questions that wait over sessions, and
	// maxOwnQuestions those of one principal. A person cannot read more at
	// once, and each question keeps a request open.
	maxQuestions, maxOwnQuestions = 100, 10
)

// askableClient is the sender of a request, which may be able to answer questions.
type askableClient struct {
	*core
	request *request       // nil once the request is over
	rounds  bool           // the protocol asks questions in another round
	able    wire.Abilities // what the client declares
	caller  *sallyport.Caller
	q       sallyport.Request
	files   *takenFiles // what the request brought
}

// boundWords returns the words that the state between two rounds is bound to: the
// principal or its sub-agent, the role, the tool and the arguments.
func (c *askableClient) boundWords() []string {
	return []string{c.caller.Principal.Name, c.caller.Principal.Delegation, c.caller.Personality, c.q.Tool, argsOf(c.q.Args)}
}

// roundInput is what a client sends along when it answers the questions of a call.
type roundInput struct {
	responses wire.Members
	state     string
}

// readRound reads the answers to questions and the state that came with them.
func readRound(r *request) (in roundInput, err error) {
	if in.responses, err = r.In.Object("inputResponses"); err != nil {
		return in, err
	}
	in.state, err = r.In.Text("requestState")
	if in.responses != nil || in.state != "" {
		r.streams = true
	}
	return in, err
}

// clientQuestion is the result of a round that did not end the call: either the
// client has to answer requests in the next round, or the call became a task.
type clientQuestion struct {
	requests mcp.InputRequestMap
	state    string
	task     *callTask // nil when the client has to answer
}

// canAnswer reports whether the client declares that it answers a kind of question.
func (c *askableClient) canAnswer(kind sallyport.InputKind) bool {
	switch {
	case kind == sallyport.InputPerson:
		return c.able.Elicits
	case kind == sallyport.InputModel:
		return c.able.Samples
	default:
		return kind == sallyport.InputFolders && c.able.Roots
	}
}

// firstUnanswerable returns the first kind of question that the client cannot answer, or
// "" when it can answer all of them.
func (c *askableClient) firstUnanswerable(questions []sallyport.Question) sallyport.InputKind {
	for i := range questions {
		if !c.canAnswer(questions[i].Kind) {
			return questions[i].Kind
		}
	}
	return ""
}

// stillAuthorized reports whether an answer that came while the call waited counts: the
// principal must still have the rights that it had when it asked.
func (c *askableClient) stillAuthorized() bool {
	p, ok := c.request.session.who()
	return ok && samePrincipal(&p, &c.caller.Principal)
}

// samePrincipal reports whether two requests came from the same principal with the
// same rights.
func samePrincipal(p, q *sallyport.Principal) bool {
	return p.Name == q.Name && p.Person == q.Person && slices.Equal(p.Permissions, q.Permissions) &&
		(p.Personalities == nil) == (q.Personalities == nil) && slices.Equal(p.Personalities, q.Personalities)
}

// readResponse reads the answer to a question of any kind.
func readResponse(text json.RawMessage) (mcp.InputResponse, error) {
	var all mcp.InputResponseMap
	// An object with one key and a valid value is valid JSON.
	err := json.Unmarshal([]byte(`{"answer":`+string(text)+`}`), &all)
	return all["answer"], err
}
