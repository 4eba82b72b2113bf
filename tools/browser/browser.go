// Package browser holds the tools with which an agent uses web pages as a person does:
// browser_navigate, browser_snapshot, browser_click, browser_type and their siblings.
// [New] returns them for a registry.
//
// The browser is Chromium, as a child of the process accessor: the kernel holds it to the
// grant, and the egress proxy is its only way out, so that a page reaches the hosts of
// the grant and nothing else, however it tries. The tools speak the DevTools protocol with
// it over two pipes. Each session has a browser of its own in each role, whose profile is in
// the private memory of the child and is gone with it.
//
// What a page says was written by others: results are untrusted, bounded, and quoted where
// they could be taken for words of the tools.
package browser

import (
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// toolset is the label of the tools.
	toolset = "browser"
	// resultChars bounds a result.
	resultChars = 20_000
	// callTime bounds a call, with the start of a browser in it.
	callTime = 75 * time.Second
	// maxTypedChars bounds a text that is typed, maxScriptChars a script.
	maxTypedChars, maxScriptChars = 20_000, 20_000
	// maxWait bounds browser_wait, in seconds.
	maxWait = 30
	// maxRefChars bounds a reference and an id.
	maxRefChars = 16
)

// family is the tools of the package with the browsers that they started. It is safe for
// concurrent use.
type family struct {
	installed func() bool
	patience  patience
	table     sessionTable
}

// New returns browser_navigate, browser_snapshot, browser_click, browser_type,
// browser_select, browser_press, browser_wait, browser_screenshot, browser_evaluate,
// browser_tabs, browser_save and browser_close. The tools are offered where installed
// reports that the machine has chromium-headless-shell; it is called for each listing and
// call, and nil means that the browser is there. The caller owns the slice; the tools may be
// used by many calls at once, and those of one session run one after the other.
//
// endBrowsers ends every browser and waits until it is gone; no browser can be started
// afterwards. The caller calls it after the last call. Calling it twice is safe; the error
// is always nil.
func New(installed func() bool) (tools []sallyport.Tool, end func() error) {
	f := newFamily(installed)
	return f.listTools(), f.endBrowsers
}

func newFamily(installed func() bool) *family {
	return &family{
		installed: installed,
		patience:  patience{load: 30 * time.Second, act: 10 * time.Second, ping: 5 * time.Second},
		table:     sessionTable{all: map[string]*browserSession{}},
	}
}

func (f *family) endBrowsers() error {
	f.table.close()
	return nil
}
