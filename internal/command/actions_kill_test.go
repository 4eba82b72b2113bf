package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport/auth"
)

// crowd is the number of principals, the number of concurrent clients of each,
// and the number of calls of one principal that are admitted.
type crowd struct{ principals, clients, limit int }

// crowdOf returns a small crowd, which shows the same faults, or with
// SALLYPORT_TEST_LOAD=1 a large one.
func crowdOf(t *testing.T) crowd {
	t.Helper()
	if os.Getenv("SALLYPORT_TEST_LOAD") == "1" {
		return crowd{principals: 20, clients: 100, limit: 60}
	}
	return crowd{principals: 5, clients: 20, limit: 15}
}

func crowdName(i int) string { return fmt.Sprintf("crowd%d", i) }

// echoes is an upstream that returns what it was sent and remembers it.
type echoes struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]int // nonces
	per  map[string]int // principals
	// kill is closed when half of the calls have arrived. From then on the
	// upstream answers none before dead is closed, so that some calls run at
	// the kill.
	kill, dead chan struct{}
	half       int
}

func newEchoes(t *testing.T, half int) *echoes {
	e := &echoes{seen: map[string]int{}, per: map[string]int{}, kill: make(chan struct{}), dead: make(chan struct{}), half: half}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Nonce string }
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&in); err != nil {
			t.Errorf("the upstream got %v", err)
		}
		if e.note(in.Nonce) {
			<-e.dead
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"nonce": in.Nonce})
	}))
	t.Cleanup(e.Close)
	return e
}

// note remembers a nonce and reports whether its answer has to wait.
func (e *echoes) note(nonce string) (waits bool) {
	principal, _, _ := strings.Cut(nonce, "-")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen[nonce]++
	e.per[principal]++
	if len(e.seen) == e.half {
		close(e.kill)
	}
	return e.half > 0 && len(e.seen) >= e.half
}

// count returns the number of effects of a principal.
func (e *echoes) count(principal string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.per[principal]
}

// crowdFolder creates a folder whose principals may all call echo, at most
// limit times each.
func crowdFolder(t *testing.T, c crowd, upstream *echoes) string {
	t.Helper()
	host := strings.TrimPrefix(upstream.URL, "http://")
	var text strings.Builder
	fmt.Fprintf(&text, `version: 1
state: sqlite:.sallyport/state.db
personalities:
  crowd:
    toolset: [echo]
    safety: {network: {allow: [%q], allow_private_urls: true}}
actions:
  - id: echo
    parameters: {nonce: {type: string, required: true}}
    returns: {type: object, properties: {nonce: {type: string}}, required: [nonce]}
    permissions: ["echo:say"]
    rateLimit: {requests: %d, window: 1h}
    handler: {http: {method: POST, url: "http://%s/echo", body: {nonce: "{nonce}"}}}
principals:
`, host, c.limit, host)
	for i := range c.principals {
		fmt.Fprintf(&text, "  %s: {token_sha256: %q, permissions: [\"echo:say\"]}\n", crowdName(i), auth.HashToken(tokenOf(crowdName(i))))
	}
	return configured(t, text.String())
}

