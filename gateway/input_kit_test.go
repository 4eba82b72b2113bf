package gateway_test

//lint:file-ignore SA1019 clients are asked for their model

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

var (
	aName    = sallyport.Question{Name: "name", Kind: sallyport.InputPerson, Message: "Sallyport holds this call.\n\nWhat is your name?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
	aColour  = sallyport.Question{Name: "colour", Kind: sallyport.InputPerson, Message: "Which colour?", Schema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]},"deep":{"type":"boolean","default":true}}}`)}
	aPoem    = sallyport.Question{Name: "poem", Kind: sallyport.InputModel, Message: "Write a poem", System: "You are a poet", MaxTokens: 50}
	theRoots = sallyport.Question{Name: "roots", Kind: sallyport.InputFolders}
	everyone = []sallyport.InputKind{sallyport.InputPerson, sallyport.InputModel, sallyport.InputFolders}
)

// inquiry is a desk with tools that ask.
type inquiry struct {
	*desk
	// told receives what a careless tool was told, and whether its call went
	// on.
	told chan error
	// proceed makes a tool go on: a careful tool waits for it between its
	// questions.
	proceed chan struct{}
}

// newInquiry returns a desk with tools that ask. Calls of "held" and "heldasks"
// are held.
func newInquiry(t *testing.T) *inquiry {
	t.Helper()
	in := &inquiry{
		desk: newDesk(t, func(a *sallyport.Approvals) { a.Require = append(a.Require, "heldasks") }),
		told: make(chan error, 100), proceed: make(chan struct{}, 100),
	}
	if err := in.registry.Register(in.tools()...); err != nil {
		t.Fatal(err)
	}
	return in
}

// run returns the function of a tool that asks each list of questions and
// returns the answers.
func (in *inquiry) run(rounds ...[]sallyport.Question) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
	return func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		in.ran.Add(1)
		var heard []string
		for _, questions := range rounds {
			answers, err := c.Input.Ask(ctx, questions...)
			if err != nil {
				return sallyport.Result{}, err
			}
			text, err := json.Marshal(answers)
			if err != nil {
				return sallyport.Result{}, err
			}
			heard = append(heard, string(text))
			c.Emit(sallyport.Progress{Message: "heard", Audience: sallyport.AudienceUser})
		}
		return sallyport.OK(strings.Join(heard, " then ")), nil
	}
}

func (in *inquiry) tools() []sallyport.Tool {
	one, two := []sallyport.Question{aName}, []sallyport.Question{aColour}
	tools := []sallyport.Tool{
		{Name: "asks", Description: "Asks a name.", Run: in.run(one)},
		{Name: "heldasks", Description: "Is held and asks.", Run: in.run(one)},
		{Name: "twice", Description: "Asks twice.", Run: in.run(one, two)},
		{Name: "everyone", Description: "Asks everyone.", Run: in.run([]sallyport.Question{aName, aPoem, theRoots})},
		{Name: "poet", Description: "Asks a model.", Run: in.run([]sallyport.Question{aPoem})},
		{Name: "careless", Description: "Goes on without an answer.", Run: in.careless},
		{Name: "hasty", Description: "Gives up one question and asks another one.", Run: in.hasty},
		{Name: "copes", Description: "Asks only whom it can.", Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			in.ran.Add(1)
			can := ""
			for _, kind := range everyone {
				if c.Input.Can(kind) {
					can += string(kind) + " "
				}
			}
			return sallyport.OK("can ask " + can), nil
		}},
		{Name: "slow", Description: "Works after an answer.", Run: in.slow},
		{Name: "asks", Form: sallyport.FormPrompt, Description: "A prompt that asks.", Run: in.part(sallyport.PartText)},
		{
			Name: "asks", Form: sallyport.FormResource, Description: "A resource that asks.", Run: in.part(sallyport.PartResource),
			Resources: []sallyport.Resource{{URI: "test://asks", Name: "asks"}},
		},
	}
	for i := range tools {
		tools[i].Capabilities.Input = everyone
		tools[i].Timeout = time.Minute
		if tools[i].Form != sallyport.FormResource {
			tools[i].Schema = json.RawMessage(`{"type":"object"}`)
		}
	}
	return tools
}

func (in *inquiry) part(kind sallyport.PartKind) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
	return func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		res, err := in.run([]sallyport.Question{aName})(ctx, c)
		return sallyport.Result{OK: true, Parts: []sallyport.Part{{Kind: kind, Role: sallyport.RoleUser, Text: res.Value, URI: "test://asks"}}}, err
	}
}

// careless goes on whatever it was told, as long as its call does.
func (in *inquiry) careless(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	in.ran.Add(1)
	_, err := c.Input.Ask(ctx, aName)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	in.told <- err
	return sallyport.OK("went on"), ctx.Err()
}

// hasty asks until it may proceed, and then asks something else.
func (in *inquiry) hasty(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	in.ran.Add(1)
	short, cancel := context.WithCancel(ctx)
	go func() {
		<-in.proceed
		cancel()
	}()
	_, err := c.Input.Ask(short, aName)
	in.told <- err
	return in.run([]sallyport.Question{aColour})(ctx, c)
}

// slow asks, and runs until it is cancelled.
func (in *inquiry) slow(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	in.ran.Add(1)
	_, err := c.Input.Ask(ctx, aName)
	in.told <- err
	<-ctx.Done()
	in.told <- ctx.Err()
	return sallyport.Result{}, ctx.Err()
}

// crowd returns the options of a client that answers every kind of question.
func crowd(name func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return name(r.Params) },
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			said := r.Params.SystemPrompt + ": " + r.Params.Messages[0].Content.(*mcp.TextContent).Text
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: said}}, nil
		},
	}
}

// eachInquiry runs a test with the official client for each surface and
// generation.
func eachInquiry(t *testing.T, test func(t *testing.T, in *inquiry, connect func(*mcp.ClientOptions) *mcp.ClientSession)) {
	for _, version := range versions {
		for _, surface := range []string{"http/", "stdio/"} {
			t.Run(surface+version, func(t *testing.T) {
				in := newInquiry(t)
				transport := func() mcp.Transport {
					s, _ := in.stdio(t)
					return &mcp.IOTransport{Reader: s.out, Writer: s.in}
				}
				if strings.HasPrefix(surface, "http") {
					site := in.site(t)
					transport = func() mcp.Transport {
						return &mcp.StreamableClientTransport{Endpoint: site.URL + "/mcp", HTTPClient: client(t, "alice")}
					}
				}
				test(t, in, func(o *mcp.ClientOptions) *mcp.ClientSession { return open(t, version, o, transport()) })
			})
		}
	}
}

// inquirer sends rounds of its own making.
type inquirer struct {
	*inquiry
	at attacker
}

func newInquirer(t *testing.T) *inquirer {
	in := newInquiry(t)
	return &inquirer{in, attacker{in.desk, t, in.site(t).URL}}
}

// able is the _meta of a client that can be asked every kind of question.
const able = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}`

