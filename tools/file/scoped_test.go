package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/file"
)

// tool finds one of the tools.
func tool(t testing.TB, name string) sallyport.Tool {
	t.Helper()
	for _, tl := range file.Tools() {
		if tl.Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %s", name)
	return sallyport.Tool{}
}

// newCall is a call of a tool with the accessors of its declaration.
func newCall(t testing.TB, tl sallyport.Tool) *sallyport.Call {
	t.Helper()
	return scopedtest.NewCall(t, &scopedtest.Options{
		Tool: tl.Name, Capabilities: tl.Capabilities,
		Files: map[string]string{"a.txt": "alpha\nbeta\n", "sub/b.txt": "beta\n", ".env": "beta=1"},
		Attachments: []sallyport.Attachment{
			{Ref: "att-0", Kind: sallyport.KindImage, Name: "p.png"}, {Ref: "att-1", Kind: sallyport.KindFile, Name: "n.txt"},
		},
		Contents: map[string]string{"att-0": "\x89PNG\r\n\x1a\n\x00", "att-1": "note"},
	})
}

// run calls a tool on an existing call.
func run(t testing.TB, c *sallyport.Call, name, in string) sallyport.Result {
	t.Helper()
	c.Args = json.RawMessage(in)
	r, err := tool(t, name).Run(t.Context(), c)
	if err != nil {
		return sallyport.ErrorResult(err)
	}
	return r
}

// TestAccessors runs each tool on the accessors that a gate hands out, and
// checks that it touches what it declares.
func TestAccessors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, tool, in, want string }{
		{"read", "read_file", `{"path":"a.txt"}`, "2 lines\n\nalpha\nbeta\n"},
		{"read attachment", "read_file", `{"ref":"att-1"}`, "[attachment n.txt] 1 line\n\nnote"},
		{"read image", "read_file", `{"ref":"att-0"}`, "image/png"},
		{"read missing", "read_file", `{"path":"no"}`, "File not found: "},
		{"read directory", "read_file", `{"path":"sub"}`, "sub is a directory, not a file"},
		{"read outside", "read_file", `{"path":"/etc/passwd"}`, "PATH_NOT_REACHABLE: read not permitted for /etc/passwd"},
		{"read outside and missing", "read_file", `{"path":"../../nowhere"}`, "PATH_NOT_REACHABLE: read not permitted for "},
		{"write", "write_file", `{"path":"new/c.txt","content":"x"}`, "Wrote 1 byte to "},
		{"write outside", "write_file", `{"path":"/etc/x","content":""}`, "PATH_NOT_REACHABLE: write not permitted for /etc/x"},
		{"write directory", "write_file", `{"path":"sub","content":""}`, "sub is a directory"},
		{"patch", "patch_file", `{"path":"a.txt","old_text":"beta","new_text":"gamma"}`, "Patched "},
		{"patch missing", "patch_file", `{"path":"no","old_text":"a","new_text":"b"}`, "File not found: "},
		{"patch directory", "patch_file", `{"path":"sub","old_text":"a","new_text":"b"}`, "sub is a directory"},
		{"patch outside", "patch_file", `{"path":"/etc/passwd","old_text":"a","new_text":"b"}`, "PATH_NOT_REACHABLE: "},
		{"search", "search_files", `{"pattern":"beta"}`, "a.txt:2: beta\nsub/b.txt:1: beta"},
		{"search one file", "search_files", `{"pattern":"beta","path":"sub/b.txt"}`, "\n\nsub/b.txt:1: beta"},
		{"search missing", "search_files", `{"pattern":"beta","path":"no"}`, "File not found: "},
		{"search outside", "search_files", `{"pattern":"root","path":"/etc"}`, "PATH_NOT_REACHABLE: read not permitted for /etc"},
		{"list", "list_files", `{}`, "\n\na.txt\nsub/\nsub/b.txt"},
		{"list outside", "list_files", `{"path":".."}`, "PATH_NOT_REACHABLE: read not permitted for "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCall(t, tool(t, tt.tool))
			r := run(t, c, tt.tool, tt.in)
			if got := r.Value + r.Error; !strings.Contains(got, tt.want) {
				t.Errorf("%s(%s) = %q, want it to contain %q", tt.tool, tt.in, got, tt.want)
			}
			if len(scopedtest.Touched(c)) == 0 {
				t.Errorf("%s(%s) touched nothing", tt.tool, tt.in)
			}
		})
	}
}

