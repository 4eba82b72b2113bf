package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/approvals"
)

// BenchmarkWaiting loads the page with 50 held calls of five principals, in a record in
// which each of them has a thousand calls of the tool, of which 90 ran.
func BenchmarkWaiting(b *testing.B) {
	people, config := []string{"ann", "ben", "carl", "dora", "eve"}, configuration
	for i, who := range people {
		config += fmt.Sprintf("  %s: {token_sha256: \"%064d\"}\n", who, i)
	}
	s := serve(b, config)
	for _, who := range people {
		same := `{"path":"` + who + `.txt","content":"` + strings.Repeat("x", 200) + `"}`
		a, err := s.rt.Approvals.Get(b.Context(), s.hold(b, who, same))
		if err != nil {
			b.Fatal(err)
		}
		rule, err := approvals.ProposeRule(&a, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.rt.GiveRule(b.Context(), &a, rule, approvals.DeciderNamed("page:alice"), ""); err != nil {
			b.Fatal(err)
		}
		for range 90 {
			if res := s.call(b, who, "s1", "write_file", same); !res.OK {
				b.Fatal(res.Error)
			}
		}
		for i := range 10 {
			args := fmt.Sprintf(`{"path":"%s-%d.txt","content":"held"}`, who, i)
			for range 90 {
				s.hold(b, who, args)
			}
		}
	}
	v := s.signIn(b, "alice", false)
	for b.Loop() {
		if status, body := v.get("/"); status != 200 || strings.Count(body, `<article`) != 50 {
			b.Fatalf("the page is %d with %d calls", status, strings.Count(body, `<article`))
		}
	}
}
