package scopedtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func touched(c *sallyport.Call) []string { return texts(scopedtest.Touched(c)) }

func texts(list []scopedtest.Touch) []string {
	var s []string
	for _, t := range list {
		s = append(s, t.String())
	}
	return s
}

func page(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, text+string(body))
	})
}

func TestNetwork(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"api.example.com", "*.example.org", "odd.example.com:8443"}}},
		Hosts: map[string]http.Handler{
			"api.example.com":      page("api"),
			"odd.example.com:8443": page("odd"),
			"www.example.org":      http.RedirectHandler("https://evil.example.net/", http.StatusFound),
		},
	})
	tests := []struct {
		name string
		url  string
		want string
		is   error
	}{
		{name: "https", url: "https://API.example.com/v1?q=1", want: "api-in"},
		{name: "http", url: "http://api.example.com", want: "api-in"},
		{name: "port", url: "https://odd.example.com:8443/", want: "odd-in"},
		{name: "port outside", url: "https://api.example.com:8443/", is: sallyport.ErrHostNotAllowed},
		{name: "redirect outside", url: "https://www.example.org/", is: sallyport.ErrHostNotAllowed},
		{name: "outside", url: "https://other.example.com/", is: sallyport.ErrHostNotAllowed},
		{name: "no host of that name", url: "https://none.example.org/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := c.Network.Client().Post(tt.url, "text/plain", strings.NewReader("-in"))
			if tt.want == "" {
				if err == nil {
					res.Body.Close()
				}
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("Post(%s) = %v, want %v", tt.url, err, tt.is)
				}
				return
			}
			if err != nil {
				t.Fatalf("Post(%s) = %v", tt.url, err)
			}
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != tt.want {
				t.Errorf("Post(%s) answers %q, %v, want %q", tt.url, body, err, tt.want)
			}
		})
	}
	want := []string{
		"network api.example.com", "network none.example.org", "network odd.example.com:8443", "network www.example.org",
		"refused network api.example.com:8443", "refused network evil.example.net", "refused network other.example.com",
	}
	if d := cmp.Diff(want, touched(c)); d != "" {
		t.Errorf("Touched (-want +got):\n%s", d)
	}
	if n := len(scopedtest.RecordOf(c).Requests()); n != 4 {
		t.Errorf("Requests = %d, want 4", n)
	}
	if unused := scopedtest.Unused(c); len(unused) != 0 {
		t.Errorf("Unused = %v, want nothing", unused)
	}
}

func TestDial(t *testing.T) {
	server, client := net.Pipe()
	defer server.Close()
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"db.example.com:5432"}}},
		Dial: func(address string) (net.Conn, error) {
			if address != "db.example.com:5432" {
				t.Errorf("Dial(%q), want the address of the tool", address)
			}
			return client, nil
		},
	})
	if conn, err := c.Network.DialContext(t.Context(), "tcp", "db.example.com:5432"); err != nil || conn != client {
		t.Errorf("DialContext = %v, %v, want the connection", conn, err)
	}
	if _, err := c.Network.DialContext(t.Context(), "tcp", "db.example.com:22"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("DialContext to another port = %v, want a refusal", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Network.DialContext(gone, "tcp", "db.example.com:5432"); !errors.Is(err, context.Canceled) {
		t.Errorf("DialContext with a cancelled context = %v", err)
	}
}

func TestFiles(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{
			Read: sallyport.FromPersonality(), Write: sallyport.Paths("${workspace}/notes", "${workspace}/unused"),
		}},
		Files: map[string]string{"a.txt": "content", "notes/n.txt": "old"},
	})
	if data, err := c.FS.ReadFile("a.txt"); err != nil || string(data) != "content" {
		t.Errorf("ReadFile(a.txt) = %q, %v", data, err)
	}
	if _, err := c.FS.ReadFile("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadFile(missing) = %v, want fs.ErrNotExist", err)
	}
	if _, err := c.FS.Stat("/etc/passwd"); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("Stat(/etc/passwd) = %v, want a refusal", err)
	}
	if _, err := c.FS.ReadDir("."); err != nil {
		t.Errorf("ReadDir(.) = %v", err)
	}
	if f, err := c.FS.Open("a.txt"); err != nil {
		t.Errorf("Open(a.txt) = %v", err)
	} else {
		f.Close()
	}
	if err := c.FS.MkdirAll("notes/deep"); err != nil {
		t.Errorf("MkdirAll(notes/deep) = %v", err)
	}
	if err := c.FS.WriteFile("a.txt", nil); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("WriteFile(a.txt) = %v, want a refusal", err)
	}
	if err := c.FS.UpdateFile("notes/n.txt", func(old []byte) ([]byte, error) { return append(old, "+new"...), nil }); err != nil {
		t.Errorf("UpdateFile(notes/n.txt) = %v", err)
	}
	want := []string{
		"fs_reach.read ${workspace}", "fs_reach.read ${workspace}/a.txt", "fs_reach.read ${workspace}/missing",
		"fs_reach.write ${workspace}/notes/deep", "fs_reach.write ${workspace}/notes/n.txt",
		"refused fs_reach.read /etc/passwd", "refused fs_reach.write ${workspace}/a.txt",
	}
	if d := cmp.Diff(want, touched(c)); d != "" {
		t.Errorf("Touched (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"fs_reach.write ${workspace}/unused"}, texts(scopedtest.Unused(c))); d != "" {
		t.Errorf("Unused (-want +got):\n%s", d)
	}
}

