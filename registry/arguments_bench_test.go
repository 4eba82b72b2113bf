package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/internal/sums"
	"github.com/sallyport/sallyport/store/memory"
)

// meeting is a call with ten arguments.
const meeting = `{"to":"ann@example.com","subject":"Weekly report of the team","date":"2026-11-26","priority":"high","amount":42,
	"text":"The meeting is moved to Thursday at ten; please bring the plan for the next quarter and your questions.",
	"link":"https://intranet.example.com/reports/17","zone":"Europe/Berlin","file":"notes/plan.md","sign":"See you there"}`

// meetingCeiling has each word of a ceiling, over each of the arguments.
const meetingCeiling = `{"to":{"known":"contacts","else":"hold"},"subject":{"maxLength":200,"from_untrusted":"hold"},
	"date":{"pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},"priority":{"enum":["low","high"]},"amount":{"minimum":0,"maximum":500,"sum":{"max":1000,"per":"1d","by":"to"}},
	"text":{"type":"string","maxLength":4000,"from_untrusted":"refuse"},"link":{"known":["pages"],"from_untrusted":"hold"},"zone":{"type":"string"},
	"file":{"pattern":"^notes/"},"sign":{"enum":["See you there","Best"]}}`

// BenchmarkDecideArguments decides about ten arguments: it holds them to the ceiling of
// the role, and looks for them in what the session read, 64 KiB of text.
func BenchmarkDecideArguments(b *testing.B) {
	for _, with := range []string{"ceilings and provenance", "ceilings", "provenance"} {
		b.Run(with, func(b *testing.B) {
			c, marks := meetingCall(b)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				c.above, c.hold, c.amounts, c.carried = flowHold{}, flowHold{}, nil, nil
				if with != "provenance" && !c.checkCeiling(ctx) || with != "ceilings" && !c.applyFlowRules(ctx, marks) || c.above.why+c.hold.why != "" {
					b.Fatalf("the call is refused or held: %+v; %s%s", c.result, c.above.why, c.hold.why)
				}
			}
		})
	}
}

// meetingCall returns a call that is about to be decided, and what its session read.
func meetingCall(b testing.TB) (*call, []sallyport.FactMark) {
	b.Helper()
	sets, err := known.New(map[string]known.Source{
		"contacts": {Kind: effect.Mail, List: []string{"ann@example.com", "ben@example.com"}},
		"pages":    {Kind: effect.URL, List: []string{"https://intranet.example.com/reports/17"}},
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	state, err := memory.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = state.Close() })
	book := sums.New(state.Settings(), nil)
	p := &sallyport.Personality{Name: "role", MCPServers: []string{"a"}, Arguments: map[string]json.RawMessage{"mcp__a__invite": json.RawMessage(meetingCeiling)}}
	r, err := New(&sallyport.Backends{Personalities: oneRole{p}}, &Options{Known: sets, Sums: book})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close(context.Background()) })
	var properties []string
	for _, name := range []string{"to", "subject", "date", "priority", "text", "link", "zone", "file", "sign"} {
		properties = append(properties, fmt.Sprintf(`%q:{"type":"string"}`, name))
	}
	if err := r.Register(sallyport.Tool{
		Name: "mcp__a__invite", Schema: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"},` + strings.Join(properties, ",") + `}}`),
		Does: []sallyport.Effect{effect.Outward, effect.Irrevocable}, Destinations: map[string]sallyport.ValueKind{"to": effect.Mail, "link": effect.URL},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(""), nil },
	}); err != nil {
		b.Fatal(err)
	}
	for i := 0; i < 64<<10; i += 1 << 10 {
		r.conversations.Reads.Add("p", "s", provenance.Source{Tool: "read", CallID: "read"}, pageOf(1<<10, i))
	}
	r.conversations.Reads.Begin("p", "s", "read")
	r.conversations.Reads.End("p", "s", "read")
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Personality: "role", Session: "s"}
	c := r.newCall(caller, sallyport.Request{Tool: "mcp__a__invite", Args: json.RawMessage(meeting)}, 0)
	if !c.decodeArgs() || !c.findTool() || !c.assumeRole() || !c.validateArgs() || !c.resolveGrant() {
		b.Fatalf("the call is refused: %+v", c.result)
	}
	c.facts, c.judged = sallyport.Facts{Private: true, Untrusted: true, Outward: true}, true
	if !c.checkCeiling(b.Context()) {
		b.Fatalf("the ceiling refuses the call: %+v", c.result)
	}
	if added, err := book.Add(b.Context(), c.sumKey(&c.amounts[0]), big.NewRat(1, 3), nil); err != nil || !added {
		b.Fatal(err)
	}
	return c, []sallyport.FactMark{
		{Fact: sallyport.FactUntrusted, Session: true, Tool: "mcp__a__read", CallID: "read", Time: time.Now()},
		{Fact: sallyport.FactPrivate, Session: true, Tool: "mcp__a__read", CallID: "read", Time: time.Now()},
	}
}

// oneRole is a directory with one personality.
type oneRole struct{ p *sallyport.Personality }

func (o oneRole) Personality(string) (*sallyport.Personality, bool) { return o.p, true }

// pageOf returns prose of a length that no other number gives.
func pageOf(bytes, number int) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "Sentence %x of page %x says that the river rose by a hand and fell again. ", i*7919+number, number)
	}
	return b.String()[:bytes]
}
