package browser

import (
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
	"github.com/sallyport/sallyport/tools/internal/reply"
)

// evaluatePermission is what a principal needs to run scripts in pages.
const evaluatePermission = "browser:evaluate"

func (f *family) listTools() []sallyport.Tool {
	return []sallyport.Tool{
		f.navigateTool(), f.snapshotTool(), f.clickTool(), f.typeTool(), f.selectTool(), f.pressTool(), f.waitTool(),
		f.screenshotTool(), f.evaluateTool(), f.tabsTool(), f.saveTool(), f.closeTool(),
	}
}

// declareTool adds what all tools have in common.
func (f *family) declareTool(t sallyport.Tool) sallyport.Tool {
	t.Toolset, t.MaxResultChars, t.Timeout = toolset, resultChars, callTime
	t.HonoursDeadline, t.OutputIsUntrusted, t.Foreign = true, true, true
	if f.installed != nil {
		t.IsAvailable = f.installed
		t.WhyNot = func() string { return "this machine lacks the browser: the package " + binary + " of Debian" }
	}
	return t
}

// declareActing adds what tools have in common that make a page do something: it may send
// what it has to any host of the grant.
func (f *family) declareActing(t sallyport.Tool) sallyport.Tool {
	t.Capabilities = sallyport.Capabilities{
		Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}},
		Process: &sallyport.ProcessCapability{AllowedBinaries: []string{binary}},
	}
	return f.declareTool(t)
}

func (f *family) navigateTool() sallyport.Tool {
	return schema.MustTool(f.declareActing(sallyport.Tool{
		Name: "browser_navigate", Title: "Open Page",
		Description: "Open a page in the browser of this session; the first call starts it. Then browser_snapshot shows the page. " +
			"Pages reach the hosts that this role may reach. fetch_url is quicker where reading is enough.",
		Schema: args.Schema[navigateInput](func(get func(string) args.Property) {
			get("url").Length(1, reply.MaxURLBytes)
			get("until").OneOf(untilLoad, untilDOM, untilIdle).Default(untilLoad)
		}),
		Touches: []sallyport.Touch{{Capability: "network", Argument: "url"}, {Capability: "process", Item: binary}},
	}), f.navigatePage)
}

func (f *family) snapshotTool() sallyport.Tool {
	return schema.MustTool(f.declareTool(sallyport.Tool{
		Name: "browser_snapshot", Title: "Show Page",
		Description: "Show the page as the outline that assistive technology sees: roles, names, values, and in brackets a ref for each element, " +
			"such as [e5], for the other browser tools. A ref stays the same as long as the element is there.",
		Schema: args.Schema[snapshotInput](func(get func(string) args.Property) {
			get("ref").Length(1, maxRefChars)
			get("from_line").Min(1)
		}),
		ReadOnly: true,
	}), f.takeSnapshot)
}

func (f *family) clickTool() sallyport.Tool {
	return schema.MustTool(f.declareActing(sallyport.Tool{
		Name: "browser_click", Title: "Click",
		Description: "Click an element of the page, given by its ref of browser_snapshot.",
		Schema: args.Schema[clickInput](func(get func(string) args.Property) {
			get("ref").Length(1, maxRefChars)
			get("button").OneOf("left", "right", "middle").Default("left")
		}),
	}), f.clickElement)
}

func (f *family) typeTool() sallyport.Tool {
	return schema.MustTool(f.declareActing(sallyport.Tool{
		Name: "browser_type", Title: "Type",
		Description: "Put text into a field of the page, in place of what it has. Never type secrets: the text is in the record.",
		Schema: args.Schema[typeInput](func(get func(string) args.Property) {
			get("ref").Length(1, maxRefChars)
			get("text").Length(0, maxTypedChars)
		}),
	}), f.typeText)
}

