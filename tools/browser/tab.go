package browser

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxShownURL and maxShownTitle bound what is shown of an address and a title.
	maxShownURL, maxShownTitle = 2000, 200
	// maxShownMessage bounds the text of a dialog.
	maxShownMessage = 300
	// maxDialogs bounds the dialogs of a document.
	maxDialogs = 50
	// placeTime is how long a browser may take to say where a tab is.
	placeTime = time.Second
)

// tab is one page of a browser. What is not said otherwise, the lock of the browser
// guards.
type tab struct {
	b *chromium
	// id is the name for models, target and session those of the browser. They do not
	// change.
	id, target, session string

	url, title string
	crashed    bool
	loading    bool
	// loader is the document that is there, reached what its loading came to.
	loader    string
	loaders   []string // the newest documents, that one last
	navigated string   // the document that was asked for last
	reached   map[string]bool
	// fruitless says of the newest loading that it has brought neither a document nor a
	// download so far.
	fruitless bool
	dialogs   int
	refs      refTable
}

// askBrowser sends a command about the page.
func (t *tab) askBrowser(ctx context.Context, method string, params, out any) error {
	return t.b.askBrowser(ctx, t.session, method, params, out)
}

type object = map[string]any

// maxLoaders bounds the documents of a tab that are remembered: a page may replace itself
// by the next one, and that by another.
const maxLoaders = 64

// addTab takes in a page that was opened, unless there are too many.
func (b *chromium) addTab(e *event) {
	if e.TargetInfo.Type != "page" {
		return
	}
	if b.readerContext != "" && e.TargetInfo.Context == b.readerContext {
		b.reader = &tab{b: b, target: e.TargetInfo.TargetID, session: e.SessionID}
		b.tellBrowser(e.SessionID, "Runtime.runIfWaitingForDebugger", nil)
		return
	}
	if len(b.tabs) >= maxTabs {
		// Until it runs, the page that opened it may wait for it.
		b.tellBrowser(e.SessionID, "Runtime.runIfWaitingForDebugger", nil)
		b.tellBrowser("", "Target.closeTarget", object{"targetId": e.TargetInfo.TargetID})
		b.addNote(fmt.Sprintf("the page opened more than %d tabs; one was closed at once", maxTabs))
		return
	}
	b.opened++
	t := &tab{
		b: b, id: fmt.Sprintf("t%d", b.opened), target: e.TargetInfo.TargetID, session: e.SessionID,
		url: e.TargetInfo.URL, title: e.TargetInfo.Title, reached: map[string]bool{},
	}
	b.tabs = append(b.tabs, t)
	if b.current == nil {
		b.current = t
	} else if !b.asked {
		b.addNote("the page opened a tab: " + t.id)
	}
	if b.current != t && !b.asked {
		// The tab that is shown stays in front: the browser draws no other.
		b.tellBrowser(b.current.session, "Page.bringToFront", nil)
	}
	b.tellBrowser(t.session, "Page.enable", nil)
	b.tellBrowser(t.session, "Page.setLifecycleEventsEnabled", object{"enabled": true})
	b.tellBrowser(t.session, "Runtime.runIfWaitingForDebugger", nil)
}

func (b *chromium) removeTab(e *event) {
	i := slices.IndexFunc(b.tabs, func(t *tab) bool { return t.session == e.SessionID })
	if i < 0 {
		return
	}
	gone := b.tabs[i]
	b.tabs = slices.Delete(b.tabs, i, i+1)
	if b.current != gone {
		return
	}
	b.current = nil
	if len(b.tabs) > 0 {
		b.current = b.tabs[len(b.tabs)-1]
	}
}

func (b *chromium) markCrashed(e *event) {
	for _, t := range b.tabs {
		if t.target == e.TargetID {
			t.crashed = true
			b.addNote("the page of tab " + t.id + " crashed")
		}
	}
}

// tabOf returns the tab of an event about its page, not one of its frames.
func (b *chromium) tabOf(e *event) *tab {
	for _, t := range b.tabs {
		if t.session == e.session && (e.FrameID == "" || e.FrameID == t.target) {
			return t
		}
	}
	return nil
}

func (b *chromium) markLifecycle(e *event) {
	t := b.tabOf(e)
	if t == nil {
		return
	}
	if t.loader != e.LoaderID {
		t.loader, t.crashed, t.fruitless = e.LoaderID, false, false
		t.loaders = append(t.loaders, e.LoaderID)
		t.loaders = t.loaders[max(len(t.loaders)-maxLoaders, 0):]
		t.dialogs = 0
		clear(t.reached)
		t.refs.forgetRefs()
	}
	t.reached[e.Name] = true
}

