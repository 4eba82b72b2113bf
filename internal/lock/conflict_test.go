package lock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport/internal/lock"
)

// TestConfusableNames lists pairs that a reader takes for one another.
func TestConfusableNames(t *testing.T) {
	for _, tt := range []struct{ name, a, b string }{
		{"case", "read_file", "Read_File"},
		{"capital i", "list", "Iist"},
		{"one", "list", "1ist"},
		{"bar", "list", "|ist"},
		{"zero", "zoom", "z00m"},
		{"dash", "read-file", "read_file"},
		{"dot", "read.file", "read_file"},
		{"rn", "form", "forrn"},
		{"vv", "write", "vvrite"},
		{"Cyrillic", "search", "sе\u0430rch"},
		{"Greek", "open", "\u03bfpen"},
		{"Armenian", "open", "\u0585pen"},
		{"full width", "read", "\uff52\uff45\uff41\uff44"},
		{"circled", "read", "\u24e1ead"},
		{"mathematical", "read", "\U0001d42b\U0001d41e\U0001d41a\U0001d41d"},
		{"mathematical digit", "v2", "v\U0001d7d0"},
		{"letter-like", "help", "\u210eelp"},
		{"Roman numeral", "call", "ca\u217c\u217c"},
		{"long s", "send", "\u017fend"},
		{"Kelvin", "kill", "\u212aill"},
		{"soft hyphen", "read", "re\u00adad"},
		{"zero width", "read", "re\u200bad"},
		{"mark", "read", "re\u0301ad"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a, b := lock.Skeleton(tt.a), lock.Skeleton(tt.b); a != b {
				t.Errorf("Skeleton gives %q and %q, want one", a, b)
			}
			list := lock.Conflicts([]lock.Ref{{Server: "s", Tool: tt.a}, {Server: "s", Tool: tt.b}})
			if len(list) == 0 {
				t.Error("Conflicts finds none")
			}
		})
	}
}

func TestNamesThatStandSideBySide(t *testing.T) {
	refs := []lock.Ref{{Tool: "read_file"}, {Tool: "READ_FILE"}}
	for _, server := range []string{"github", "gitlab", "files"} {
		for _, tool := range []string{"search", "search_all", "list", "last", "create", "readfile", "a", "b", "o", "c"} {
			refs = append(refs, lock.Ref{Server: server, Tool: tool})
		}
	}
	if list := lock.Conflicts(append(refs, refs...)); len(list) != 0 {
		t.Errorf("Conflicts = %+v, want none", list)
	}
}

func TestConflictKinds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tools []lock.Ref
		want  string
	}{
		{"collision", []lock.Ref{{"s", "a b"}, {"s", "a.b"}}, "collision [s/a b s/a.b] []"},
		{"collision of another script", []lock.Ref{{"s", "x\u4e00"}, {"s", "x_"}}, "collision [s/x_ s/x一] []"},
		{"servers that look alike", []lock.Ref{{"github", "go"}, {"glthub", "go"}}, "confusable [github/go glthub/go] []"},
		{"taken for each other when mapped", []lock.Ref{{"s", "r\u0435ad"}, {"s", "r-ad"}}, "confusable [s/r-ad s/r\u0435ad] []"},
		{"taken for each other as written", []lock.Ref{{"s", "r\u0435ad"}, {"s", "read"}}, "confusable [s/read s/r\u0435ad] []"},
		{"shadow when mapped", []lock.Ref{{"", "r_ad"}, {"s", "r\u0435ad"}}, "shadow [s/r\u0435ad] [r_ad]"},
		{"shadow", []lock.Ref{{"", "terminal"}, {"s", "terminal"}}, "shadow [s/terminal] [terminal]"},
		{"shadow that looks alike", []lock.Ref{{"", "terminal"}, {"s", "termina1"}, {"s", "other"}}, "shadow [s/termina1] [terminal]"},
		{"own tool under a server's name", []lock.Ref{{"", "mcp__s__x"}, {"s", "X"}}, "confusable [s/X] [mcp__s__x]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range lock.Conflicts(tt.tools) {
				got = append(got, fmt.Sprintf("%s %v %v", c.Kind, c.Tools, c.Own))
				if c.Message == "" {
					t.Error("a conflict without a message")
				}
			}
			if s := strings.Join(got, "|"); s != tt.want {
				t.Errorf("Conflicts = %s, want %s", s, tt.want)
			}
		})
	}
}

// TestConflictsDoNotDependOnOrder shuffles the tools.
func TestConflictsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "A", "l", "1", "rn", "m", "_", "-", "\u0430", "o", "0"})
		name := rapid.Map(rapid.SliceOfN(part, 1, 3), func(s []string) string { return strings.Join(s, "") })
		ref := rapid.Custom(func(t *rapid.T) lock.Ref {
			return lock.Ref{Server: rapid.SampledFrom([]string{"", "s", "S", "t"}).Draw(t, "server"), Tool: name.Draw(t, "tool")}
		})
		refs := rapid.SliceOfN(ref, 0, 8).Draw(t, "refs")
		want := fmt.Sprint(lock.Conflicts(refs))
		if got := fmt.Sprint(lock.Conflicts(rapid.Permutation(refs).Draw(t, "order"))); got != want {
			t.Fatalf("Conflicts = %s in one order, %s in another", want, got)
		}
		for i, a := range refs {
			for _, b := range refs[:i] {
				alike := a != b && a.Server != "" && b.Server == a.Server && lock.Skeleton(a.Tool) == lock.Skeleton(b.Tool)
				if alike && !together(lock.Conflicts(refs), a, b) {
					t.Fatalf("%s and %s are alike and in no conflict", a, b)
				}
			}
		}
	})
}

func together(list []lock.Conflict, a, b lock.Ref) bool {
	return slices.ContainsFunc(list, func(c lock.Conflict) bool {
		return slices.Contains(c.Tools, a) && slices.Contains(c.Tools, b)
	})
}