// TestNoWayOut gives the tools links that lead out of the reach: the answer is
// the refusal, and neither a name nor a word from outside.
func TestNoWayOut(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("SECRET beta"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, in string }{
		{"read_file", `{"path":"link"}`},
		{"write_file", `{"path":"link","content":"SECRET"}`},
		{"patch_file", `{"path":"link","old_text":"beta","new_text":"x"}`},
		{"search_files", `{"pattern":"beta","path":"link"}`},
		{"search_files", `{"pattern":"SECRET"}`},
		{"list_files", `{"path":"dirlink"}`},
	} {
		c := newCall(t, tool(t, tt.tool))
		for link, target := range map[string]string{"link": outside, "dirlink": filepath.Dir(outside)} {
			if err := os.Symlink(target, filepath.Join(c.Workspace, link)); err != nil {
				t.Fatal(err)
			}
		}
		r := run(t, c, tt.tool, tt.in)
		got := r.Value + r.Error
		if r.OK && !strings.HasPrefix(got, "No matches") || !r.OK && !strings.HasPrefix(got, "PATH_NOT_REACHABLE: ") ||
			strings.Contains(got, "SECRET beta") || strings.Contains(got, "secret.txt") {
			t.Errorf("%s(%s) = %q, want a refusal", tt.tool, tt.in, got)
		}
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "SECRET beta" {
		t.Errorf("the file outside = %q, %v, want it untouched", data, err)
	}
}

// TestStaleWrite changes a file between a read and a write of one session.
func TestStaleWrite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, in string }{
		{"write_file", `{"path":"a.txt","content":"mine"}`},
		{"patch_file", `{"path":"a.txt","old_text":"theirs","new_text":"mine"}`},
	} {
		c := newCall(t, tool(t, tt.tool))
		path := filepath.Join(c.Workspace, "a.txt")
		if r := run(t, c, "read_file", `{"path":"a.txt"}`); !r.OK {
			t.Fatal(r.Error)
		}
		if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := run(t, c, tt.tool, tt.in); r.Code != sallyport.CodeStaleWrite {
			t.Errorf("%s after a change = %q %s, want %s", tt.tool, r.Code, r.Value+r.Error, sallyport.CodeStaleWrite)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != "theirs" {
			t.Errorf("file = %q, %v, want it untouched", data, err)
		}
		// Searching is no reading: the file stays stale until it is read.
		run(t, c, "search_files", `{"pattern":"theirs"}`)
		if r := run(t, c, tt.tool, tt.in); r.Code != sallyport.CodeStaleWrite {
			t.Errorf("%s after a search = %q, want %s", tt.tool, r.Code, sallyport.CodeStaleWrite)
		}
		run(t, c, "read_file", `{"path":"a.txt"}`)
		for range 2 { // A session's own write is not stale either.
			if r := run(t, c, "write_file", `{"path":"a.txt","content":"mine"}`); !r.OK {
				t.Errorf("write_file after a read = %s: %s, want a success", r.Code, r.Error)
			}
		}
	}
}

// BenchmarkTools makes all tools, which a program does at its start.
func BenchmarkTools(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		file.Tools()
	}
}

// BenchmarkReadFile reads a small file through the real accessor.
func BenchmarkReadFile(b *testing.B) {
	tl := tool(b, "read_file")
	c := newCall(b, tl)
	c.Args = json.RawMessage(`{"path":"a.txt"}`)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := tl.Run(b.Context(), c); err != nil || !r.OK {
			b.Fatal(r.Error, err)
		}
	}
}
