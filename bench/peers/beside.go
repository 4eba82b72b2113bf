package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// besideRate is the rate of the calls, in calls a second, and besideClients how many
	// callers make them.
	besideRate, besideClients = 500, 16
	// besideTurn is how many calls a turn has.
	besideTurn = 1000
	// pagePeople people each open pageStreams streams of events and read none.
	pagePeople, pageStreams = 10, 10
	// heldEvery is the time between two calls that are held.
	heldEvery = 200 * time.Millisecond
)

// besideConfig is a role whose calls of write_file wait for a person, and what is connected.
const besideConfig = `version: 2
workspace: .
state: sqlite:.sallyport/state.db
personalities:
  default:
    tools: ["@file"]
    read: ["${workspace}"]
    write: ["${workspace}"]
    approvals: {require: [write_file], wait: 0s}
`

// connected is something that an operator connects, at its worst.
type connected struct {
	what string
	// config is what it adds to the configuration, with HOST for the address of a server
	// that takes connections and never answers; empty for nothing.
	config string
	// begin makes it ready; what it returns runs during the turns. nil has calls held.
	begin func(ctx context.Context, b *bench, g *gated) (beside func(context.Context), err error)
}

// gated is a gate in a folder.
type gated struct {
	*process
	dir, url, token string
}

// listConnected lists what is measured.
func listConnected() []connected {
	return []connected{
		{
			what:   "a webhook and a mail relay that never answer, with 5 held calls a second",
			config: "secrets: [{dir: ./secrets}]\nmail: {desk: {host: \"HOST\", from: gate@example.com}}\nnotices: {chat: {url: \"http://HOST/\", secret: notices/chat}, desk: {relay: desk, to: [ann@example.com], per_hour: 1000}}\n",
		},
		{what: "a collector of traces and metrics that never answers", config: "telemetry: {otlp: {url: \"http://HOST\", metrics: 5s}}\n"},
		{what: "a syslog collector that never reads", config: "audit: {push: [{syslog: \"tcp://HOST\"}]}\n"},
		{what: "a page with 100 streams that are not read, a person who looks, and a flood of logins", begin: floodPage},
	}
}

// measureBeside compares two gates, of which one has something connected that is slow, dead
// or floods. Both take turns.
func measureBeside(ctx context.Context, b *bench) (rows []figure, err error) {
	for _, c := range listConnected() {
		f, err := b.measureConnected(ctx, &c)
		b.stopAll()
		if err != nil {
			return rows, fmt.Errorf("%s: %w", c.what, err)
		}
		rows = append(rows, f)
	}
	return rows, nil
}

func (b *bench) measureConnected(ctx context.Context, c *connected) (figure, error) {
	alone, err := b.startGated(ctx, "")
	if err != nil {
		return figure{}, err
	}
	silent, err := listenSilently(ctx)
	if err != nil {
		return figure{}, err
	}
	defer func() { _ = silent.Close() }()
	with, err := b.startGated(ctx, strings.ReplaceAll(c.config, "HOST", silent.Addr().String()))
	if err != nil {
		return figure{}, err
	}
	targets := []target{alone.readTarget("alone"), with.readTarget("with")}
	targets[1].beside = with.holdCalls
	if c.begin != nil {
		if targets[1].beside, err = c.begin(ctx, b, with); err != nil {
			return figure{}, err
		}
	}
	turn := min(besideTurn, b.planned*2)
	courses, err := b.inTurns(ctx, targets, besideClients, func(ctx context.Context, callers []caller) ([]time.Duration, error) {
		return pace(ctx, callers, besideRate, turn)
	})
	if err != nil {
		return figure{}, err
	}
	p50, p99 := medianRatio(courses[1].p50, courses[0].p50), medianRatio(courses[1].p99, courses[0].p99)
	f := figure{
		What: c.what, PerSecond: median(courses[1].rate), P50: time.Duration(median(courses[1].p50)), P99: time.Duration(median(courses[1].p99)),
		Processor: time.Duration(mean(courses[1].processor)),
		Ratios:    []ratio{{"the same without it at the median", p50}, {"the same without it at the 99th percentile", p99}},
	}
	f.aimBelowShare(f.Ratios[0].Of, 1.1)
	f.aimBelowShare(f.Ratios[1].Of, 1.5)
	return f, nil
}

