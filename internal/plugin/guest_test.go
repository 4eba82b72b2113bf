package plugin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/internal/plugin"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/file"
	"github.com/sallyport/sallyport/tools/httpreq"
	"github.com/sallyport/sallyport/tools/todo"
)

// goModule compiles the built-in tools in testdata/gotools, once for all tests.
var goModule = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sallyport-plugin-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "tools.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", path, ".")
	build.Dir, build.Env = "testdata/gotools", append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return out, err
	}
	return os.ReadFile(path)
})

// loadGo loads the compiled tools.
func loadGo(t testing.TB) *plugin.Plugin {
	t.Helper()
	needs.Toolchain(t)
	text, err := goModule()
	if err != nil {
		t.Fatalf("the tools do not compile: %v\n%s", err, text)
	}
	p, err := plugin.Load(t.Context(), "go", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// TestABuiltInToolIsTheSameAsAPlugin runs built-in tools in this process and compiled as
// a plugin, on accessors of the same grant, and compares what they answer and what they
// leave in the workspace and the store.
func TestABuiltInToolIsTheSameAsAPlugin(t *testing.T) {
	t.Parallel()
	p := loadGo(t)
	type step struct{ tool, args string }
	tools := slices.Concat(file.Tools(), httpreq.Tools(), todo.Tools())
	for what, steps := range map[string][]step{
		"read":           {{"read_file", `{"path":"a.txt"}`}, {"read_file", `{"path":"a.txt","start_line":2}`}},
		"no file":        {{"read_file", `{"path":"none.txt"}`}},
		"a folder":       {{"read_file", `{"path":"sub"}`}},
		"outside":        {{"read_file", `{"path":"/etc/passwd"}`}},
		"an attachment":  {{"read_file", `{"ref":"att-1"}`}, {"read_file", `{"ref":"none"}`}},
		"write":          {{"write_file", `{"path":"new/n.txt","content":"x\ny"}`}, {"read_file", `{"path":"new/n.txt"}`}},
		"write outside":  {{"write_file", `{"path":"/etc/n.txt","content":"x"}`}},
		"stale":          {{"write_file", `{"path":"a.txt","content":"x"}`}},
		"patch":          {{"read_file", `{"path":"a.txt"}`}, {"patch_file", `{"path":"a.txt","old_string":"beta","new_string":"gamma"}`}, {"read_file", `{"path":"a.txt"}`}},
		"patch nothing":  {{"patch_file", `{"path":"a.txt","old_string":"none","new_string":"gamma"}`}},
		"search":         {{"search_files", `{"pattern":"beta"}`}},
		"list":           {{"list_files", `{"path":"."}`}},
		"an older name":  {{"file-read", `{"path":"a.txt"}`}},
		"request":        {{"http-get", `{"url":"https://api.example/data"}`}},
		"other host":     {{"http-get", `{"url":"https://evil.example/"}`}},
		"a task list":    {{"todo_create", `{"tasks":["one"]}`}, {"todo_list", `{}`}},
		"wrong argument": {{"search_files", `{"pattern":"("}`}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			play := func(inside bool) (results []sallyport.Result, left map[string]string) {
				all := sallyport.Capabilities{
					Attachments: &sallyport.AttachmentsCapability{All: true}, Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeSession, Kind: "kv"},
					FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality(), Write: sallyport.FromPersonality()}, Network: &sallyport.NetworkCapability{AllowedHosts: []string{"api.example:443"}},
				}
				c := scopedtest.NewCall(t, &scopedtest.Options{
					Capabilities: all, Files: map[string]string{"a.txt": "alpha\nbeta\n", "sub/b.txt": "beta\n"},
					Hosts: map[string]http.Handler{"api.example:443": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", "application/json")
						_, _ = io.WriteString(w, `{"n":1}`)
					})},
					Attachments: []sallyport.Attachment{{Ref: "att-1", Kind: sallyport.KindFile, Name: "n.txt"}}, Contents: map[string]string{"att-1": "note"},
				})
				c.SessionKey = "s"
				for _, s := range steps {
					at := slices.IndexFunc(tools, func(tool sallyport.Tool) bool { return tool.Name == s.tool })
					run := tools[at].Run
					if inside {
						run = p.Run(s.tool)
					}
					c.Args, c.Checked = json.RawMessage(s.args), true
					res, err := run(t.Context(), c)
					if err != nil {
						res = sallyport.ErrorResult(err)
					}
					res.Source = ""
					text, err := json.Marshal(res)
					if err != nil {
						t.Fatal(err)
					}
					// The workspace is another folder each time, and ids of tasks are random.
					same := strings.ReplaceAll(string(text), c.Workspace, "/ws")
					if id := taskID.FindStringSubmatch(same); id != nil {
						same = strings.ReplaceAll(same, id[1], "ID")
					}
					res = sallyport.Result{}
					if err := json.Unmarshal([]byte(same), &res); err != nil {
						t.Fatal(err)
					}
					results = append(results, res)
				}
				return results, contentsOf(t, c.Workspace)
			}
			want, wantLeft := play(false)
			got, gotLeft := play(true)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the plugin answers otherwise (-built in +plugin):\n%s", diff)
			}
			if diff := cmp.Diff(wantLeft, gotLeft); diff != "" {
				t.Errorf("the plugin leaves other files (-built in +plugin):\n%s", diff)
			}
		})
	}
}

// taskID finds the id of a task in a result.
var taskID = regexp.MustCompile(`"id":"([a-z0-9]+)"`)

// contentsOf returns the files of a folder.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
