package browser_test

import (
	"slices"
	"strings"
	"testing"
)

const shopPage = `<!doctype html><title>A shop</title>
<h1>Welcome</h1><p>Buy <b>good</b> things.</p>
<form onsubmit="document.querySelector('#out').textContent = 'bought ' + n.value + ' in ' + c.value + (g.checked ? ' as a gift' : ''); return false">
<label>Name <input id=n name=n></label>
<label>Colour <select id=c><option value=r>red<option value=b>blue</select></label>
<label><input type=checkbox id=g> Gift</label>
<button>Buy</button></form>
<a href="/next">Next page</a>
<div id=out></div>`

func TestAPageIsUsed(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"/": shopPage, "/next": "<title>Next</title><p>The second page."})
	g := newGate(t, s.addr)
	wants(t, g.must("navigate", named{"url": s.URL + "/"}), `<untrusted source="`+s.URL, "A shop (tab t1)")
	t.Log(g.must("snapshot", named{}))
	g.must("type", named{"ref": g.ref(`textbox "Name"`), "text": "tea"})
	g.must("select", named{"ref": g.ref(`combobox "Colour"`), "values": []string{"blue"}})
	g.must("click", named{"ref": g.ref(`checkbox "Gift"`)})
	g.must("click", named{"ref": g.ref(`button "Buy"`)})
	wants(t, g.must("snapshot", named{}), "bought tea in b as a gift")
	t.Log(g.must("snapshot", named{}))
	wants(t, g.must("click", named{"ref": g.ref(`link "Next page"`)}), "/next", `clicked link "Next page"`)
	wants(t, g.must("snapshot", named{}), "The second page.")
	res := g.in("s", "screenshot", named{})
	if len(res.Parts) != 1 || res.Parts[0].MediaType != "image/png" {
		t.Errorf("screenshot = %+v", res)
	}
	wants(t, g.must("evaluate", named{"expression": "1+1"}), "2")
	wants(t, g.must("close", named{}), "the browser is closed")
}

// An element is shown as the whole page shows it, with the frames in it.
func TestAnElementIsShownByItself(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"/": `<title>parts</title><nav aria-label="way"><a href="/a">first</a> <a href="/b">second</a><iframe title="inner" src="/frame"></iframe></nav>` +
			`<section aria-label="other"><button onclick="document.querySelector('nav').remove()">take away</button><button onclick="document.querySelector('nav').hidden = true">hide</button><iframe title="far" src="/far"></iframe></section>`,
		"/frame": `<p>within</p><button>press</button>`, "/far": `<p>not within</p>`,
	})
	g := newGate(t, s.addr)
	g.must("navigate", named{"url": s.URL + "/"})
	whole := g.must("snapshot", named{})
	part := g.must("snapshot", named{"ref": g.ref(`navigation "way"`)})
	lines := func(text string) (list []string) {
		for line := range strings.Lines(text) {
			if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "- ") {
				list = append(list, trimmed)
			}
		}
		return list
	}
	shown := lines(part)
	if len(shown) < 5 || !slices.Equal(shown, lines(whole)[:len(shown)]) {
		t.Errorf("the element is shown as\n%s\nand the page as\n%s", part, whole)
	}
	wants(t, part, `link "second"`, `text: "within"`, `button "press"`)
	if strings.Contains(part, "take away") || strings.Contains(part, "not within") {
		t.Errorf("beside the element there is more:\n%s", part)
	}
	wants(t, g.must("snapshot", named{"ref": g.ref(`button "press"`)}), `- button "press"`)
	nav := g.ref(`navigation "way"`)
	g.must("click", named{"ref": g.ref("hide")})
	wants(t, g.refused("snapshot", named{"ref": nav}), "is not shown on this page any more")
	g.must("click", named{"ref": g.ref("take away")})
	wants(t, g.refused("snapshot", named{"ref": nav}), "is not shown on this page any more")
	wants(t, g.refused("snapshot", named{"ref": "e999"}), "is no element of this page")
}

// Texts come as the page has them, in whatever alphabet, and values as JSON has them.
func TestTextsKeepTheirCharacters(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"/": `<title>Ünï 題</title><h2>Grüße 世界 😀</h2><button aria-label="naïve">b</button><input aria-label="é" value="ß">` +
		`<input type=range aria-label=r value=3><label><input type=checkbox checked disabled> <b>two</b> words</label><div tabindex=0>foc</div><ul><li>one<li>two</ul>`})
	g := newGate(t, s.addr)
	wants(t, g.must("navigate", named{"url": s.URL + "/"}), "Ünï 題 (tab t1)")
	wants(t, g.must("snapshot", named{}), `- heading "Grüße 世界 😀" level=2 [e1]`, `- button "naïve" [e2]`, `- textbox "é" value="ß" [e3]`, `- slider "r" value="3" [e4]`,
		`- checkbox "two words" disabled checked=true [e5]`, `- generic [e6]`, `text: "foc"`, `- list [e7]`)
	g.must("type", named{"ref": "e3", "text": "\"Łódź\\ 北京 🎉\x00"})
	wants(t, g.must("snapshot", named{}), "Łódź\\\\ 北京 🎉")
	for expression, want := range map[string]string{
		`"é\u202e😀\ud800<&\u0001\"\\/"`:                          `"\u00e9\u202e\ud83d\ude00\ud800<&\u0001\"\\/"`,
		`[0.1,1e21,1e-7,-0,NaN,2**31,-(2**31),123456789012,0.5]`: `[0.1,1e+21,1e-7,0,null,2147483648,-2147483648,123456789012,0.5]`,
		`({"ключ":{"a":[null,true,false,{}]}})`:                  `{"\u043a\u043b\u044e\u0447":{"a":[null,true,false,{}]}}`,
		`-0`: `-0`,
	} {
		if got := g.must("evaluate", named{"expression": expression}); !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("%s = %s, want %s", expression, got, want)
		}
	}
	wants(t, g.refused("evaluate", named{"expression": "let a = 1; for (let i = 0; i < 400; i++) a = [a]; a"}), "the script did not end")
}