// round sends a round of a call as a principal.
func (q *inquirer) round(as, tool, more string) round {
	q.at.t.Helper()
	return q.at.post(as, tool, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`",`+more+`,`+able+`}}`)
}

// begin makes a call that asks and returns the state of its question.
func (q *inquirer) begin(as, tool, args string) string {
	q.at.t.Helper()
	r := q.round(as, tool, `"arguments":`+args)
	if r.Result.ResultType != "input_required" || r.Result.RequestState == "" {
		q.at.t.Fatalf("a call that asks was answered with %+v, want a question", r)
	}
	return r.Result.RequestState
}

// bring returns a round with answers.
func bring(args, state, answers string) string {
	return `"arguments":` + args + `,"requestState":"` + state + `","inputResponses":{` + answers + `}`
}

// ann answers the question for a name.
const ann = `"name":{"action":"accept","content":{"name":"Ann"}}`

// text returns the text with which a round was answered.
func (r *round) text() string {
	switch {
	case r.Error != nil:
		return "error: " + r.Error.Message
	case r.Result.ResultType == "input_required":
		return "question"
	case len(r.Result.Content) == 1:
		return r.Result.Content[0].Text
	default:
		return ""
	}
}

// get sends a request that the test can cancel.
func (q *inquirer) get(ctx context.Context, as, tool, more string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.at.url+"/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`",`+more+`,`+able+`}}`))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", tool)
	res, err := client(q.at.t, as).Do(r)
	if err == nil {
		res.Body.Close()
	}
	return err
}
