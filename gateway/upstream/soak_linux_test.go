package upstream_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// soakCalls returns how many calls a soak makes: few, or as many as
// SALLYPORT_SOAK says.
func soakCalls(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("SALLYPORT_SOAK")
	if text == "" {
		return 300
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// callDuringTrouble makes calls of several principals while trouble is made, in rounds.
// After each round the server works for every principal within five seconds,
// despite the pauses of calls and of probes.
func callDuringTrouble(t *testing.T, g *gate, trouble func(on bool), made func(calls int64)) {
	t.Helper()
	const perRound, principals = 300, 4
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var probing sync.WaitGroup
	defer probing.Wait()
	defer cancel()
	probing.Go(func() { // as the operator's program does, once a second
		for ctx.Err() == nil {
			for _, name := range g.mounts.Due(ctx) {
				g.mounts.Probe(ctx, name, func(context.Context) { g.discover(name) })
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	})
	var answered, failed, slowest int64
	total := soakCalls(t)
	for before := int64(0); before < total; before += perRound {
		trouble(true)
		var calls sync.WaitGroup
		var left atomic.Int64
		left.Store(perRound)
		var ok atomic.Int64
		for worker := range 3 * principals {
			calls.Go(func() {
				for {
					n := left.Add(-1)
					if n < 0 {
						return
					}
					made(n)
					if g.callAs(t.Context(), fmt.Sprint("p", worker%principals), "some", "test__echo", object{"text": "hello"}).OK {
						ok.Add(1)
					} else {
						time.Sleep(2 * time.Millisecond) // a refused caller does not retry at once
					}
				}
			})
		}
		calls.Wait()
		trouble(false)
		answered, failed = answered+ok.Load(), failed+perRound-ok.Load()
		for p := range principals {
			began := time.Now()
			for {
				res := g.callAs(t.Context(), fmt.Sprint("p", p), "some", "test__echo", object{"text": "hello"})
				if res.OK {
					break
				}
				if time.Since(began) > 5*time.Second {
					t.Fatalf("after %d calls the server does not work for p%d: %s; not available: %v", before+perRound, p, res.Error, g.mounts.Unavailable())
				}
				time.Sleep(20 * time.Millisecond)
			}
			slowest = max(slowest, time.Since(began).Milliseconds())
		}
	}
	t.Logf("%d calls were answered, %d failed; the slowest return took %d ms", answered, failed, slowest)
	if answered == 0 {
		t.Error("no call was answered")
	}
}

// TestSoakOfAServerThatIsKilled ends its processes with signal 9 while calls
// run.
func TestSoakOfAServerThatIsKilled(t *testing.T) {
	s := pythonServer(t)
	script := filepath.Join(t.TempDir(), "soaked.py")
	text, err := os.ReadFile(s.Command[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, text, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Command[1], s.Programs = script, []string{script}
	g := newGate(t, s)
	var killed atomic.Int64
	callDuringTrouble(t, g, func(bool) {}, func(calls int64) {
		if calls%15 == 0 && killOne(script) {
			killed.Add(1)
		}
	})
	t.Logf("%d processes were killed", killed.Load())
	if killed.Load() == 0 {
		t.Error("no process was killed")
	}
}

// killOne ends one of the processes that run a script.
func killOne(script string) bool {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	for _, path := range found {
		text, err := os.ReadFile(path)
		pid, bad := strconv.Atoi(strings.Split(path, "/")[2])
		if err == nil && bad == nil && pid != os.Getpid() && bytes.Contains(text, []byte(script)) {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}

// TestSoakOfARemoteServer that resets connections, breaks off answers and is
// overloaded.
func TestSoakOfARemoteServer(t *testing.T) {
	s := newScript(t, tool("echo"))
	s.answer = func(*peer, *question) any { return text("hello") }
	var on atomic.Bool
	g := overHTTP(t, s, http.Header{"Mcp-Session-Id": {"ours"}}, func(w http.ResponseWriter, _ *http.Request) bool {
		if !on.Load() {
			return false
		}
		switch rand.N(60) {
		case 0, 1, 2:
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return true
			}
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = c.Close()
		case 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 4:
			w.WriteHeader(http.StatusInternalServerError)
		case 5:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0"`))
		case 6:
			w.WriteHeader(http.StatusNotFound)
		default:
			return false
		}
		return true
	})
	callDuringTrouble(t, g, on.Store, func(int64) {})
}
