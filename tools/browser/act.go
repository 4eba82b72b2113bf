package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// reactTime is how long a page has to begin with what an action leads to.
const reactTime = 50 * time.Millisecond

// downloadTime is how long a browser may take to tell of a download, once an address has
// led to no page.
const downloadTime = time.Second

// point is a place in the window, in pixels.
type point struct{ x, y float64 }

// gone turns what the browser says of a node that is not there any more into words for
// the caller.
func (n pageElement) gone(err error) error {
	refused, ok := errors.AsType[*protocolError](err)
	if !ok {
		return newFailure("cannot reach "+n.ref, err)
	}
	for _, words := range []string{"No node", "not find node", "detached", "not belong to the document"} {
		if strings.Contains(refused.Message, words) {
			return sallyport.InputInvalid(n.ref + " is no element of this page as it is now; browser_snapshot shows those there are")
		}
	}
	if strings.Contains(refused.Message, "layout object") || strings.Contains(refused.Message, "content quads") {
		return sallyport.InputInvalid(n.ref + " is not visible on the page")
	}
	return newFailure("cannot reach "+n.ref, err)
}

// locateElement scrolls to a node and returns its middle.
func (t *tab) locateElement(ctx context.Context, n pageElement) (p point, err error) {
	if err := t.askBrowser(ctx, "DOM.scrollIntoViewIfNeeded", object{"backendNodeId": n.id}, nil); err != nil {
		return p, n.gone(err)
	}
	var got struct {
		Quads [][]float64 `json:"quads"`
	}
	if err := t.askBrowser(ctx, "DOM.getContentQuads", object{"backendNodeId": n.id}, &got); err != nil {
		return p, n.gone(err)
	}
	for _, q := range got.Quads {
		if len(q) == 8 && (q[0] != q[4] || q[1] != q[5]) {
			return point{(q[0] + q[2] + q[4] + q[6]) / 4, (q[1] + q[3] + q[5] + q[7]) / 4}, nil
		}
	}
	return p, sallyport.InputInvalid(n.ref + " is not visible on the page")
}

// checkReachable refuses a click that something else would get.
func (t *tab) checkReachable(ctx context.Context, n pageElement, p point) error {
	var hit struct {
		DOM int64 `json:"backendNodeId"`
	}
	err := t.askBrowser(ctx, "DOM.getNodeForLocation", object{"x": int(p.x), "y": int(p.y), "includeUserAgentShadowDOM": false, "ignorePointerEventsNone": false}, &hit)
	if err != nil || hit.DOM == n.id {
		return nil // What cannot be told is left to the page.
	}
	target, err := t.resolveHandle(ctx, n.id)
	if err != nil {
		return n.gone(err)
	}
	other, err := t.resolveHandle(ctx, hit.DOM)
	if err != nil {
		return nil
	}
	defer t.b.tellBrowser(t.session, "Runtime.releaseObjectGroup", object{"objectGroup": "call"})
	var cover string
	err = t.callOn(ctx, target, `function(hit) {
		const up = n => n.parentNode ?? n.host ?? null;
		for (let n = hit; n; n = up(n)) if (n === this || n.control === this) return '';
		for (let n = this; n; n = up(n)) if (n === hit) return '';
		const e = hit.nodeType === 1 ? hit : hit.parentElement;
		return e ? '<' + e.localName + '> ' + (e.innerText ?? '').slice(0, 80) : '';
	}`, []any{nodeHandle(other)}, &cover)
	if err != nil || cover == "" {
		return nil
	}
	return newFailure(fmt.Sprintf("%s lies in front of %s, and would get the click", quoteName(text.OneLine(cover)), n.ref), nil)
}

// clickElement presses a mouse button on a node.
func (t *tab) clickElement(ctx context.Context, n pageElement, button string, count int) error {
	p, err := t.locateElement(ctx, n)
	if err != nil {
		return err
	}
	if err := t.checkReachable(ctx, n, p); err != nil {
		return err
	}
	mouse := func(kind string, presses int) error {
		e := object{"type": kind, "x": p.x, "y": p.y}
		if presses > 0 {
			e["button"], e["clickCount"] = button, presses
		}
		return t.askBrowser(ctx, "Input.dispatchMouseEvent", e, nil)
	}
	if err := mouse("mouseMoved", 0); err != nil {
		return newFailure("cannot click", err)
	}
	for i := range count {
		if err := mouse("mousePressed", i+1); err != nil {
			return newFailure("cannot click", err)
		}
		if err := mouse("mouseReleased", i+1); err != nil {
			return newFailure("cannot click", err)
		}
	}
	return nil
}

