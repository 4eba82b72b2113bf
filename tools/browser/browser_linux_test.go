package browser_test

import "testing"

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
