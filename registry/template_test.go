package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestMatchingIsBounded: a server lists what is slow to match, a thousand times,
// and has the agent ask for long URIs.
func TestMatchingIsBounded(t *testing.T) {
	t.Parallel()
	slow := &declarationChecker{tool: &sallyport.Tool{Name: "slow", Form: sallyport.FormResource}}
	for i := range maxResources {
		slow.tool.Resources = append(slow.tool.Resources, sallyport.Resource{Name: "n", Template: fmt.Sprintf("mem:{+a,b,c,d,e,f,g,h*}!%d", i)})
	}
	plain := &declarationChecker{tool: &sallyport.Tool{Name: "plain", Form: sallyport.FormResource, Resources: []sallyport.Resource{
		{Name: "n", Template: "mem:{+path}"}, {Name: "n", Template: "mem:/{a}/{b}{?c,d}"},
	}}}
	r, p := slow.compileResources(), plain.compileResources()
	if len(slow.faults)+len(plain.faults) > 0 {
		t.Fatal(slow.faults, plain.faults)
	}
	if r.match("mem:x!7") != readsFamily || p.match("mem:"+strings.Repeat("a/", maxURI/2-2)) != readsFamily {
		t.Error("a URI that is quick to match is not read")
	}
	if long := "mem:" + strings.Repeat("a,", 100) + "!7"; r.match(long) != readsNot {
		t.Errorf("matching %d bytes with a cost of %d went on", len(long), r.cost)
	}
}

// FuzzTemplate holds every template to what a string can expand to: whatever
// matches has no character that no expansion gives, and what is before the
// first variable is always there.
func FuzzTemplate(f *testing.F) {
	for _, seed := range [][2]string{
		{"file:///{name}", "file:///../b"},
		{"mem:{+path}/x", "mem:a/x"},
		{"mem:a{?x,y*}", "mem:a?x=1&y=2"},
		{"mem:{a:3}{;b}", "mem:abc;b"},
		{"m:(a|b)*{x}", "m:(a|b)*c"},
		{"m:{x}\\E.*", "m:a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, uri string) {
		tpl, err := checkResource(&sallyport.Resource{Name: "n", Template: text})
		if err != nil {
			return
		}
		literal, _, found := strings.Cut(text, "{")
		if !tpl.Match(uri) {
			if !found && uri == text {
				t.Errorf("%q does not match itself", text)
			}
			return
		}
		if !strings.HasPrefix(uri, literal) || !found && uri != text {
			t.Errorf("%q matches %q", text, uri)
		}
		rest := uri[len(literal):]
		for _, r := range rest {
			if r <= ' ' || strings.ContainsRune("\\\"<>^`{|}\x7f", r) || r > 0x7f && !strings.ContainsRune(text, r) {
				t.Errorf("%q matches %q", text, uri)
			}
		}
		if !strings.ContainsAny(text, "+#") && strings.Count(rest, "/") > strings.Count(text, "/") && !strings.Contains(text, "{/") {
			t.Errorf("%q matches %q, which has a segment more", text, uri)
		}
	})
}
