package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/auth"
)

// noticeSecret signs the webhooks of the tests.
const noticeSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// texts is what arrived somewhere. It is safe for concurrent use.
type texts struct {
	mu   sync.Mutex
	list []string
}

func (x *texts) add(s string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, s)
}

// await waits until something holds of what arrived.
func (x *texts) await(t *testing.T, ok func(list []string) bool) []string {
	t.Helper()
	// Only a failing test reaches this bound.
	for range 6000 {
		x.mu.Lock()
		list := x.list
		x.mu.Unlock()
		if ok(list) {
			return list
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("what arrived is not what is waited for: %.2000q", x.list)
	return nil
}

// receive returns the address of a receiver of webhooks, and what arrives there.
func receive(t *testing.T) (string, *texts) {
	t.Helper()
	got := &texts{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.add(r.Header.Get("webhook-id") + " " + string(body))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hook?key=hunter2", got
}

// receiveNothing returns the address of a receiver that accepts and never answers.
func receiveNothing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String() + "/hook"
}

// receiveMail returns the address of a relay, and the mails that it takes.
func receiveMail(t *testing.T) (string, *texts) {
	t.Helper()
	got := &texts{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go takeMail(c, got)
		}
	}()
	return l.Addr().String(), got
}

func takeMail(c net.Conn, got *texts) {
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "220 relay\r\n")
	var mail strings.Builder
	data := false
	for lines := bufio.NewScanner(c); lines.Scan(); {
		line := lines.Text()
		switch {
		case data && line == ".":
			got.add(mail.String())
			data = false
			_, _ = io.WriteString(c, "250 taken\r\n")
		case data:
			mail.WriteString(line + "\n")
		case line == "DATA":
			data = true
			_, _ = io.WriteString(c, "354 go on\r\n")
		case line == "QUIT":
			_, _ = io.WriteString(c, "221 bye\r\n")
			return
		default:
			_, _ = io.WriteString(c, "250 ok\r\n")
		}
	}
}

// noticeFolder returns a folder whose calls of write_file are held.
func noticeFolder(t *testing.T, more string) (dir, text string) {
	t.Helper()
	text = fmt.Sprintf(`version: 2
workspace: .
state: sqlite:.sallyport/state.db
secrets: [{dir: ./secrets}]
personalities:
  default:
    tools: ["@file"]
    read: ["${workspace}"]
    write: ["${workspace}"]
    approvals: {require: [write_file], wait: 0s}
principals:
  ann: {token_sha256: %q}
  bob: {token_sha256: %q}
`, auth.HashToken(tokenOf("ann")), auth.HashToken(tokenOf("bob")))
	dir = configured(t, text+more)
	keep(t, dir, "secrets/notices/chat", noticeSecret)
	return dir, text
}

// A server says elsewhere that calls wait, what was decided in another process, and what
// changed since a reload.
func TestServeTellsOfHeldCalls(t *testing.T) {
	t.Parallel()
	chat, got := receive(t)
	relay, mails := receiveMail(t)
	hooks := "notices:\n  chat: {url: %q, secret: notices/chat, events: [held, decided]}\n"
	dir, text := noticeFolder(t, fmt.Sprintf("mail: {default: {host: %q, tls: none, from: gate@example.com}}\n", relay)+
		fmt.Sprintf(hooks, chat)+"  oncall: {relay: default, to: [oncall@example.com], arguments: true}\n")
	s := serveWatched(t, dir)
	held := s.action(t, "ann", "write_file", `{"path":"a.txt","content":"\u202e`+noticeSecret+`"}`)
	if held.ApprovalID == "" {
		t.Fatalf("the call is not held: %+v", held)
	}
	s.action(t, "ann", "write_file", `{"path":"a.txt","content":"\u202e`+noticeSecret+`"}`) // no news
	list := got.await(t, func(list []string) bool { return len(list) > 0 })
	_, body, _ := strings.Cut(list[0], " ")
	var p struct {
		Type string
		Data struct{ ID, Tool, Principal, Role, Link, Arguments string }
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatal(err)
	}
	if p.Type != "call.held" || p.Data.ID != held.ApprovalID || p.Data.Tool != "write_file" || p.Data.Principal != "ann" || p.Data.Role != "default" ||
		p.Data.Link != s.url+"/#held-"+held.ApprovalID || p.Data.Arguments != "" {
		t.Errorf("webhook = %s", body)
	}
	mail := strings.ReplaceAll(mails.await(t, func(list []string) bool { return len(list) > 0 })[0], "=\n", "")
	wantLines(t, mail, "To: <oncall@example.com>", "Subject: sallyport: write_file waits for a decision", held.ApprovalID, "a.txt", "/#held-"+held.ApprovalID)
	runSallyport(t, dir, "approvals", "deny", held.ApprovalID)
	got.await(t, func(list []string) bool { return len(list) > 1 && strings.Contains(list[1], `"state":"denied"`) })

	chat2, got2 := receive(t)
	s.change(t, dir, text+"page_url: https://gate.example.com\n"+fmt.Sprintf(hooks, chat2), inForce)
	s.action(t, "bob", "write_file", `{"path":"b.txt","content":"b"}`)
	if list := got2.await(t, func(list []string) bool { return len(list) > 0 }); !strings.Contains(list[0], "https://gate.example.com/#held-") {
		t.Errorf("webhook after the reload = %s", list[0])
	}
	s.stop(t)
	all := strings.Join(append(append([]string{mail, s.told.text.String()}, list...), got2.list...), "\n")
	if len(got.list) != 2 || len(mails.list) != 1 || strings.Contains(all, noticeSecret) || strings.Contains(s.told.text.String(), "hunter2") || strings.ContainsRune(mail, '\u202e') {
		t.Errorf("%d webhooks, %d mails, and all texts:\n%s", len(got.list), len(mails.list), all)
	}
	link := runSallyport(t, dir, "page")
	wantLines(t, link, "https://gate.example.com/page/signin?code=")
}