// typeText puts text into a field, in place of what it has unless it is added.
func (t *tab) typeText(ctx context.Context, n pageElement, s string, add bool) error {
	if err := t.askBrowser(ctx, "DOM.scrollIntoViewIfNeeded", object{"backendNodeId": n.id}, nil); err != nil {
		return n.gone(err)
	}
	if err := t.askBrowser(ctx, "DOM.focus", object{"backendNodeId": n.id}, nil); err != nil {
		if refused, ok := errors.AsType[*protocolError](err); ok && strings.Contains(refused.Message, "focusable") {
			return sallyport.InputInvalid(n.ref + " takes no text: it cannot be focused")
		}
		return n.gone(err)
	}
	handle, err := t.resolveHandle(ctx, n.id)
	if err != nil {
		return n.gone(err)
	}
	defer t.b.tellBrowser(t.session, "Runtime.releaseObjectGroup", object{"objectGroup": "call"})
	var state string
	err = t.callOn(ctx, handle, `function(add) {
		const field = 'value' in this && 'select' in this;
		if (!field && !this.isContentEditable) return 'takes no text';
		if (this.disabled) return 'is disabled';
		if (this.readOnly) return 'is read-only';
		if (field) {
			if (add) { try { this.setSelectionRange(this.value.length, this.value.length) } catch {} } else this.select();
			return '';
		}
		const selection = this.ownerDocument.getSelection();
		selection.selectAllChildren(this);
		if (add) selection.collapseToEnd();
		return '';
	}`, []any{add}, &state)
	if err != nil {
		return newFailure("cannot type into "+n.ref, err)
	}
	if state != "" {
		return sallyport.InputInvalid(n.ref + " " + text.Clip(text.OneLine(state), 100))
	}
	if s == "" {
		if add {
			return nil
		}
		return t.pressKey(ctx, keyPress{key: "Delete", code: "Delete", number: 46})
	}
	if err := t.askBrowser(ctx, "Input.insertText", object{"text": s}, nil); err != nil {
		return newFailure("cannot type into "+n.ref, err)
	}
	return nil
}

// chooseOptions selects options of a list by their value or their text, and returns the texts of
// those that are selected then.
func (t *tab) chooseOptions(ctx context.Context, n pageElement, values []string) (chosen []string, err error) {
	handle, err := t.resolveHandle(ctx, n.id)
	if err != nil {
		return nil, n.gone(err)
	}
	defer t.b.tellBrowser(t.session, "Runtime.releaseObjectGroup", object{"objectGroup": "call"})
	var res struct {
		Fault  string   `json:"fault"`
		Chosen []string `json:"chosen"`
	}
	err = t.callOn(ctx, handle, `function(values) {
		if (this.localName !== 'select') return {fault: 'is no list to choose from'};
		if (this.disabled) return {fault: 'is disabled'};
		if (values.length > 1 && !this.multiple) return {fault: 'takes one value'};
		const all = [...this.options], name = o => o.label.trim() || o.text.trim();
		const found = values.map(v => all.find(o => o.value === v) ?? all.find(o => name(o) === v.trim()));
		const missing = values.filter((v, i) => !found[i] || found[i].disabled);
		if (missing.length) return {fault: 'has no such option; it has ' + all.filter(o => !o.disabled).slice(0, 50).map(o => JSON.stringify(name(o).slice(0, 80))).join(', ')};
		for (const o of all) if (this.multiple || found.includes(o)) o.selected = found.includes(o);
		this.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
		this.dispatchEvent(new Event('change', {bubbles: true}));
		return {chosen: [...this.selectedOptions].map(name).slice(0, 50)};
	}`, []any{values}, &res)
	if err != nil {
		return nil, newFailure("cannot choose in "+n.ref, err)
	}
	if res.Fault != "" {
		// The page chose the words: they are no text of the gate.
		return nil, newFailure("cannot choose in "+n.ref, errors.New(text.Clip(text.OneLine(res.Fault), 2000)))
	}
	return res.Chosen, nil
}

// awaitPage waits for what an action leads to: the page that it opens, if it opens one.
func (t *tab) awaitPage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.b.patience.act)
	defer cancel()
	timer := time.NewTimer(reactTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-t.b.ended:
		return t.b.whyEnded()
	}
	err := t.b.awaitCondition(ctx, func() bool { return !t.loading || t.crashed })
	if errors.Is(err, context.DeadlineExceeded) {
		t.b.mu.Lock()
		t.b.addNote("the page is still loading")
		t.b.mu.Unlock()
		return nil
	}
	if err != nil {
		return err
	}
	// The browser tells of a download after it has told that the loading ended.
	soon, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	err = t.b.awaitCondition(soon, func() bool { return !t.fruitless || t.crashed })
	t.b.mu.Lock()
	t.fruitless = false
	t.b.mu.Unlock()
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // It was no download.
	}
	return err
}
