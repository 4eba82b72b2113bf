package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

type snapshotInput struct {
	Ref      string `json:"ref,omitempty" jsonschema:"Show only this element and what is in it."`
	FromLine int    `json:"from_line,omitempty" jsonschema:"First line to show, to continue a long outline."`
}

func (f *family) takeSnapshot(ctx context.Context, c *sallyport.Call, in snapshotInput) (sallyport.Result, error) {
	return f.onPage(ctx, c, func(ctx context.Context, p *pageCall) (sallyport.Result, error) {
		within, cancel := context.WithTimeout(ctx, f.patience.load)
		defer cancel()
		lines, note, err := p.tab.readOutline(within, in.Ref)
		if err != nil {
			return sallyport.Result{}, newFailure("the page cannot be shown", err)
		}
		if note != "" {
			p.lines = append(p.lines, note)
		}
		from := max(in.FromLine-1, 0)
		if from > 0 && from >= len(lines) {
			return sallyport.Result{}, sallyport.InputInvalid(fmt.Sprintf("the outline has %d lines", len(lines)))
		}
		body, shown := fitLines(lines[from:], p.countRoom())
		if from > 0 || from+shown < len(lines) {
			line := fmt.Sprintf("lines %d to %d of %d", from+1, from+shown, len(lines))
			if from+shown < len(lines) {
				line += fmt.Sprintf("; continue with from_line=%d, or show one element with ref", from+shown+1)
			}
			p.lines = append(p.lines, line)
		}
		if len(lines) == 0 {
			body = "(the page is empty)"
		}
		return sallyport.OK(body), nil
	})
}

// countRoom is how many code points an outline may have, beside the lines above it.
func (p *pageCall) countRoom() int {
	room := resultChars
	if p.ResultBudget > 0 {
		room = min(room, p.ResultBudget)
	}
	return max(room-4000, room/2)
}

// fitLines returns the first lines that fit into a number of code points, one at least.
func fitLines(lines []string, room int) (body string, shown int) {
	for _, line := range lines {
		size := len([]rune(line)) + 1
		if size > room && shown > 0 {
			break
		}
		room -= size
		shown++
	}
	return strings.Join(lines[:shown], "\n"), shown
}

type waitInput struct {
	Text    string `json:"text,omitempty" jsonschema:"Text that the page is to show."`
	Gone    string `json:"gone,omitempty" jsonschema:"Text that the page is to show no more."`
	Seconds int    `json:"seconds,omitempty" jsonschema:"How long to wait at most."`
}

func (f *family) waitForPage(ctx context.Context, c *sallyport.Call, in waitInput) (sallyport.Result, error) {
	return f.onPage(ctx, c, func(ctx context.Context, p *pageCall) (sallyport.Result, error) {
		within, cancel := context.WithTimeout(ctx, time.Duration(in.Seconds)*time.Second)
		defer cancel()
		done, err := p.tab.waitFor(within, in.Text, in.Gone)
		switch {
		case err == nil:
			return sallyport.OK(done), nil
		case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			return sallyport.Result{}, newFailure("cannot wait for the page", err)
		case in.Text == "" && in.Gone == "":
			return sallyport.OK(fmt.Sprintf("waited %d seconds", in.Seconds)), nil
		default:
			return sallyport.Result{}, newFailure(fmt.Sprintf("it did not happen within %d seconds", in.Seconds), nil)
		}
	})
}

type screenshotInput struct {
	Ref   string `json:"ref,omitempty" jsonschema:"Element to show; without it, the window."`
	Whole bool   `json:"whole,omitempty" jsonschema:"Show the whole page, also what the window does not show."`
}