// TestAServerTellsOfCallsThatWaitAtItsStart: also of those that were held while none ran, and
// of none that an earlier server told.
func TestAServerTellsOfCallsThatWaitAtItsStart(t *testing.T) {
	t.Parallel()
	chat, got := receive(t)
	dir, _ := noticeFolder(t, fmt.Sprintf("notices: {chat: {url: %q, secret: notices/chat}}\n", chat))
	first := serveWatched(t, dir)
	told := first.action(t, "ann", "write_file", `{"path":"a.txt","content":"a"}`).ApprovalID
	got.await(t, func(list []string) bool { return len(list) == 1 && told != "" && strings.Contains(list[0], told) })
	first.stop(t)
	var answer strings.Builder
	runHere(t.Context(), dir, variablesIn(dir), &answer, io.Discard, "call", "write_file", `{"path":"b.txt","content":"b"}`, "--json")
	var held struct {
		ID string `json:"approval_id"`
	}
	if err := json.Unmarshal([]byte(answer.String()), &held); err != nil || held.ID == "" {
		t.Fatalf("the call is not held: %s", answer.String())
	}
	next := serveWatched(t, dir)
	list := got.await(t, func(list []string) bool { return len(list) > 1 })
	if !strings.Contains(list[1], held.ID) || !strings.Contains(list[1], next.url+"/#held-") {
		t.Errorf("webhook = %s, want the call that was held before, with a link to the page", list[1])
	}
	next.stop(t)
	if len(got.list) != 2 {
		t.Errorf("webhooks = %q, want one for each call", got.list)
	}
}

// Receivers that never answer, or are not there, change nothing for calls, for another
// receiver, and for the end of the server.
func TestADeadReceiverChangesNothingForCalls(t *testing.T) {
	t.Parallel()
	chat, got := receive(t)
	var more strings.Builder
	fmt.Fprintf(&more, "notices:\n  chat: {url: %q, secret: notices/chat}\n", chat)
	for i := range 5 {
		fmt.Fprintf(&more, "  dead%d: {url: %q, secret: notices/chat}\n", i, receiveNothing(t))
	}
	more.WriteString("  away: {url: \"http://127.0.0.1:1/hook\", secret: notices/chat}\n")
	dir, _ := noticeFolder(t, more.String())
	s := serveWatched(t, dir)
	for i := range 100 {
		for _, who := range []string{"ann", "bob"} {
			if a := s.action(t, who, "write_file", fmt.Sprintf(`{"path":"%d.txt","content":"x"}`, i)); a.ApprovalID == "" {
				t.Fatalf("call %d of %s = %+v, want it held", i, who, a)
			}
		}
	}
	got.await(t, func(list []string) bool { return len(list) == 200 })
	s.stop(t)
	record := runSallyport(t, dir, "audit", "tail", "--last", "20", "--json")
	for _, want := range []string{"notices.dead0", "notices.dead4", "notices.away", "200 notices could not be sent"} {
		if !strings.Contains(record, want) {
			t.Errorf("the record lacks %q:\n%s", want, record)
		}
	}
}

func TestCheckFindsBadNotices(t *testing.T) {
	t.Parallel()
	dir, text := noticeFolder(t, "notices:\n  a: {url: \"https://chat.example.com/hook\", secret: notices/none}\n  b: {url: \"https://chat.example.com/hook\", secret: notices/bad}\n")
	keep(t, dir, "secrets/notices/bad", "hunter2hunter2hunter2")
	out, code := runCheck(t, dir, "")
	wantLines(t, out, "lacking secret notices/none: webhook a: it is not set", "lacking secret notices/bad: webhook b: expected whsec_ and 24 to 64 bytes in base64", "at sallyport.yaml:15:45")
	if code != 1 || strings.Contains(out, "hunter2") {
		t.Errorf("check exits %d and prints\n%s", code, out)
	}
	place(t, dir, "sallyport.yaml", text+"notices:\n  a: {url: \"http://chat.example.com/hunter2\", secret: notices/chat}\n  b: {relay: defualt, to: [a@example.com]}\n")
	out, code = runCheck(t, dir, "")
	wantLines(t, out, "sallyport.yaml:15:12: notices.a.url: expected https", `sallyport.yaml:16:7: notices.b.relay: "defualt" is not defined under mail`)
	if code == 0 || strings.Contains(out, "hunter2") {
		t.Errorf("check exits %d and prints\n%s", code, out)
	}
	place(t, dir, "sallyport.yaml", text+"notices:\n  a: {url: \"https://chat.example.com/hook\", secret: notices/chat, tools: [write_flie]}\n")
	out, code = runCheck(t, dir, "")
	wantLines(t, out, `sallyport.yaml:15:75: "write_flie" is no tool (did you mean "write_file"?)`)
	if code == 0 {
		t.Error("check passes a receiver of an unknown tool")
	}
}
