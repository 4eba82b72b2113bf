package registry_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestApprovalCases runs the cases of testdata/approval.json. There are no
// modes here: a tool is held or it is not.
func TestApprovalCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/approval.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []behaviour
	unmarshal(t, text, &all)
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			if strings.HasSuffix(c.Name, "hardline") {
				t.Skip("a command is confined by the kernel, not judged by its text")
			}
			var in struct {
				Denials   int
				Tool      string
				Args      json.RawMessage
				AlwaysAsk []string
				AllowAuto bool
			}
			var want struct {
				Reason string `json:"reason_contains"`
			}
			unmarshal(t, c.Input, &in)
			unmarshal(t, c.Expect, &want)
			d := newDesk(t, asking(func(p *sallyport.Personality) {
				if in.AlwaysAsk != nil {
					p.Approvals.Require = in.AlwaysAsk
				}
				if in.AllowAuto {
					p.Approvals = nil
				}
			}))
			if in.Tool == "" {
				in.Tool = "held"
			}
			d.hold(func(tool *sallyport.Tool) { tool.Name = in.Tool })
			for n := range in.Denials {
				args := `{"n":` + string(rune('0'+n)) + `}`
				d.want(args, sallyport.CodeApprovalRequired, 0)
				d.decide(d.one().ID, false, "")
				d.want(args, sallyport.CodeApprovalDenied, 0)
			}
			res := call(d.gate, in.Tool, string(in.Args))
			switch {
			case in.AllowAuto:
				if !res.OK {
					t.Errorf("Call() = %+v, want it to run", res)
				}
				return
			case res.Code != sallyport.CodeApprovalRequired || !strings.Contains(res.Error, want.Reason):
				t.Fatalf("Call() = %+v, want it held with %q", res, want.Reason)
			}
			d.decide(res.ApprovalID, true, "")
			if res := call(d.gate, in.Tool, string(in.Args)); !res.OK || d.ran.Load() != 1 {
				t.Errorf("Call() after the approval = %+v, want one run", res)
			}
		})
	}
}
