package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/tools/browser/internal/wire"
)

const (
	// binary is the browser: the one of Debian's that needs no Unix socket, which a
	// confined child cannot make.
	binary = "chromium-headless-shell"
	// startTime bounds the start of a browser, and maxLife its life.
	startTime = 30 * time.Second
	maxLife   = 4 * time.Hour
	// maxTabs bounds the tabs of a browser: pages open them as they like.
	maxTabs = 8
	// maxNotes bounds what is told of a page between two results.
	maxNotes = 10
	// profileDir and downloadDir are in the private memory of the child, which is gone
	// with it.
	profileDir, downloadDir = "/tmp/browser", "/tmp/browser-downloads"
)

// viewWidth and viewHeight are the size of the window, in pixels.
const viewWidth, viewHeight = 1280, 800

// browserArgs are the arguments of the browser. Nothing of them keeps a page within the
// grant: the child has no network but the proxy. They have the browser use that
// proxy for everything, ask no name server, and do nothing of its own accord.
func browserArgs() []string {
	return []string{
		"--remote-debugging-pipe=cbor", "--user-data-dir=" + profileDir,
		"--window-size=" + strconv.Itoa(viewWidth) + "," + strconv.Itoa(viewHeight),
		// The child makes no namespaces; its confinement holds the browser too.
		"--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--proxy-server=http://127.0.0.1:3128", "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-quic",
		"--disable-background-networking", "--disable-component-update", "--disable-domain-reliability", "--disable-sync", "--no-pings",
		"--no-first-run", "--no-default-browser-check", "--disable-default-apps", "--disable-extensions", "--disable-breakpad",
		"--disable-crash-reporter", "--metrics-recording-only", "--password-store=basic", "--use-mock-keychain",
		"--deny-permission-prompts", "--mute-audio", "--hide-scrollbars", "--disk-cache-size=67108864",
		"--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		// One process for all frames of a page: one conversation sees them all.
		"--disable-site-isolation-trials",
		"--disable-features=IsolateOrigins,site-per-process,Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication",
	}
}

// patience is how long pages are waited for.
type patience struct {
	// load bounds the loading of a page, act what is done to one and what that leads to,
	// ping the time that a browser may take to answer whether it is there.
	load, act, ping time.Duration
}

// chromium is a running browser.
type chromium struct {
	*conversation
	child    sallyport.Child
	patience *patience // of the family

	mu      sync.Mutex
	tabs    []*tab // in the order of their opening
	current *tab
	opened  int  // tabs so far
	asked   bool // a tab is being opened that the caller asked for
	changed chan struct{}
	notes   []string
	unnoted int // notes beyond the bound
	downloadList
}

// startChromium starts a browser as a child of the call, with one empty tab.
func startChromium(ctx context.Context, c *sallyport.Call, wait *patience) (*chromium, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	b := &chromium{conversation: newConversation(), patience: wait, changed: make(chan struct{})}
	b.notice = b.handleEvent
	child, err := c.Process.Start(ctx, binary, browserArgs(), &sallyport.SpawnOptions{
		Input: b.conversation, Output: b.conversation, ErrorOutput: io.Discard, Apart: true, Timeout: maxLife,
	})
	if err != nil {
		return nil, err
	}
	b.child = child
	go func() {
		res, err := child.Wait()
		b.end(endedError(res.ExitCode, err))
	}()
	go func() {
		<-b.ended
		child.Stop(0) // It may have said what ends the conversation.
	}()
	if !isConfined(child) {
		b.stopBrowser()
		return nil, &sallyport.Error{
			Code: sallyport.CodeNotAvailable, Detail: "the browser runs only where children are confined to the grant, and here they are not",
		}
	}
	if err := b.prepareBrowser(ctx); err != nil {
		b.stopBrowser()
		if ended := b.whyEnded(); ended != nil && ctx.Err() == nil {
			err = ended
		}
		return nil, newFailure("the browser could not be started", err)
	}
	return b, nil
}

