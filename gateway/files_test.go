package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/attachments"
)

// filesKit is a kit whose server takes files.
type filesKit struct {
	*kit
	shelf  *attached.Shelf
	folder *attachments.Folder
	url    string
}

func newFilesKit(t *testing.T) *filesKit {
	t.Helper()
	f := &filesKit{kit: &kit{record: &record{}}}
	var err error
	if f.folder, err = attachments.New(&attachments.Options{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.folder.Close() })
	f.shelf = attached.NewShelf(f.folder)
	if f.registry, err = registry.New(&sallyport.Backends{Attachments: f.folder}, &registry.Options{Recorder: f.record}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.registry.Close(context.Background()) })
	if err := f.registry.Register(fileTools()...); err != nil {
		t.Fatal(err)
	}
	if f.Server, err = gateway.New(f.registry, &gateway.Options{Version: "v1.2.3", Files: f.shelf}); err != nil {
		t.Fatal(err)
	}
	f.url = f.site(t).URL
	return f
}

// fileTools returns a tool that opens the attachments of its turn, and one that
// gets files as values.
func fileTools() []sallyport.Tool {
	all := sallyport.Capabilities{Attachments: &sallyport.AttachmentsCapability{All: true}}
	return []sallyport.Tool{
		{
			Name: "look", Capabilities: all, Run: lookAtFiles, ReadOnly: true,
			Schema: json.RawMessage(`{"type":"object","properties":{"ref":{"type":"string","format":"attachment"},"refs":{"type":"array","items":{"type":"string","format":"attachment"}},"plain":{}}}`),
		},
		{
			Name: "values", ReadOnly: true,
			Schema: json.RawMessage(`{"type":"object","properties":{"coded":{"type":"string","contentEncoding":"base64"},"text":{"type":"string","contentMediaType":"text/plain"},"texts":{"type":"array","items":{"type":"string","contentMediaType":"text/plain"}},"path":{"type":"string"}}}`),
			Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
				return sallyport.OK(string(c.Args)), nil
			},
		},
	}
}

// lookAtFiles says what a tool sees of the files: the arguments, then each file.
func lookAtFiles(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	said := string(c.Args)
	for _, a := range c.Attachments.List() {
		r, err := c.Attachments.Open(ctx, a.Ref)
		if err != nil {
			return sallyport.Result{}, err
		}
		data, err := io.ReadAll(r)
		if err := r.Close(); err != nil {
			return sallyport.Result{}, err
		}
		if err != nil {
			return sallyport.Result{}, err
		}
		said += fmt.Sprintf("; %s is %s, %s of %d: %s", a.Ref, a.Name, a.Kind, a.Bytes, data)
	}
	return sallyport.OK(said), nil
}