// crowdClient returns an HTTP client that keeps one connection for each client
// of the crowd.
func crowdClient(t *testing.T, c crowd) *http.Client {
	t.Helper()
	all := c.principals * c.clients
	transport := &http.Transport{
		MaxIdleConns: all, MaxIdleConnsPerHost: all, MaxConnsPerHost: all,
		DialContext: (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// tally counts the answers that the clients of a crowd got.
type tally struct {
	admitted, limited []atomic.Int64 // by principal
	lost              atomic.Int64   // without an answer
}

func newTally(c crowd) *tally {
	return &tally{admitted: make([]atomic.Int64, c.principals), limited: make([]atomic.Int64, c.principals)}
}

// mcpShare selects the clients that use MCP: every fifth one, because the
// server accepts 500 of these requests at once.
const mcpShare = 5

// rush lets every client of every principal make calls at once. All calls have
// the same session id and, where there is one, the same request id. A wrong
// answer fails the test; a call without an answer counts as lost.
func rush(t *testing.T, c crowd, client *http.Client, url, round string, calls int, sum *tally) {
	t.Helper()
	var running sync.WaitGroup
	for p := range c.principals {
		for k := range c.clients {
			running.Go(func() {
				for i := range calls {
					nonce := fmt.Sprintf("%s-%s-%d-%d", crowdName(p), round, k, i)
					sum.note(t, p, nonce, func() (actionAnswer, error) {
						params := `{"nonce":"` + nonce + `"}`
						if k%mcpShare == 0 {
							return executeMCP(t.Context(), client, url, tokenOf(crowdName(p)), "echo", params)
						}
						return execute(t.Context(), client, url, tokenOf(crowdName(p)), "echo", `{"session":"s","params":`+params+`}`)
					})
				}
			})
		}
	}
	running.Wait()
}

func (sum *tally) note(t *testing.T, p int, nonce string, call func() (actionAnswer, error)) {
	a, err := call()
	switch {
	case err != nil:
		sum.lost.Add(1)
	case a.Status == 200:
		sum.admitted[p].Add(1)
		var data struct{ Nonce string }
		if err := json.Unmarshal(a.Data, &data); err != nil || data.Nonce != nonce {
			t.Errorf("%s got %s (%v), want its own nonce", nonce, a.Data, err)
		}
	case a.Status == 429:
		sum.limited[p].Add(1)
	default:
		t.Errorf("%s = %d %s, want 200 or 429", nonce, a.Status, a.Error)
	}
}

// TestActionLoadIsAnsweredEachToItsOwn lets many clients of many principals
// call at once with equal ids. With -short and with the race detector it uses
// fewer calls, because the full number would take minutes.
func TestActionLoadIsAnsweredEachToItsOwn(t *testing.T) {
	t.Parallel()
	c := crowdOf(t)
	upstream := newEchoes(t, -1)
	dir := crowdFolder(t, c, upstream)
	s := serveHTTP(t, dir)
	sum := newTally(c)
	rush(t, c, crowdClient(t, c), s.url, "a", 1, sum)
	if n := sum.lost.Load(); n != 0 {
		t.Errorf("%d calls were not answered", n)
	}
	for p := range c.principals {
		admitted, limited, effects := int(sum.admitted[p].Load()), int(sum.limited[p].Load()), upstream.count(crowdName(p))
		if admitted != c.limit || limited != c.clients-c.limit || effects != c.limit {
			t.Errorf("%s: %d admitted, %d refused, %d effects, want %d, %d, %d", crowdName(p), admitted, limited, effects,
				c.limit, c.clients-c.limit, c.limit)
		}
	}
	s.stop(t)
	checkRecord(t, c, dir, upstream)
}

// TestActionLoadSurvivesKill kills the server while the crowd calls. The crowd
// continues with a second server, and one more principal joins it.
func TestActionLoadSurvivesKill(t *testing.T) {
	t.Parallel()
	c := crowdOf(t)
	early := c
	early.principals--
	upstream := newEchoes(t, early.principals*c.limit/2)
	dir := crowdFolder(t, c, upstream)
	first := serveHTTP(t, dir)
	client, sum := crowdClient(t, c), newTally(c)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		defer close(upstream.dead)
		select {
		case <-upstream.kill:
		case <-t.Context().Done():
		}
		// After SIGKILL no code of the server runs.
		if err := first.cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}()
	rush(t, early, client, first.url, "a", 1, sum)
	<-killed
	first.wait(t)
	if sum.lost.Load() == 0 {
		t.Error("no call was lost: the server was not killed in the middle")
	}

	second := serveHTTP(t, dir)
	rush(t, c, client, second.url, "b", 1, sum)
	if n := upstream.count(crowdName(early.principals)); n != c.limit {
		t.Errorf("who came after the restart had %d effects, want %d", n, c.limit)
	}
	for p := range c.principals {
		name := crowdName(p)
		answered, effects := int(sum.admitted[p].Load()), upstream.count(name)
		if answered > effects || effects > c.limit {
			t.Errorf("%s: %d answers of %d effects, want at most %d", name, answered, effects, c.limit)
		}
		// Each client has tried once more, so that no admission is left.
		if a := second.action(t, name, "echo", `{"nonce":"`+name+`-late"}`); a.Status != 429 {
			t.Errorf("%s after that = %d %s, want 429", name, a.Status, a.Error)
		}
	}
	second.stop(t)
	checkRecord(t, c, dir, upstream)
}

// checkRecord requires an intent for each effect that the upstream saw, one
// effect for each nonce, no more intents than admissions, and a chain without a
// fault.
func checkRecord(t *testing.T, c crowd, dir string, upstream *echoes) {
	t.Helper()
	upstream.Close() // the requests of the killed server have arrived
	intents, per := map[string]int{}, map[string]int{}
	for _, r := range records(t, dir) {
		if r.Kind != "intent" {
			continue
		}
		var args struct{ Nonce string }
		if err := json.Unmarshal([]byte(r.Args), &args); err != nil {
			t.Fatalf("the arguments of the record are %q: %v", r.Args, err)
		}
		if !strings.HasPrefix(args.Nonce, r.Principal+"-") {
			t.Errorf("the intent of %s names the call %s of another", r.Principal, args.Nonce)
		}
		intents[args.Nonce]++
		per[r.Principal]++
	}
	for nonce, n := range upstream.seen {
		if n != 1 || intents[nonce] != 1 {
			t.Errorf("%s: %d effects with %d intents, want one of each", nonce, n, intents[nonce])
		}
	}
	for p := range c.principals {
		if n := per[crowdName(p)]; n > c.limit {
			t.Errorf("%s has %d intents, want at most %d", crowdName(p), n, c.limit)
		}
	}
	if out := runSallyport(t, dir, "audit", "verify"); !strings.Contains(out, "chain good") {
		t.Errorf("audit verify = %s", out)
	}
}
