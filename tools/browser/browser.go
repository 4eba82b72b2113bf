// Package browser holds the tools with which an agent uses web pages as a person does:
// browser_navigate, browser_snapshot, browser_click, browser_type and their siblings.
// [New] returns a [Family], whose Tools are for a registry.
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

// Permission is what a principal needs to run scripts in pages with browser_evaluate.
const Permission = "browser:evaluate"

// Options configure a [Family]. nil means the defaults.
type Options struct {
	// Installed reports whether the machine has the browser, chromium-headless-shell;
	// where it has none, the tools are not offered. It is called for each listing and
	// call. nil means that it is there.
	Installed func() bool
}

// Family is the tools of the package with the browsers that they started. It is safe for
// concurrent use.
type Family struct {
	o        Options
	patience patience
	table    sessionTable
}

// New returns a family without browsers. The caller closes it after the last call.
func New(o *Options) *Family {
	f := &Family{
		patience: patience{load: 30 * time.Second, act: 10 * time.Second, ping: 5 * time.Second},
		table:    sessionTable{all: map[string]*browserSession{}},
	}
	if o != nil {
		f.o = *o
	}
	return f
}

// Close ends every browser and waits until it is gone. No browser can be started
// afterwards. Closing twice is safe; the error is always nil.
func (f *Family) Close() error {
	f.table.close()
	return nil
}