func (f *family) takeScreenshot(ctx context.Context, c *sallyport.Call, in screenshotInput) (sallyport.Result, error) {
	return f.onPage(ctx, c, func(ctx context.Context, p *pageCall) (sallyport.Result, error) {
		within, cancel := context.WithTimeout(ctx, f.patience.load)
		defer cancel()
		var part *area
		if in.Ref != "" {
			n, err := p.tab.findNode(in.Ref)
			if err != nil {
				return sallyport.Result{}, err
			}
			if part, err = p.tab.areaOf(within, n); err != nil {
				return sallyport.Result{}, err
			}
		}
		picture, note, err := p.tab.takePicture(within, part, in.Whole && part == nil)
		if err != nil {
			return sallyport.Result{}, err
		}
		r := sallyport.OK(note)
		r.Parts = []sallyport.Part{picture}
		return r, nil
	})
}

type tabsInput struct {
	Action string `json:"action,omitempty" jsonschema:"What to do."`
	Tab    string `json:"tab,omitempty" jsonschema:"Tab to show or to close, such as t2."`
}

func (f *family) changeTabs(ctx context.Context, c *sallyport.Call, in tabsInput) (sallyport.Result, error) {
	if (in.Action == tabsList) != (in.Tab == "") {
		return sallyport.Result{}, sallyport.InputInvalid("show and close need a tab, list has none")
	}
	return f.onPage(ctx, c, func(ctx context.Context, p *pageCall) (sallyport.Result, error) {
		within, cancel := context.WithTimeout(ctx, f.patience.act)
		defer cancel()
		if in.Tab != "" {
			t := p.b.findTab(in.Tab)
			if t == nil {
				return sallyport.Result{}, sallyport.InputInvalid("no tab has this id; browser_tabs lists them")
			}
			if err := p.b.changeTab(within, t, in.Action); err != nil {
				return sallyport.Result{}, newFailure("cannot "+in.Action+" "+t.id, err)
			}
		}
		list, current := p.b.listTabs(within)
		if current != nil {
			p.tab = current
		}
		var b strings.Builder
		rows := []any{}
		for _, at := range list {
			mark := " "
			if current != nil && at.tab == current.id {
				mark = "*"
			}
			fmt.Fprintf(&b, "%s %s %s %s\n", mark, at.tab, at.url, quoteName(at.title))
			rows = append(rows, map[string]any{"tab": at.tab, "url": at.url, "title": at.title, "shown": mark == "*"})
		}
		r := sallyport.OK(strings.TrimSuffix(b.String(), "\n"))
		r.Structured = map[string]any{"tabs": rows}
		return r, nil
	})
}

type saveInput struct {
	Download string `json:"download" jsonschema:"Download, such as d1."`
	Path     string `json:"path" jsonschema:"File to write: absolute, or relative to the workspace."`
}

func (f *family) saveDownload(ctx context.Context, c *sallyport.Call, in saveInput) (sallyport.Result, error) {
	return f.onPage(ctx, c, func(ctx context.Context, p *pageCall) (sallyport.Result, error) {
		within, cancel := context.WithTimeout(ctx, f.patience.load)
		defer cancel()
		d, err := p.b.finishDownload(within, in.Download)
		if err != nil {
			return sallyport.Result{}, err
		}
		content, err := p.b.readDownload(within, d)
		if err != nil {
			return sallyport.Result{}, newFailure("the download cannot be read", err)
		}
		if err := c.FS.WriteFile(in.Path, content); err != nil {
			return sallyport.Result{}, err
		}
		r := sallyport.OK(fmt.Sprintf("wrote %d bytes of %s (%s) to %s", len(content), d.id, quoteName(d.name), in.Path))
		r.Structured = map[string]any{"path": in.Path, "bytes": len(content), "name": d.name}
		return r, nil
	})
}

type closeInput struct{}

func (f *family) endBrowser(ctx context.Context, c *sallyport.Call, _ closeInput) (sallyport.Result, error) {
	s, leave, err := f.table.enterSession(ctx, c)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer leave()
	was := f.table.current(s)
	if was != nil {
		f.table.dropBrowser(s, "")
	}
	r := sallyport.OK("the browser is closed")
	if why := f.table.takeGone(s); why != "" {
		r.Value = "the browser was gone already: " + why
	} else if was == nil {
		r.Value = "no browser is open"
	}
	r.Source = "browser"
	return r, nil
}
