package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the responses of testdata/*.txtar")

// TestWire plays testdata/*.txtar: it sends each "request", and what comes back
// must be the "response" behind it. The name of an archive says what it needs.
// One that begins with stdio is about stdio, every other is about HTTP. One
// with forms needs prompts and resources, one with headers needs arguments that
// headers repeat, one with tasks needs calls that become tasks, one with held
// needs calls that wait for a decision, and one with asks needs tools that ask.
func TestWire(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("Glob() = %v, %v, want files", paths, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			k := kitFor(t, name)
			play := overHTTP(t, k)
			if strings.HasPrefix(name, "stdio") {
				play = overStdio(t, k)
			}
			played := replay(t, archive, play)
			if *update {
				if err := os.WriteFile(path, txtar.Format(played), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(played))); diff != "" {
				t.Errorf("the exchange differs (-want +got; -update rewrites it):\n%s", diff)
			}
		})
	}
}

// kitFor returns the kit that an archive of a name needs.
func kitFor(t *testing.T, name string) *kit {
	switch {
	case strings.Contains(name, "forms"):
		return newKit(t, forms()...)
	case strings.Contains(name, "headers"):
		return newKit(t, append(forms(), repeating())...)
	case strings.Contains(name, "tasks"):
		return newKit(t, (&jobs{t: t, locks: map[string]chan struct{}{}}).tasked()...)
	case strings.Contains(name, "held"):
		return newDesk(t, nil).kit
	case strings.Contains(name, "asks"):
		return newInquiry(t).kit
	default:
		return newKit(t)
	}
}

// replay plays the requests of an archive and returns it with what came back.
// The words STATE and TASK in a request stand for the last state and the last
// id of a task in a response. A request whose name begins with settled is
// repeated until the task no longer works.
func replay(t *testing.T, archive *txtar.Archive, play func([]byte) []byte) *txtar.Archive {
	t.Helper()
	out := &txtar.Archive{Comment: archive.Comment}
	state, task := []byte("STATE"), []byte("TASK")
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, "request"); ok {
			request := bytes.ReplaceAll(bytes.ReplaceAll(f.Data, []byte("STATE"), state), []byte("TASK"), task)
			got := play(request)
			for strings.HasPrefix(f.Name, "settled") && bytes.Contains(got, []byte(`"status":"working"`)) {
				got = play(request)
			}
			if m := taskIDs.FindSubmatch(got); m != nil {
				task = bytes.Clone(m[1])
			}
			if m := states.FindSubmatch(got); m != nil {
				state = bytes.Clone(m[1])
			}
			out.Files = append(out.Files, f, txtar.File{Name: name + "response", Data: stable(got)})
		}
	}
	return out
}

var (
	callIDs  = regexp.MustCompile(`("sallyport/call":"|Call ID: )[0-9a-z]{24}`)
	states   = regexp.MustCompile(`"requestState":"([\w-]+)"`)
	taskIDs  = regexp.MustCompile(`"taskId":"([A-Z2-7]{26})"`)
	taskTTL  = regexp.MustCompile(`"ttlMs":9\d{5}`)
	approval = regexp.MustCompile(`06[0-9a-z]{22}`)
	times    = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
)

// stable replaces what differs from run to run.
func stable(text []byte) []byte {
	text = callIDs.ReplaceAll(text, []byte(`${1}CALL`))
	text = states.ReplaceAll(text, []byte(`"requestState":"STATE"`))
	text = taskTTL.ReplaceAll(taskIDs.ReplaceAll(text, []byte(`"taskId":"TASK"`)), []byte(`"ttlMs":TTL`))
	return times.ReplaceAll(approval.ReplaceAll(text, []byte("APPROVAL")), []byte("EXPIRES"))
}

// overStdio sends each line of a request and collects lines until every message
// that wants an answer has one.
func overStdio(t *testing.T, k *kit) func([]byte) []byte {
	s, _ := k.stdio(t)
	lines := bufio.NewReader(s.out)
	asked := 0 // questions that the server waits for an answer to
	return func(request []byte) []byte {
		var out bytes.Buffer
		for line := range bytes.Lines(request) {
			if _, err := s.in.Write(line); err != nil {
				t.Fatal(err)
			}
			wanted := answers(line)
			if asked > 0 && bytes.Contains(line, []byte(`"result":`)) {
				// The call that waited has an answer now.
				asked, wanted = asked-1, 1
			}
			for wanted > 0 {
				got, err := lines.ReadBytes('\n')
				if err != nil {
					t.Fatalf("after %s: %v", line, err)
				}
				out.Write(got)
				if bytes.Contains(got, []byte(`"id":`)) {
					wanted--
				}
				if bytes.Contains(got, []byte(`"id":`)) && bytes.Contains(got, []byte(`"method":`)) {
					asked++
				}
			}
		}
		return out.Bytes()
	}
}

// answers returns the number of answers that a line wants.
func answers(line []byte) int {
	var m map[string]json.RawMessage
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return 0
	case json.Unmarshal(line, &m) == nil && (m["method"] != nil && m["id"] == nil || m["result"] != nil):
		return 0
	default:
		return 1
	}
}

// overHTTP sends a request written as a method line, headers, an empty line and
// a body. From then on, a session that the server opens is called SESSION.
func overHTTP(t *testing.T, k *kit) func([]byte) []byte {
	site := k.site(t)
	clients := map[string]*http.Client{"alice": client(t, "alice"), "bob": client(t, "bob"), "nobody": client(t, "nobody")}
	session := "SESSION"
	return func(request []byte) []byte {
		head, body, _ := strings.Cut(string(request), "\n\n")
		fields := strings.Split(strings.TrimSpace(head), "\n")
		r, err := http.NewRequestWithContext(t.Context(), strings.Fields(fields[0])[0], site.URL+"/mcp", strings.NewReader(strings.TrimSpace(body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		who, given := "alice", map[string]bool{}
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, ":")
			value = strings.TrimPrefix(value, " ")
			if key == "As" {
				who = value
				continue
			}
			if name := http.CanonicalHeaderKey(key); !given[name] {
				r.Header.Del(name)
				given[name] = true
			}
			// The header keeps its spelling and its repetitions.
			r.Header[key] = append(r.Header[key], strings.ReplaceAll(value, "SESSION", session))
		}
		res, err := clients[who].Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		fmt.Fprintf(&out, "%d %s\n", res.StatusCode, res.Header.Get("Content-Type"))
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
			out.WriteString("Mcp-Session-Id: SESSION\n")
		}
		out.WriteByte('\n')
		out.Write(bytes.TrimSpace(text))
		out.WriteByte('\n')
		return bytes.ReplaceAll(out.Bytes(), []byte(session), []byte("SESSION"))
	}
}