func (b *chromium) markLoading(e *event) {
	if t := b.tabOf(e); t != nil {
		t.loading, t.fruitless = true, true
	}
}

func (b *chromium) markLoaded(e *event) {
	if t := b.tabOf(e); t != nil {
		t.loading = false
	}
}

// answerDialog answers at once, since the page waits: a message is accepted, a page that
// does not want to be left is left, and every other question is declined.
func (b *chromium) answerDialog(e *event) {
	t := b.tabOf(e)
	if t == nil {
		return
	}
	if t.dialogs++; t.dialogs == maxDialogs {
		// A page that does nothing else could not be used.
		b.tellBrowser(t.session, "Runtime.evaluate", object{"expression": "alert = confirm = prompt = () => null; null"})
		b.addNote(fmt.Sprintf("the page has shown %d dialogs and cannot show more", maxDialogs))
	}
	accept := e.Type == "alert" || e.Type == "beforeunload"
	b.tellBrowser(t.session, "Page.handleJavaScriptDialog", object{"accept": accept})
	word := "declined"
	if accept {
		word = "accepted"
	}
	b.addNote(fmt.Sprintf("the page showed a dialog (%s), which was %s: %q", e.Type, word, text.Clip(text.OneLine(text.FirstBytes(e.Message, 4*maxShownMessage)), maxShownMessage)))
}

// ensureTab returns the current tab, and opens one where there is none.
func (b *chromium) ensureTab(ctx context.Context) (*tab, error) {
	b.mu.Lock()
	t := b.current
	b.mu.Unlock()
	if t != nil {
		return t, nil
	}
	return b.openTab(ctx)
}

// openTab opens an empty tab and makes it the current one.
func (b *chromium) openTab(ctx context.Context) (*tab, error) {
	b.mu.Lock()
	full := len(b.tabs) >= maxTabs
	b.asked = !full
	b.mu.Unlock()
	if full {
		return nil, sallyport.InputInvalid(fmt.Sprintf("%d tabs are open, the most there may be; close one with browser_tabs", maxTabs))
	}
	var made struct {
		TargetID string `json:"targetId"`
	}
	if err := b.askBrowser(ctx, "", "Target.createTarget", object{"url": "about:blank"}, &made); err != nil {
		return nil, err
	}
	var opened *tab
	err := b.awaitCondition(ctx, func() bool {
		for _, t := range b.tabs {
			if t.target == made.TargetID {
				opened, b.current, b.asked = t, t, false
			}
		}
		return opened != nil
	})
	return opened, err
}

// findTab returns a tab by its id; nil when there is none.
func (b *chromium) findTab(id string) *tab {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tabs {
		if t.id == id {
			return t
		}
	}
	return nil
}

// tabPlace is where a tab is, in words that may be shown.
type tabPlace struct {
	tab, url, title string
	crashed         bool
}

// findPlace asks the browser where a tab is. When it does not answer at once, what it told
// last has to do.
func (t *tab) findPlace(ctx context.Context) tabPlace {
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	var history struct {
		Current int `json:"currentIndex"`
		Entries []struct {
			URL   string `json:"url"`
			Title string `json:"title"`
		} `json:"entries"`
	}
	err := t.askBrowser(ctx, "Page.getNavigationHistory", nil, &history)
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	if i := history.Current; err == nil && i >= 0 && i < len(history.Entries) {
		t.url, t.title = history.Entries[i].URL, history.Entries[i].Title
	}
	return tabPlace{
		t.id, text.ClipBytes(text.OneLine(t.url), maxShownURL), text.Clip(text.OneLine(text.FirstBytes(t.title, 8*maxShownTitle)), maxShownTitle), t.crashed,
	}
}

// The actions of browser_tabs.
const tabsList, tabsShow, tabsClose = "list", "show", "close"

// listTabs returns where the tabs are, in the order of their opening, and the one that is
// shown.
func (b *chromium) listTabs(ctx context.Context) (list []tabPlace, current *tab) {
	b.mu.Lock()
	tabs := slices.Clone(b.tabs)
	current = b.current
	b.mu.Unlock()
	for _, t := range tabs {
		list = append(list, t.findPlace(ctx))
	}
	return list, current
}

// changeTab shows or closes a tab.
func (b *chromium) changeTab(ctx context.Context, t *tab, action string) error {
	if action == tabsClose {
		if err := b.askBrowser(ctx, "", "Target.closeTarget", object{"targetId": t.target}, nil); err != nil {
			return err
		}
		return b.awaitCondition(ctx, func() bool { return !slices.Contains(b.tabs, t) })
	}
	b.mu.Lock()
	b.current = t
	b.mu.Unlock()
	return b.askBrowser(ctx, "", "Target.activateTarget", object{"targetId": t.target}, nil)
}