// prepareBrowser asks for the events, and for a tab.
func (b *chromium) prepareBrowser(ctx context.Context) error {
	pages := []object{{"type": "page"}, {"exclude": true}}
	if err := b.askBrowser(ctx, "", "Target.setDiscoverTargets", object{"discover": true, "filter": pages}, nil); err != nil {
		return err
	}
	// A page that opens another one waits until there are no dialogs to be missed.
	if err := b.askBrowser(ctx, "", "Target.setAutoAttach", object{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": pages}, nil); err != nil {
		return err
	}
	if err := b.askBrowser(ctx, "", "Browser.setDownloadBehavior", object{"behavior": "allowAndName", "downloadPath": downloadDir, "eventsEnabled": true}, nil); err != nil {
		return err
	}
	_, err := b.ensureTab(ctx)
	return err
}

// isConfined reports whether a child is held to the grant. One that does not tell is not.
func isConfined(child sallyport.Child) bool {
	c, ok := child.(interface{ Level() sallyport.Level })
	return ok && (c.Level() == sallyport.LevelFull || c.Level() == sallyport.LevelStrict)
}

// endedError says why a browser has ended, given what its child was waited for with.
func endedError(exitCode int, err error) error {
	detail := fmt.Sprintf("the browser has ended with exit code %d", exitCode)
	if coded, ok := errors.AsType[*sallyport.Error](err); ok {
		detail = "the browser has ended: " + coded.Detail
	}
	return &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: detail, Err: err}
}

// whyEnded returns why the browser has ended, nil while it runs.
func (b *chromium) whyEnded() error {
	b.conversation.mu.Lock()
	defer b.conversation.mu.Unlock()
	return b.fault
}

// isHung reports whether the browser itself does not answer any more.
func (b *chromium) isHung(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.patience.ping)
	defer cancel()
	return b.askBrowser(ctx, "", "Browser.getVersion", nil, nil) != nil
}

// stopBrowser ends the browser; its profile is gone with it.
func (b *chromium) stopBrowser() { b.child.Stop(0) }

// signalChange wakes who waits for a change. It is called under the lock.
func (b *chromium) signalChange() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// awaitCondition waits until a condition, which is asked under the lock, holds.
func (b *chromium) awaitCondition(ctx context.Context, holds func() bool) error {
	for {
		b.mu.Lock()
		ok, changed := holds(), b.changed
		b.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-b.ended:
			return b.whyEnded()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// addNote keeps something that happened for the next result. It is called under the
// lock.
func (b *chromium) addNote(s string) {
	if len(b.notes) >= maxNotes {
		b.unnoted++
		return
	}
	b.notes = append(b.notes, s)
}

// takeNotes returns what happened since the last result.
func (b *chromium) takeNotes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	notes := b.notes
	if b.unnoted > 0 {
		notes = append(notes, "and "+text.CountOf(b.unnoted, "more event"))
	}
	b.notes, b.unnoted = nil, 0
	return notes
}

// handleEvent handles what the browser tells by itself.
func (b *chromium) handleEvent(session, method string, params wire.Value) {
	handle := events[method]
	if handle == nil {
		return
	}
	var e event
	if decodeJSON(params, &e) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.session = session
	handle(b, &e)
	b.signalChange()
}

// event is what the events that are handled bring.
type event struct {
	session string

	SessionID  string     `json:"sessionId"`
	TargetID   string     `json:"targetId"`
	TargetInfo targetInfo `json:"targetInfo"`
	FrameID    string     `json:"frameId"`
	LoaderID   string     `json:"loaderId"`
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	Message    string     `json:"message"`
	GUID       string     `json:"guid"`
	URL        string     `json:"url"`
	Suggested  string     `json:"suggestedFilename"`
	Received   float64    `json:"receivedBytes"`
	State      string     `json:"state"`
}

type targetInfo struct {
	TargetID string `json:"targetId"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	URL      string `json:"url"`
	Context  string `json:"browserContextId"`
}

// events says how each event is handled, under the lock.
var events = map[string]func(b *chromium, e *event){
	"Target.attachedToTarget":      (*chromium).addTab,
	"Target.detachedFromTarget":    (*chromium).removeTab,
	"Target.targetCrashed":         (*chromium).markCrashed,
	"Page.lifecycleEvent":          (*chromium).markLifecycle,
	"Page.frameStartedLoading":     (*chromium).markLoading,
	"Page.frameStoppedLoading":     (*chromium).markLoaded,
	"Page.javascriptDialogOpening": (*chromium).answerDialog,
	"Browser.downloadWillBegin":    (*chromium).beginDownload,
	"Browser.downloadProgress":     (*chromium).followDownload,
}
