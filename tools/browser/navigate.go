package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/scoped"
)

// The moments until which browser_navigate waits, and what the browser calls them.
const untilLoad, untilDOM, untilIdle = "load", "dom", "idle"

var lifecycleNames = map[string]string{untilLoad: "load", untilDOM: "DOMContentLoaded", untilIdle: "networkIdle"}

type navigateInput struct {
	URL    string `json:"url" jsonschema:"Absolute http or https address."`
	Until  string `json:"until,omitempty" jsonschema:"What to wait for: the page with its pictures (load), the page alone (dom), or that it loads no more (idle)."`
	NewTab bool   `json:"new_tab,omitempty" jsonschema:"Open it in a new tab, which is then the one that is shown."`
}

// checkAddress refuses addresses that are none of the web. A page cannot open them either.
func checkAddress(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, sallyport.InputInvalid("the address cannot be read")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, sallyport.InputInvalid("only absolute http and https addresses can be opened")
	case u.User != nil:
		return nil, sallyport.InputInvalid("the address holds a user name")
	}
	return u, nil
}

func (f *family) navigatePage(ctx context.Context, c *sallyport.Call, in navigateInput) (sallyport.Result, error) {
	u, err := checkAddress(in.URL)
	if err != nil {
		return sallyport.Result{}, err
	}
	if err := scoped.Probe(c, "network", u.String()); err != nil {
		return sallyport.Result{}, err
	}
	s, leave, err := f.table.enterSession(ctx, c)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer leave()
	r, err := f.openBrowser(ctx, c, s, u, in)
	if lost, ok := errors.AsType[lostBrowser](err); ok && ctx.Err() == nil {
		// It had ended before the call, or the page ended it: then it does so again.
		f.table.keepGone(s, string(lost))
		r, err = f.openBrowser(ctx, c, s, u, in)
	}
	return r, err
}

// openBrowser opens an address in the browser of a session, which it starts where there is none.
func (f *family) openBrowser(ctx context.Context, c *sallyport.Call, s *browserSession, u *url.URL, in navigateInput) (sallyport.Result, error) {
	b, err := f.table.openBrowser(ctx, c, s, &f.patience)
	if err != nil {
		return sallyport.Result{}, err
	}
	p := &pageCall{Call: c, b: b}
	if why := f.table.takeGone(s); why != "" {
		p.lines = append(p.lines, "a new browser was started; the last one is gone, with its pages: "+why)
	}
	opening, cancel := context.WithTimeout(ctx, f.patience.act)
	defer cancel()
	if in.NewTab {
		p.tab, err = b.openTab(opening)
	} else {
		p.tab, err = b.ensureTab(opening)
	}
	if err != nil {
		return sallyport.Result{}, newFailure("no tab could be opened", err)
	}
	return f.runCall(ctx, s, p, func(ctx context.Context, p *pageCall) (sallyport.Result, error) {
		return p.load(ctx, u, lifecycleNames[in.Until])
	})
}

// silencePage leaves a page without letting it run on: one that leads elsewhere again and
// again would do so after the next one came.
func (t *tab) silencePage(ctx context.Context) error {
	if err := t.askBrowser(ctx, "Emulation.setScriptExecutionDisabled", object{"value": true}, nil); err != nil {
		return err
	}
	t.b.tellBrowser(t.session, "Page.stopLoading", nil)
	err := t.askBrowser(ctx, "Page.navigate", object{"url": "about:blank"}, nil)
	return errors.Join(err, t.askBrowser(ctx, "Emulation.setScriptExecutionDisabled", object{"value": false}, nil))
}

// load opens an address and waits until it has loaded, or another document in its place.
func (p *pageCall) load(ctx context.Context, u *url.URL, until string) (sallyport.Result, error) {
	within, cancel := context.WithTimeout(ctx, p.b.patience.load)
	defer cancel()
	var got struct {
		LoaderID   string `json:"loaderId"`
		Error      string `json:"errorText"`
		IsDownload bool   `json:"isDownload"`
	}
	p.b.mu.Lock()
	had, busy := len(p.b.downloads), p.tab.loading || p.tab.loader != p.tab.navigated // by itself, or by a click
	p.b.mu.Unlock()
	if busy {
		if err := p.tab.silencePage(within); err != nil && within.Err() == nil {
			return sallyport.Result{}, newFailure("cannot leave the page that is open", err)
		}
	}
	err := p.tab.askBrowser(within, "Page.navigate", object{"url": u.String()}, &got)
	p.b.mu.Lock()
	p.tab.navigated = got.LoaderID
	p.b.mu.Unlock()
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		p.b.tellBrowser(p.tab.session, "Page.stopLoading", nil)
		return sallyport.Result{}, newFailure("cannot open "+shownAddress(u), err)
	case err != nil:
		return sallyport.Result{}, newFailure("cannot open "+shownAddress(u), err)
	case got.IsDownload || got.Error == "net::ERR_ABORTED":
		soon, cancel := context.WithTimeout(ctx, downloadTime)
		defer cancel()
		_ = p.b.awaitCondition(soon, func() bool { return len(p.b.downloads) > had }) // It may be no download.
		p.lines = append(p.lines, "the address leads to a download or to no page; the page stays what it was")
		return sallyport.OK(""), nil
	case got.Error != "":
		return sallyport.Result{}, newFailure("cannot open "+shownAddress(u)+": "+text.Clip(text.OneLine(got.Error), 200)+hostHint(got.Error), nil)
	}
	err = p.b.awaitCondition(within, func() bool {
		return p.tab.crashed || p.tab.reached[until] && (got.LoaderID == "" || slices.Contains(p.tab.loaders, got.LoaderID))
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		p.lines = append(p.lines, fmt.Sprintf("the page has not loaded in %d seconds and goes on loading", int(p.b.patience.load.Seconds())))
		return sallyport.OK(""), nil
	}
	if err != nil {
		return sallyport.Result{}, err
	}
	return p.describeStatus(within), nil
}

// describeStatus adds the status of the page's answer, which the page itself knows.
func (p *pageCall) describeStatus(ctx context.Context) sallyport.Result {
	r := sallyport.OK("")
	var status int
	if p.tab.runApart(ctx, "performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0", &status) == nil && status >= 100 {
		r.Structured = map[string]any{"status": status}
		if status >= 400 {
			p.lines = append(p.lines, fmt.Sprintf("the server answered with the status %d", status))
		}
	}
	return r
}

// hostHint says what the proxy's refusal looks like from within the browser.
func hostHint(fault string) string {
	if strings.Contains(fault, "TUNNEL_CONNECTION_FAILED") {
		return " (a host on the way is not granted, or does not answer)"
	}
	return ""
}

func shownAddress(u *url.URL) string { return text.ClipBytes(u.Redacted(), maxShownURL) }