func TestTheRest(t *testing.T) {
	kv := &scopedtest.KV{}
	o := &scopedtest.Options{
		Tool: "everything", Args: json.RawMessage(`{"a":1}`), Session: "s1", Personality: "researcher",
		Capabilities: sallyport.Capabilities{
			Secrets:     []string{"providers/*", "mail/user"},
			Storage:     &sallyport.StorageCapability{Scope: sallyport.ScopePersonality, Kind: "kv", TTLSecondsDefault: 60},
			Process:     &sallyport.ProcessCapability{AllowedBinaries: []string{"git"}},
			Attachments: &sallyport.AttachmentsCapability{Kinds: []sallyport.AttachmentKind{sallyport.KindFile, sallyport.KindImage}},
			Database:    &sallyport.DatabaseCapability{Connections: []string{"analytics"}},
			Mail:        &sallyport.MailCapability{To: []string{"*@Example.com"}},
		},
		Secrets: map[string]string{"providers/exa/apiKey": "correct horse"},
		KV:      kv,
		Spawn: func(_ context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
			return sallyport.ProcessResult{Stdout: []byte(strings.Join(s.Args, " "))}, nil
		},
		Query: func(q scopedtest.Queried) (sallyport.Table, error) {
			return sallyport.Table{Rows: [][]any{{q.Query}}}, nil
		},
		Attachments: []sallyport.Attachment{{Ref: "att-0", Kind: sallyport.KindFile}},
		Contents:    map[string]string{"att-0": "content"},
	}
	c := scopedtest.NewCall(t, o)
	ctx := t.Context()
	if key, err := c.Secrets.Get(ctx, "providers/exa/apiKey"); err != nil || key.Reveal() != "correct horse" {
		t.Errorf("Secrets.Get = %v", err)
	}
	if err := c.KV.Set(ctx, "k", "v", 0); err != nil {
		t.Errorf("KV.Set = %v", err)
	}
	if value, ok, err := scopedtest.NewCall(t, o).KV.Get(ctx, "k"); err != nil || !ok || value != "v" {
		t.Errorf("KV.Get in a second call = %q, %t, %v, want what the first one set", value, ok, err)
	}
	if _, err := c.KV.List(ctx, "k"); err != nil {
		t.Errorf("KV.List = %v", err)
	}
	if err := c.KV.Delete(ctx, "k"); err != nil {
		t.Errorf("KV.Delete = %v", err)
	}
	if res, err := c.Process.Spawn(ctx, "git", []string{"log", "-1"}, nil); err != nil || string(res.Stdout) != "log -1" {
		t.Errorf("Process.Spawn = %q, %v", res.Stdout, err)
	}
	if _, err := c.Process.Spawn(ctx, "rm", nil, nil); !errors.Is(err, sallyport.ErrBinaryNotAllowed) {
		t.Errorf("Process.Spawn(rm) = %v, want a refusal", err)
	}
	if r, err := c.Attachments.Open(ctx, "att-0"); err != nil {
		t.Errorf("Attachments.Open = %v", err)
	} else {
		r.Close()
	}
	if table, err := c.Databases.Query(ctx, "analytics", "select 1", nil); err != nil || table.Rows[0][0] != "select 1" {
		t.Errorf("Databases.Query = %v, %v", table, err)
	}
	if err := c.Mail.Send(ctx, sallyport.Message{To: []string{"a@example.com"}}); err != nil {
		t.Errorf("Mail.Send = %v", err)
	}
	c.Emit(sallyport.Progress{Message: "half way"})

	want := []string{
		"attachments file", "database analytics", "mail a@example.com", "process git", "refused process rm",
		"secrets providers/exa/apiKey", "storage k", "storage k*",
	}
	if d := cmp.Diff(want, touched(c)); d != "" {
		t.Errorf("Touched (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"secrets mail/user", "attachments image"}, texts(scopedtest.Unused(c))); d != "" {
		t.Errorf("Unused (-want +got):\n%s", d)
	}
	r := scopedtest.RecordOf(c)
	if len(r.Spawned()) != 1 || len(r.Queried()) != 1 || len(r.Sent()) != 1 || len(r.Progress()) != 1 || len(r.Decisions()) != 6 {
		t.Errorf("record = %v, %v, %v, %v, %v, want one of each and six decisions", r.Spawned(), r.Queried(), r.Sent(), r.Progress(), r.Decisions())
	}
	if d := cmp.Diff([]string{"personality:researcher", "personality:researcher"}, kv.Opened()); d != "" {
		t.Errorf("Opened (-want +got):\n%s", d)
	}
}

func TestTheZeroOptionsTouchNothing(t *testing.T) {
	c := scopedtest.NewCall(t, nil)
	if _, err := c.Network.Client().Get("https://example.com"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("Get = %v, want a refusal", err)
	}
	if err := c.KV.Set(t.Context(), "k", "v", time.Second); !errors.Is(err, sallyport.ErrNotAvailable) {
		t.Errorf("KV.Set = %v, want a refusal", err)
	}
	if d := cmp.Diff([]string{"refused network example.com", "refused storage k"}, touched(c)); d != "" {
		t.Errorf("Touched (-want +got):\n%s", d)
	}
}

func TestToolsWithGoroutines(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Secrets: []string{"a"}, Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"*"}}},
		Secrets:      map[string]string{"a": "correct horse"},
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, _ = c.Secrets.Get(t.Context(), "a")
			_, _ = c.Process.Spawn(t.Context(), "git", nil, nil)
			c.Emit(sallyport.Progress{})
			_ = scopedtest.Touched(c)
		})
	}
	wg.Wait()
	if d := cmp.Diff([]string{"process git", "secrets a"}, touched(c)); d != "" {
		t.Errorf("Touched (-want +got):\n%s", d)
	}
}