// call makes a call of a tool and returns the text of its result.
func (f *filesKit) call(t *testing.T, as, tool, args, meta string) (text string, failed bool) {
	t.Helper()
	if meta != "" {
		meta = `"sallyport/attachments":` + meta + `,`
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `,"_meta":{` + meta +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	status, text := post(t, client(t, as), f.url, body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
	var answer struct {
		Result mcp.CallToolResult `json:"result"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Result.Content) != 1 || status != http.StatusOK {
		t.Fatalf("%s answers %d %s (%v)", tool, status, text, err)
	}
	content, _ := answer.Result.Content[0].(*mcp.TextContent)
	return content.Text, answer.Result.IsError
}

// embedded returns an embedded resource with a text.
func embedded(name, text string) string {
	return fmt.Sprintf(`{"type":"resource","resource":{"uri":"file:///in/%s","mimeType":"text/plain","text":%q}}`, name, text)
}

// refOfHello is the ref of the content hello.
const refOfHello = "att-2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

func TestFilesInArgumentsBecomeAttachments(t *testing.T) {
	t.Parallel()
	f := newFilesKit(t)
	hello, seen := embedded("a.txt", "hello"), "; "+refOfHello+" is a.txt, file of 5: hello"
	for name, tt := range map[string]struct{ args, meta, want string }{
		"an argument": {args: `{"ref":` + hello + `}`, want: `{"ref":"` + refOfHello + `"}` + seen},
		"a list":      {args: `{"refs":["x",` + hello + `]}`, want: `{"refs":["x","` + refOfHello + `"]}` + seen},
		"the message": {args: `{}`, meta: `[` + hello + `]`, want: `{}` + seen},
		"bytes":       {args: `{"ref":{"type":"resource","resource":{"uri":"file:///in/a.txt","blob":"aGVsbG8="}}}`, want: `{"ref":"` + refOfHello + `"}` + seen},
		"a text":      {args: `{"ref":"a.txt"}`, want: `{"ref":"a.txt"}`},
		"elsewhere":   {args: `{"plain":` + hello + `}`, want: `{"plain":` + hello + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got, failed := f.call(t, "alice", "look", tt.args, tt.meta); got != tt.want || failed {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if _, err := f.folder.Open(t.Context(), refOfHello); err == nil {
		t.Error("the file is still there after its calls")
	}
}

func TestTheRecordHasTheDigestOfAFile(t *testing.T) {
	t.Parallel()
	f := newFilesKit(t)
	f.call(t, "alice", "look", `{"ref":`+embedded("a.txt", "hello")+`}`, "")
	e := f.record.outcomes("look")[0]
	if text := fmt.Sprint(e.Args, e.Decisions); strings.Contains(text, "hello") || !strings.Contains(string(e.Args), refOfHello) || !strings.Contains(text, "open "+refOfHello+", 5 bytes") {
		t.Errorf("recorded %s", text)
	}
}

func TestFilesBecomeValues(t *testing.T) {
	t.Parallel()
	f := newFilesKit(t)
	a, err := f.shelf.KeepUpload(attached.OwnerOf(&sallyport.Principal{Name: "alice"}), "a.txt", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	link, hello := `{"type":"resource_link","name":"a","uri":"attachment:`+a.Ref+`"}`, embedded("a.txt", "hello")
	for args, want := range map[string]string{
		`{"coded":` + hello + `}`: `{"coded":"aGVsbG8="}`,
		`{"coded":` + link + `}`:  `{"coded":"aGVsbG8="}`,
		`{"text":` + link + `}`:   `{"text":"hello"}`,
	} {
		if got, failed := f.call(t, "alice", "values", args, ""); got != want || failed {
			t.Errorf("%s = %s, want %s", args, got, want)
		}
	}
	binary := base64.StdEncoding.EncodeToString([]byte{0xff})
	for args, want := range map[string]string{
		`{"path":` + hello + `}`: "input_invalid",
		`{"text":{"type":"resource","resource":{"uri":"a:b","blob":"` + binary + `"}}}`: "none in UTF-8",
	} {
		if got, failed := f.call(t, "alice", "values", args, ""); !strings.Contains(got, want) || !failed {
			t.Errorf("%s = %s, want a failure with %s", args, got, want)
		}
	}
}

// A link of a few bytes stands for megabytes, which escapes make more.
func TestKeptFilesDoNotOutgrowTheArguments(t *testing.T) {
	f := newFilesKit(t)
	keep := func(name string, size int, fill byte) string {
		a, err := f.shelf.KeepUpload(attached.OwnerOf(&sallyport.Principal{Name: "alice"}), name, bytes.NewReader(bytes.Repeat([]byte{fill}, size)))
		if err != nil {
			t.Fatal(err)
		}
		return `{"type":"resource_link","name":"a","uri":"attachment:` + a.Ref + `"}`
	}
	nuls, small, most := keep("nuls", 6<<20, 0), keep("small", 3<<20, 'a'), keep("most", 6<<20, 'b')
	for name, tt := range map[string]struct{ args, want string }{
		"escapes":            {`{"text":` + nuls + `}`, "more than 8388608 bytes"},
		"a key again":        {`{"text":` + strings.Repeat(nuls+`,"text":`, 15) + nuls + `}`, `\"text\" comes twice`},
		"an escaped key":     {`{"text":` + nuls + `,"\u0074ext":` + nuls + `}`, `\"text\" comes twice`},
		"two files":          {`{"coded":` + small + `,"text":` + most + `}`, "more than 8388608 bytes"},
		"one in base64":      {`{"coded":` + most + `,"path":"more"}`, "more than 8388608 bytes"},
		"a list":             {`{"texts":[` + strings.Repeat(small+`,`, 15) + small + `]}`, "2: with their files"},
		"a large one within": {`{"text":` + most + `}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, failed := f.call(t, "alice", "values", tt.args, "")
			runtime.ReadMemStats(&after)
			if failed != (tt.want != "") || !strings.Contains(got, strings.ReplaceAll(tt.want, `\"`, `"`)) {
				t.Errorf("got %.200s, want %s", got, tt.want)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 256 {
				t.Errorf("a request of %d bytes took %d MiB", len(tt.args), took)
			}
		})
	}
}

func TestLinksLeadToOwnFilesAlone(t *testing.T) {
	t.Parallel()
	f := newFilesKit(t)
	link := `{"ref":{"type":"resource_link","name":"a","uri":"attachment:` + refOfHello + `"}}`
	unknown, failed := f.call(t, "bob", "look", link, "")
	if !failed || !strings.HasPrefix(unknown, "input_invalid: ") {
		t.Fatalf("an unknown file = %s", unknown)
	}
	if _, err := f.shelf.KeepUpload(attached.OwnerOf(&sallyport.Principal{Name: "alice"}), "a.txt", strings.NewReader("hello")); err != nil {
		t.Fatal(err)
	}
	cut := func(s string) string { return strings.Split(s, "(call ")[0] }
	if foreign, failed := f.call(t, "bob", "look", link, ""); !failed || cut(foreign)[:60] != cut(unknown)[:60] {
		t.Errorf("alice's file = %s, want it as unknown as any: %s", foreign, unknown)
	}
	if own, failed := f.call(t, "alice", "look", link, ""); failed || !strings.HasSuffix(own, ": hello") {
		t.Errorf("alice's own file = %s", own)
	}
	if len(f.record.outcomes("look")) != 3 {
		t.Errorf("recorded %d calls, want 3", len(f.record.outcomes("look")))
	}
}

func TestFilesOfACallAreBounded(t *testing.T) {
	t.Parallel()
	f := newFilesKit(t)
	list := strings.TrimSuffix(strings.Repeat(embedded("a", "x")+",", 17), ",")
	for name, tt := range map[string]struct{ args, meta, want string }{
		"in a list":     {args: `{"refs":[` + list + `]}`, want: "more than 16 files"},
		"in a message":  {args: `{}`, meta: `[` + list + `]`, want: "more than 16 files"},
		"in both":       {args: `{"ref":` + embedded("a", "x") + `}`, meta: `[` + strings.TrimSuffix(strings.Repeat(embedded("a", "x")+",", 16), ",") + `]`, want: "more than 16 files"},
		"no list":       {args: `{}`, meta: `{}`, want: "expected a list"},
		"no file":       {args: `{}`, meta: `["a"]`, want: "expected an embedded resource"},
		"a foreign URI": {args: `{}`, meta: `[{"type":"resource_link","name":"a","uri":"file:///etc/passwd"}]`, want: "is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, failed := f.call(t, "alice", "look", tt.args, tt.meta); !failed || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want a failure with %q", got, tt.want)
			}
		})
	}
	if got, failed := f.call(t, "alice", "look", `{"ref":`+embedded("a", "x")+`}`, ""); failed {
		t.Errorf("what was refused counts still: %s", got)
	}
}

// TestFilesStayWhileTheirCallWaits makes a call that asks its client, and goes on in
// the next round with the files of the first one.
func TestFilesStayWhileTheirCallWaits(t *testing.T) {
	t.Parallel()
	f := newFilesKit(t)
	tool := sallyport.Tool{
		Name: "asks", Schema: json.RawMessage(`{"type":"object","properties":{"ref":{"type":"string","format":"attachment"}}}`),
		Capabilities: sallyport.Capabilities{Input: []sallyport.InputKind{sallyport.InputPerson}, Attachments: &sallyport.AttachmentsCapability{All: true}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			if _, err := c.Input.Ask(ctx, aName); err != nil {
				return sallyport.Result{}, err
			}
			return lookAtFiles(ctx, c)
		},
	}
	if err := f.registry.Register(tool); err != nil {
		t.Fatal(err)
	}
	q := &inquirer{at: attacker{nil, t, strings.TrimSuffix(f.url, "/mcp")}}
	args := `{"ref":` + embedded("a.txt", "hello") + `}`
	state := q.begin("alice", "asks", args)
	if r, err := f.folder.Open(t.Context(), refOfHello); err != nil {
		t.Errorf("the file went with the first round: %v", err)
	} else if err := r.Close(); err != nil {
		t.Error(err)
	}
	other := `{"ref":` + embedded("a.txt", "other") + `}`
	if r := q.round("alice", "asks", bring(other, state, ann)); !strings.Contains(r.text(), "requestState") {
		t.Errorf("another file under the same state = %s", r.text())
	}
	r := q.round("alice", "asks", bring(args, state, ann))
	if !strings.HasSuffix(r.text(), ": hello") {
		t.Errorf("the call ends with %s", r.text())
	}
	if _, err := f.folder.Open(t.Context(), refOfHello); err == nil {
		t.Error("the file is still there after its call")
	}
}