func (f *family) selectTool() sallyport.Tool {
	return schema.MustTool(f.declareActing(sallyport.Tool{
		Name: "browser_select", Title: "Choose",
		Description: "Choose options of a list of the page (a select element), by their text or value.",
		Schema: args.Schema[selectInput](func(get func(string) args.Property) {
			get("ref").Length(1, maxRefChars)
			get("values").Items(0, 50).EachLength(0, 500)
		}),
	}), f.chooseOptions)
}

func (f *family) pressTool() sallyport.Tool {
	return schema.MustTool(f.declareActing(sallyport.Tool{
		Name: "browser_press", Title: "Press Key",
		Description: "Press a key where the page has its focus: a character, or a name such as Enter, Tab, Escape, ArrowDown, PageDown or Control+a.",
		Schema:      args.Schema[pressInput](func(get func(string) args.Property) { get("key").Length(1, 40) }),
	}), f.pressKey)
}

func (f *family) waitTool() sallyport.Tool {
	return schema.MustTool(f.declareTool(sallyport.Tool{
		Name: "browser_wait", Title: "Wait for Page",
		Description: "Wait until the page shows a text, shows it no more, or has loaded; without text and gone, for the given seconds.",
		Schema: args.Schema[waitInput](func(get func(string) args.Property) {
			get("text").Length(1, 500)
			get("gone").Length(1, 500)
			get("seconds").Between(1, maxWait).Default(10)
		}),
		ReadOnly: true,
	}), f.waitForPage)
}

func (f *family) screenshotTool() sallyport.Tool {
	return schema.MustTool(f.declareTool(sallyport.Tool{
		Name: "browser_screenshot", Title: "Picture of Page",
		Description: "Take a picture of the window, of an element, or of the whole page. browser_snapshot is cheaper and has the refs.",
		Schema:      args.Schema[screenshotInput](func(get func(string) args.Property) { get("ref").Length(1, maxRefChars) }),
		ReadOnly:    true,
	}), f.takeScreenshot)
}

func (f *family) evaluateTool() sallyport.Tool {
	return schema.MustTool(f.declareActing(sallyport.Tool{
		Name: "browser_evaluate", Title: "Run Script in Page",
		Description: "Evaluate a JavaScript expression in the page and return its value as JSON; a promise is waited for.",
		Schema:      args.Schema[evaluateInput](func(get func(string) args.Property) { get("expression").Length(1, maxScriptChars) }),
		Permissions: []string{evaluatePermission},
	}), f.evaluateScript)
}

func (f *family) tabsTool() sallyport.Tool {
	return schema.MustTool(f.declareTool(sallyport.Tool{
		Name: "browser_tabs", Title: "Tabs",
		Description: "List the tabs of the browser, show another one, or close one. The other browser tools use the tab that is shown.",
		Schema: args.Schema[tabsInput](func(get func(string) args.Property) {
			get("action").OneOf(tabsList, tabsShow, tabsClose).Default(tabsList)
			get("tab").Length(1, maxRefChars)
		}),
	}), f.changeTabs)
}

func (f *family) saveTool() sallyport.Tool {
	t := f.declareTool(sallyport.Tool{
		Name: "browser_save", Title: "Save Download",
		Description: "Write a download of the browser to a file. Results of the other browser tools name downloads, such as d1.",
		Schema: args.Schema[saveInput](func(get func(string) args.Property) {
			get("download").Length(1, maxRefChars)
			get("path").Length(1, 4096)
		}),
		Touches: []sallyport.Touch{{Capability: "fs_reach.write", Argument: "path"}},
	})
	t.Capabilities.FSReach = &sallyport.FSCapability{Write: sallyport.FromPersonality()}
	return schema.MustTool(t, f.saveDownload)
}

func (f *family) closeTool() sallyport.Tool {
	return schema.MustTool(f.declareTool(sallyport.Tool{
		Name: "browser_close", Title: "Close Browser",
		Description: "End the browser of this session, with its tabs, cookies and downloads.",
	}), f.endBrowser)
}