// startGated starts a gate in a folder of its own, with more in its configuration.
func (b *bench) startGated(ctx context.Context, more string) (*gated, error) {
	dir, err := b.newWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "sallyport.yaml"), []byte(besideConfig+more), 0o600); err != nil {
		return nil, err
	}
	secret := filepath.Join(dir, "secrets", "notices", "chat")
	if err := os.MkdirAll(filepath.Dir(secret), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(secret, []byte("whsec_"+strings.Repeat("c2Vj", 8)), 0o600); err != nil {
		return nil, err
	}
	g := &gated{dir: dir}
	g.process, g.url, g.token, err = b.startServe(ctx, dir)
	return g, err
}

func (g *gated) readTarget(name string) target {
	return overHTTP(name, g.process, g.url, g.token, "read_file", readArgs)
}

// listenSilently takes connections, and neither reads nor answers.
func listenSilently(ctx context.Context) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
		}
		for _, c := range open {
			_ = c.Close()
		}
	}()
	return l, nil
}

// holdCalls makes calls that are held, one after the other, until the context ends.
func (g *gated) holdCalls(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		if c, err := dial(ctx, g.url, g.token, callOf(7, "write_file", fmt.Sprintf(`{"path":"held.txt","content":"%d"}`, n))); err == nil {
			_ = c.call() // a held call is an answer, too
			_ = c.close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(heldEvery):
		}
	}
}

// floodPage opens streams that are not read, and returns what looks at the page, has calls
// held and tries to sign in with codes that are none.
func floodPage(ctx context.Context, b *bench, g *gated) (func(context.Context), error) {
	program, err := b.build(ctx, product)
	if err != nil {
		return nil, err
	}
	var looking *http.Client
	for n := range pagePeople {
		client, err := g.signIn(ctx, program, fmt.Sprintf("person%d", n))
		if err != nil {
			return nil, err
		}
		for range pageStreams {
			if err := g.openPage(ctx, client, "/page/events"); err != nil {
				return nil, err
			}
		}
		looking = client
	}
	return func(ctx context.Context) {
		go g.holdCalls(ctx)
		go repeatAction(ctx, 250*time.Millisecond, func() { _ = g.readPage(ctx, looking, "/page/live") })
		repeatAction(ctx, 5*time.Millisecond, func() {
			_, _ = g.postSignIn(ctx, http.DefaultClient, "sallyport_none")
		})
	}, nil
}

// repeatAction does something until the context ends.
func repeatAction(ctx context.Context, pause time.Duration, do func()) {
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// signIn signs a person in by a link, and returns what has its cookie.
func (g *gated) signIn(ctx context.Context, program, name string) (*http.Client, error) {
	cmd := exec.CommandContext(ctx, program, "page", "--name", name)
	cmd.Dir, cmd.Env = g.dir, environment(g.dir)
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	link, _, _ := strings.Cut(string(out), "\n")
	_, code, _ := strings.Cut(link, "code=")
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Jar: jar}
	status, err := g.postSignIn(ctx, client, code)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("signing in = %d", status)
	}
	return client, err
}

func (g *gated) postSignIn(ctx context.Context, client *http.Client, code string) (status int, err error) {
	site := g.site()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, site+"/page/signin", strings.NewReader(url.Values{"code": {code}}.Encode()))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", site)
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, errors.Join(err, res.Body.Close())
}

// site is the address of the gate without a path.
func (g *gated) site() string {
	u, err := url.Parse(g.url)
	if err != nil {
		return g.url
	}
	return u.Scheme + "://" + u.Host
}

// readPage reads a page.
func (g *gated) readPage(ctx context.Context, client *http.Client, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.site()+path, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

// openPage asks for a page over a connection of its own, and reads no answer. The
// connection lasts as long as the context.
func (g *gated) openPage(ctx context.Context, client *http.Client, path string) error {
	site, err := url.Parse(g.site())
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", site.Host)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	cookie := ""
	for _, c := range client.Jar.Cookies(site) {
		cookie += c.Name + "=" + c.Value + "; "
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", path, site.Host, strings.TrimSuffix(cookie, "; "))
	return err
}
