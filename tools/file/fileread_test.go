package file_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/tools/file"
)

// reader is one personality that may read a folder.
type reader struct{ p *sallyport.Personality }

func (r reader) Personality(string) (*sallyport.Personality, bool) { return r.p, true }

// newFileGate is a gate with the file tools over a fresh workspace.
func newFileGate(t *testing.T) (r *registry.Registry, workspace string) {
	t.Helper()
	workspace = t.TempDir()
	r, err := registry.New(&sallyport.Backends{
		Personalities: reader{&sallyport.Personality{FSReach: &sallyport.Reach{Read: []string{workspace}}}},
		Files:         &sallyport.FileBackend{Home: t.TempDir()},
	}, &registry.Options{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	for _, tl := range file.Tools() {
		if tl.Name == "file-read" {
			err = r.Register(tl)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, workspace
}

func fileReadCall(t *testing.T, r *registry.Registry, permissions []string, args string) sallyport.Result {
	t.Helper()
	return r.Call(t.Context(), &sallyport.Caller{
		Principal: sallyport.Principal{Name: "tester", Permissions: permissions}, Session: "s", Personality: "p", Platform: sallyport.PlatformGo,
	}, sallyport.Request{Tool: "file-read", Args: json.RawMessage(args)})
}

// TestFileRead reads through the whole gate.
func TestFileRead(t *testing.T) {
	t.Parallel()
	r, dir := newFileGate(t)
	for name, content := range map[string]string{
		"a.txt": "caf\u00e9\r\nline\n", "empty": "", "bom": "\xef\xbb\xbfx", "bytes": "\x00\xff\xe9", "long": strings.Repeat("x", 4<<20+1), "full": strings.Repeat("y", 4<<20),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	can := []string{"file:read"}
	tests := []struct {
		name, args  string
		permissions []string
		code        sallyport.Code
		want        string // the body of a success, the beginning of a failure
	}{
		{"text", `{"path":"a.txt"}`, can, "", "caf\u00e9\r\nline\n"},
		{"named encoding", `{"path":"a.txt","encoding":"utf-8"}`, can, "", "caf\u00e9\r\nline\n"},
		{"empty", `{"path":"empty"}`, can, "", ""},
		{"base64", `{"path":"bytes","encoding":"base64"}`, can, "", "AP/p"},
		{"latin1", `{"path":"bom","encoding":"latin1"}`, can, "", "\u00ef\u00bb\u00bfx"},
		{"not UTF-8", `{"path":"bytes"}`, can, sallyport.CodeExecutionFailed, `$/bytes is not UTF-8; read it with encoding "base64" for its bytes`},
		{"too long", `{"path":"long"}`, can, sallyport.CodeExecutionFailed, "$/long is larger than 4 MiB; read_file reads it in parts"},
		{"folder", `{"path":"."}`, can, sallyport.CodeInputInvalid, "$ is a directory, not a file"},
		{"missing", `{"path":"none"}`, can, sallyport.CodeExecutionFailed, "File not found: $/none"},
		{"outside", `{"path":"/etc/passwd"}`, can, sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: read not permitted for /etc/passwd"},
		{"outside and missing", `{"path":"/etc/none"}`, can, sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: read not permitted for /etc/none"},
		{"traversal", `{"path":"../../etc/passwd"}`, can, sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: read not permitted for "},
		{"link", `{"path":"link"}`, can, sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: read not permitted for "},
		{"unknown encoding", `{"path":"a.txt","encoding":"utf-7"}`, can, sallyport.CodeInputInvalid, ""},
		{"no path", `{}`, can, sallyport.CodeInputInvalid, ""},
		{"no permission", `{"path":"a.txt"}`, nil, sallyport.CodePermissionDenied, "Permission denied: file-read requires file:read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := fileReadCall(t, r, tt.permissions, tt.args)
			got := unwrapped(res.Value + res.Error)
			want := strings.ReplaceAll(tt.want, "$", dir)
			if res.Code != tt.code || res.OK && got != want || !res.OK && !strings.HasPrefix(got, want) || strings.Contains(got, "SECRET") {
				t.Errorf("file-read(%s) = %s %q, want %s %q", tt.args, res.Code, got, tt.code, want)
			}
		})
	}
	res := fileReadCall(t, r, can, `{"path":"full"}`)
	if !res.OK || !strings.Contains(res.Value, "[truncated -- 4194304 chars total]") {
		t.Errorf("a file of 4 MiB = %.100q %s, want it cut to the budget", res.Value, res.Error)
	}
	res = fileReadCall(t, r, can, `{"path":"a.txt"}`)
	if !strings.HasPrefix(res.Value, `<untrusted source="file:`) || res.Structured["bytes"] != 12.0 || res.Structured["encoding"] != "utf-8" ||
		res.Structured["path"] != filepath.Join(dir, "a.txt") {
		t.Errorf("file-read = %q %v, want it wrapped, with path, size and encoding", res.Value, res.Structured)
	}
}

// unwrapped takes the wrapper of untrusted output off.
func unwrapped(s string) string {
	if !strings.HasPrefix(s, "<untrusted ") {
		return s
	}
	_, s, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(s, "\n</untrusted>")
}
