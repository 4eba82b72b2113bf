package reach

import (
	"strings"
	"testing"
)

// FuzzParseAddress: what passes is one bare address, and reads the same when
// it is put together again.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"a@example.com", "A <a@example.com>", `"a b"@example.com`, "a@b@c", "a@[::1]", "a@example.com,b@example.com", "a@EXAMPLE.com."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseAddress(s)
		if err != nil {
			return
		}
		if strings.ContainsAny(s, " ,;<>\"\r\n\x00()[]\\") || strings.Count(s, "@") != 1 {
			t.Fatalf("ParseAddress(%q) = %+v, want a refusal", s, r)
		}
		again, err := ParseAddress(r.Local + "@" + r.Domain)
		if err != nil || again != r {
			t.Fatalf("ParseAddress(%q) = %+v, put together again %+v, %v", s, r, again, err)
		}
		if !r.Covers(r) || !(Recipient{Domain: r.Domain}).Covers(r) || (Recipient{Local: "x" + r.Local, Domain: r.Domain}).Covers(r) {
			t.Fatalf("covers is wrong for %+v", r)
		}
	})
}
