package scopedtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// These tests are those of docs/guides/testing.md: one for each accessor.

func TestReadsOneFolder(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{
			Read:  sallyport.PathList{Paths: []string{"${workspace}/in"}},
			Write: sallyport.PathList{Paths: []string{"${workspace}/out"}},
		}},
		Files: map[string]string{"in/a.txt": "hello", "out/a.txt": "", "private.txt": "not for the tool"},
	})
	text, err := c.FS.ReadFile("in/a.txt")
	if err != nil || string(text) != "hello" {
		t.Errorf("ReadFile = %q, %v", text, err)
	}
	if err := c.FS.WriteFile("out/b.txt", []byte("done")); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(c.Workspace, "out/b.txt")); err != nil || string(text) != "done" {
		t.Errorf("the workspace has %q, %v", text, err)
	}
	if _, err := c.FS.ReadFile("private.txt"); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("ReadFile outside of the declaration = %v", err)
	}
}

func TestReachesOneHost(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"api.example.com"}}},
		Hosts: map[string]http.Handler{
			"api.example.com": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }),
			"evil.example":    http.NotFoundHandler(),
		},
	})
	res, err := c.Network.Client().Get("https://api.example.com/v1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "/v1" {
		t.Errorf("the host answered %q, %v", body, err)
	}
	if _, err := c.Network.Client().Get("https://evil.example/"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("Get of another host = %v", err)
	}
}

func TestReadsOneSecret(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Secrets: []string{"providers/weather/key"}},
		Secrets:      map[string]string{"providers/weather/key": "a-key-of-the-test", "providers/mail/key": "another-key"},
	})
	if key, err := c.Secrets.Get(t.Context(), "providers/weather/key"); err != nil || key.Reveal() != "a-key-of-the-test" {
		t.Errorf("Get = %v, %v", key, err)
	}
	if _, err := c.Secrets.Get(t.Context(), "providers/mail/key"); !errors.Is(err, sallyport.ErrSecretNotDeclared) {
		t.Errorf("Get of another secret = %v", err)
	}
}

func TestKeepsAValue(t *testing.T) {
	var store scopedtest.KV // two calls of one session share it
	options := &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeSession, Kind: "kv"}},
		KV:           &store,
	}
	if err := scopedtest.NewCall(t, options).KV.Set(t.Context(), "seen", "yes", 0); err != nil {
		t.Fatal(err)
	}
	if v, ok, err := scopedtest.NewCall(t, options).KV.Get(t.Context(), "seen"); v != "yes" || !ok || err != nil {
		t.Errorf("Get in the next call = %q, %v, %v", v, ok, err)
	}
}

func TestStartsGitAlone(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"git"}}},
		Spawn: func(_ context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
			return sallyport.ProcessResult{Stdout: []byte(s.Args[0] + " of the test")}, nil
		},
	})
	res, err := c.Process.Spawn(t.Context(), "git", []string{"status"}, nil)
	if err != nil || string(res.Stdout) != "status of the test" {
		t.Errorf("Spawn = %q, %v", res.Stdout, err)
	}
	if _, err := c.Process.Spawn(t.Context(), "rm", []string{"-rf", "."}, nil); !errors.Is(err, sallyport.ErrBinaryNotAllowed) {
		t.Errorf("Spawn of another binary = %v", err)
	}
	if n := len(scopedtest.RecordOf(c).Spawned()); n != 1 {
		t.Errorf("%d processes were started, want 1", n)
	}
}

func TestOpensAFileAlone(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Attachments: &sallyport.AttachmentsCapability{Kinds: []sallyport.AttachmentKind{sallyport.KindFile}}},
		Attachments: []sallyport.Attachment{
			{Ref: "1", Kind: sallyport.KindFile, Name: "a.csv"}, {Ref: "2", Kind: sallyport.KindImage, Name: "b.png"},
		},
		Contents: map[string]string{"1": "x,y", "2": "…"},
	})
	if list := c.Attachments.List(); len(list) != 1 || list[0].Name != "a.csv" {
		t.Errorf("List = %v, want the file alone", list)
	}
	f, err := c.Attachments.Open(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != "x,y" {
		t.Errorf("the attachment holds %q, %v", text, err)
	}
}

func TestCountsOrders(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Database: &sallyport.DatabaseCapability{Connections: []string{"orders"}}},
		Query: func(scopedtest.Queried) (sallyport.Table, error) {
			return sallyport.Table{Columns: []string{"n"}, Rows: [][]any{{42}}}, nil
		},
	})
	table, err := c.Databases.Query(t.Context(), "orders", "SELECT count(*) AS n FROM orders WHERE day = ?", []any{"today"})
	if err != nil || table.Rows[0][0] != 42 {
		t.Errorf("Query = %v, %v", table, err)
	}
	if q := scopedtest.RecordOf(c).Queried()[0]; q.Mode != sallyport.ModeRead || !slices.Equal(q.Args, []any{"today"}) {
		t.Errorf("the statement ran as %v with %v", q.Mode, q.Args)
	}
}

func TestMailsTheTeamAlone(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Mail: &sallyport.MailCapability{To: []string{"*@example.com"}}},
	})
	if err := c.Mail.Send(t.Context(), sallyport.Message{To: []string{"team@example.com"}, Subject: "Done"}); err != nil {
		t.Error(err)
	}
	if err := c.Mail.Send(t.Context(), sallyport.Message{To: []string{"team@example.com", "other@evil.example"}}); err == nil {
		t.Error("a mail with one recipient outside of the declaration was sent")
	}
	if n := len(scopedtest.RecordOf(c).Sent()); n != 1 {
		t.Errorf("%d mails were sent, want 1", n)
	}
}

func TestAsksThePerson(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{
		Capabilities: sallyport.Capabilities{Input: []sallyport.InputKind{sallyport.InputPerson}},
		Answer: func(q sallyport.Question) sallyport.Answer {
			return sallyport.Answer{Action: sallyport.ActionDecline} // the person says no
		},
	})
	answers, err := c.Input.Ask(t.Context(), sallyport.Question{Name: "sure", Kind: sallyport.InputPerson, Message: "Delete it?"})
	if err != nil || answers[0].Action != sallyport.ActionDecline {
		t.Errorf("Ask = %v, %v", answers, err)
	}
}

// A declaration that a tool does not use, or reaches past, fails its test.
func TestDeclarationIsUsed(t *testing.T) {
	c := scopedtest.NewCall(t, &scopedtest.Options{Capabilities: weather.Capabilities})
	_, _ = weather.Run(t.Context(), c) // the secret has no value here
	if got := scopedtest.Unused(c); len(got) != 1 || got[0].String() != "network api.openweathermap.org" {
		t.Errorf("Unused = %v", got)
	}
	if got := scopedtest.Touched(c); len(got) != 1 || got[0].String() != "secrets providers/openweather/apiKey" {
		t.Errorf("Touched = %v", got)
	}
}
