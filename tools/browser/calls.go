package browser

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// maxShownHosts bounds the hosts that a result names because the page was refused them.
const maxShownHosts = 5

// pageCall is a call with the browser that it uses.
type pageCall struct {
	*sallyport.Call
	b   *chromium
	tab *tab
	// lines is what the call says above what it is asked for.
	lines []string
	// refused is the hosts that the browser was refused before.
	refused []sallyport.HostUse
}

// refusedHosts returns the hosts that the browser was refused since its start, in the order
// of their first refusal.
func (b *chromium) refusedHosts() []sallyport.HostUse {
	if r, ok := b.child.(interface{ RefusedHosts() []sallyport.HostUse }); ok {
		return r.RefusedHosts()
	}
	return nil
}

// newlyRefused names the hosts that the browser was refused since the call began.
func (p *pageCall) newlyRefused() (names []string) {
	for i, use := range p.b.refusedHosts() { // The list only grows.
		if i < len(p.refused) && use.Connections == p.refused[i].Connections {
			continue
		}
		names = append(names, text.Clip(use.Host, 100)+":"+strconv.Itoa(int(use.Port)))
	}
	return names
}

// refusalNoter is an accessor of processes that has the record of its call say which
// hosts a process is refused that an earlier call may have started.
type refusalNoter interface {
	NoteRefusals(child sallyport.Child, sinceStart bool) (done func())
}

// onPage has a call use the page that is shown. What the call returns is completed with the
// place of the page and with what happened.
func (f *family) onPage(ctx context.Context, c *sallyport.Call, do func(ctx context.Context, p *pageCall) (sallyport.Result, error)) (sallyport.Result, error) {
	s, leave, err := f.table.enterSession(ctx, c)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer leave()
	b := f.table.current(s)
	if b == nil {
		return sallyport.Result{}, errNoPage(f.table.takeGone(s))
	}
	b.mu.Lock()
	t := b.current
	b.mu.Unlock()
	if t == nil {
		return sallyport.Result{}, errNoPage("")
	}
	return f.runCall(ctx, s, &pageCall{Call: c, b: b, tab: t}, do)
}

// runCall runs a call on a page, and finds out what is wrong with a browser that did not do
// what it should.
func (f *family) runCall(ctx context.Context, s *browserSession, p *pageCall, do func(ctx context.Context, p *pageCall) (sallyport.Result, error)) (sallyport.Result, error) {
	if notes, ok := p.Process.(refusalNoter); ok {
		defer notes.NoteRefusals(p.b.child, false)()
	}
	p.refused = p.b.refusedHosts()
	r, err := do(ctx, p)
	where := p.tab.findPlace(context.WithoutCancel(ctx))
	r.Source = where.url
	if err == nil {
		return p.completeResult(r, where), nil
	}
	if p.b.whyEnded() != nil {
		f.table.current(s) // drops it
		return r, errNoPage(f.table.takeGone(s))
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = f.replaceHung(ctx, s, p, err)
	}
	if notes := p.b.takeNotes(); len(notes) > 0 {
		err = withNotes(err, notes)
	}
	return r, err
}

// replaceHung closes what does not answer: the page, or the whole browser.
func (f *family) replaceHung(ctx context.Context, s *browserSession, p *pageCall, err error) error {
	if p.b.isHung(ctx) {
		f.table.dropBrowser(s, "it did not answer any more")
		return errNoPage(f.table.takeGone(s))
	}
	quick, cancel := context.WithTimeout(ctx, f.patience.ping)
	defer cancel()
	if p.tab.askBrowser(quick, "Runtime.evaluate", object{"expression": "1"}, nil) == nil {
		return err
	}
	p.b.tellBrowser("", "Target.closeTarget", object{"targetId": p.tab.target})
	if p.b.awaitCondition(quick, func() bool { return p.b.current != p.tab }) != nil {
		f.table.dropBrowser(s, "its page did not answer any more and could not be closed")
		return errNoPage(f.table.takeGone(s))
	}
	return newFailure("the page did not answer any more, and its tab was closed", nil)
}

func withNotes(err error, notes []string) error {
	e, ok := errors.AsType[*sallyport.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Detail += "\n" + strings.Join(notes, "\n")
	if told.Code == sallyport.CodeInputInvalid {
		told.Code = sallyport.CodeExecutionFailed // pages chose words of the notes
	}
	return &told
}

// completeResult adds to a result where the page is and what happened.
func (p *pageCall) completeResult(r sallyport.Result, where tabPlace) sallyport.Result {
	head := append([]string{fmt.Sprintf("[%s] %s (tab %s)", where.url, where.title, where.tab)}, p.lines...)
	if where.crashed {
		head = append(head, "the page crashed; browser_navigate opens it again")
	}
	notes := p.b.takeNotes()
	if names := p.newlyRefused(); len(names) > 0 {
		shown := names[:min(len(names), maxShownHosts)]
		notes = append(notes, fmt.Sprintf("refused to the page: %s, of %s that the role does not reach", strings.Join(shown, ", "), text.CountOf(len(names), "host")))
	}
	head = append(head, notes...)
	r.Value = strings.TrimSuffix(strings.Join(head, "\n")+"\n\n"+r.Value, "\n\n")
	if r.Structured == nil {
		r.Structured = map[string]any{}
	}
	r.Structured["url"], r.Structured["title"], r.Structured["tab"] = where.url, where.title, where.tab
	if len(notes) > 0 {
		r.Structured["notes"] = notes
	}
	return r
}
