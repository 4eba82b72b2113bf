package file

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	c := newCall(f)
	r := run(t, c, "write_file", map[string]any{"path": "new/deep/f", "content": "h\u00e9llo"})
	expect.OK(t, r)
	if want := "Wrote 6 bytes to " + f.Abs("new/deep/f"); r.Value != want {
		t.Errorf("value = %q, want %q", r.Value, want)
	}
	want := map[string]any{"path": f.Abs("new/deep/f"), "bytes": 6, "created": true}
	if diff := cmp.Diff(want, r.Structured); diff != "" {
		t.Errorf("structured (-want +got):\n%s", diff)
	}
	r = run(t, c, "write_file", map[string]any{"path": "new/deep/f", "content": "AP8=", "encoding": "base64"})
	expect.OK(t, r)
	if got := f.get(t, "new/deep/f"); got != "\x00\xff" || r.Structured["created"] != false {
		t.Errorf("file = %q, created = %v, want the two bytes and false", got, r.Structured["created"])
	}
}

func TestWriteFileFailures(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "dir/x", "")
	tests := []struct {
		name string
		in   map[string]any
		code sallyport.Code
		text string
	}{
		{"outside", map[string]any{"path": "/etc/cron.d/x", "content": ""}, sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: write not permitted for /etc/cron.d/x"},
		{"no path", map[string]any{"content": ""}, sallyport.CodeInputInvalid, "path"},
		{"no content", map[string]any{"path": "f"}, sallyport.CodeInputInvalid, "content"},
		{"bad base64", map[string]any{"path": "f", "content": "a", "encoding": "base64"}, sallyport.CodeInputInvalid, "content is not base64"},
		{"directory", map[string]any{"path": "dir", "content": ""}, sallyport.CodeInputInvalid, "is a directory"},
		{"a file on the way", map[string]any{"path": "dir/x/y", "content": ""}, sallyport.CodeExecutionFailed, "cannot write " + f.Abs("dir/x/y")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect.Err(t, run(t, newCall(f), "write_file", tt.in), tt.code, tt.text)
		})
	}
	if f.exists("f") {
		t.Error("a refused write left a file")
	}
}

// TestWriteFileWriteOnly writes where reading is not granted: it succeeds and
// says nothing about what was there before.
func TestWriteFileWriteOnly(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOnly = true
	r := run(t, newCall(f), "write_file", map[string]any{"path": "f", "content": "x"})
	expect.OK(t, r, "Wrote 1 byte to ")
	if _, told := r.Structured["created"]; told {
		t.Errorf("structured = %v, want no word on what was there", r.Structured)
	}
}

func TestPatchFile(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, old, new, want string }{
		{"literal", "a.b", "a.b", "$&$1\\1", "$&$1\\1"},
		{"removes", "one two three", " two", "", "one three"},
		{"multi-line", "a\nb\nc\n", "a\nb\n", "x\n", "x\nc\n"},
		{"crlf file, lf text", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"},
		{"crlf file, one line to two", "a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"},
		{"crlf file, crlf text", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"},
		{"lf file, crlf text", "a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"},
		{"mixed file is literal", "a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n"},
		{"bytes that are no text stay", "\xff\x00a\xfe", "a", "b", "\xff\x00b\xfe"},
		{"grows around itself", "foo", "foo", "foofoo", "foofoo"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeFS(t)
			f.writeOutside(t, "f", tt.content)
			expect.OK(t, run(t, newCall(f), "patch_file", map[string]any{"path": "f", "old_text": tt.old, "new_text": tt.new}), "Patched "+f.Abs("f"))
			if got := f.get(t, "f"); got != tt.want {
				t.Errorf("file = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPatchFileFailures(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("dup\n", 15)
	tests := []struct {
		name, content, old, new string
		code                    sallyport.Code
		parts                   []string
	}{
		{"twice", "x\ndup\ny\ndup\n", "dup", "z", sallyport.CodeInputInvalid, []string{"2 times", "     2: dup", "     4: dup"}},
		{"overlapping", "aaa", "aa", "b", sallyport.CodeInputInvalid, []string{"2 times"}},
		{"many", many, "dup", "z", sallyport.CodeInputInvalid, []string{"more than 10 times", "    10: dup"}},
		{"empty", "a", "", "b", sallyport.CodeInputInvalid, []string{"/old_text"}},
		{"same", "a", "a", "a", sallyport.CodeInputInvalid, []string{"are the same"}},
		{"indentation", "if x {\n\treturn 1\n}\n", "    return 1", "    return 2", sallyport.CodeInputInvalid, []string{
			"line 2 is the same except for white space", "     2: \u2192return\u00b71\u00b6", "     2: \u00b7\u00b7\u00b7\u00b7return\u00b71\u00b6",
		}},
		{"several lines", "a {\n\tb\n}\n", "a {\n  b\n}", "c", sallyport.CodeInputInvalid, []string{"lines 1-3 are the same except for white space"}},
		{"one of two lines", "alpha\nbeta\n", "alpha\ngamma", "x", sallyport.CodeInputInvalid, []string{"nearest place", "     1: alpha", "Line 2 of old_text differs: gamma"}},
		{"beyond the end", "alpha", "alpha\ngamma", "x", sallyport.CodeInputInvalid, []string{"The file ends before line 2 of old_text"}},
		{"similar", "func compute(a int) int {\n", "func compute(a int64) int64 {", "x", sallyport.CodeInputInvalid, []string{"most similar lines", "     1: func compute(a int) int {"}},
		{"nothing like it", "one\n", "zzzz qqqq", "x", sallyport.CodeInputInvalid, []string{"nor anything like it"}},
		{"binary", "\x00\x01", "zzzz", "x", sallyport.CodeInputInvalid, []string{"does not look like UTF-8 text"}},
		{"deletion that is not there", "a", "b", "", sallyport.CodeInputInvalid, []string{"not found"}},
		{"new text is elsewhere, old only misspelt", "foo\n\tbar()\n", "    bar()", "foo", sallyport.CodeInputInvalid, []string{"except for white space"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeFS(t)
			f.writeOutside(t, "f", tt.content)
			r := run(t, newCall(f), "patch_file", map[string]any{"path": "f", "old_text": tt.old, "new_text": tt.new})
			expect.Err(t, r, tt.code, tt.parts...)
			if got := f.get(t, "f"); got != tt.content {
				t.Errorf("file = %q, want it untouched", got)
			}
		})
	}
}

func TestPatchFileWhere(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "dir/x", "")
	in := func(path string) map[string]any {
		return map[string]any{"path": path, "old_text": "a", "new_text": "b"}
	}
	expect.Err(t, run(t, newCall(f), "patch_file", in("no")), sallyport.CodeExecutionFailed, "File not found: "+f.Abs("no"))
	expect.Err(t, run(t, newCall(f), "patch_file", in("dir")), sallyport.CodeInputInvalid, "is a directory")
	expect.Err(t, run(t, newCall(f), "patch_file", in("/etc/passwd")), sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: write not permitted for /etc/passwd")
}

// TestC24_AlreadyAppliedIsSaidOfOwnPatchesOnly gives new texts that are in the
// file for another reason.
func TestC24_AlreadyAppliedIsSaidOfOwnPatchesOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, content, old, new string }{
		{"one character", "const x = 1;\n", "const y = 2;", "1"},
		{"a word", "alpha beta\n", "gamma", "beta"},
		{"the whole line", "const y = 42;\n", "const y = 2;", "const y = 42;"},
		{"white space only", "\tfoo\n", "  foo", "\tfoo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeFS(t)
			f.writeOutside(t, "f", tt.content)
			in := map[string]any{"path": "f", "old_text": tt.old, "new_text": tt.new}
			tool := patchFile()
			for range 2 { // A refused patch is no earlier one.
				expect.Err(t, runTool(t, tool, newCall(f), in), sallyport.CodeInputInvalid, "not found")
			}
			if got := f.get(t, "f"); got != tt.content {
				t.Errorf("file = %q, want it untouched", got)
			}
			f.writeOutside(t, "f", tt.old)
			expect.OK(t, runTool(t, tool, newCall(f), in), "Patched ")
			expect.OK(t, runTool(t, tool, newCall(f), in), "already applied")
			other := newCall(f)
			other.SessionKey = "another session"
			expect.Err(t, runTool(t, tool, other, in), sallyport.CodeInputInvalid, "not found")
			f.writeOutside(t, "f", tt.content+tt.old)
			expect.OK(t, run(t, newCall(f), "read_file", map[string]any{"path": "f"}))
			expect.OK(t, runTool(t, tool, newCall(f), in), "Patched ")
		})
	}
}

// TestPatchMemoryIsBounded forgets the oldest patches first.
func TestPatchMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var m patchMemory
	key := func(i int) patchKey { return newPatchKey("s", "f", fmt.Sprint(i), "") }
	for i := range maxRememberedPatches + 10 {
		m.rememberPatch(key(i))
	}
	if m.hasPatch(key(9)) || !m.hasPatch(key(10)) || !m.hasPatch(key(maxRememberedPatches+9)) || len(m.known) != maxRememberedPatches {
		t.Errorf("%d patches are remembered, want the newest %d", len(m.known), maxRememberedPatches)
	}
}

func TestPatchFileStale(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "f", "a")
	c := newCall(f)
	expect.OK(t, run(t, c, "read_file", map[string]any{"path": "f"}))
	f.writeOutside(t, "f", "a changed")
	r := run(t, c, "patch_file", map[string]any{"path": "f", "old_text": "a", "new_text": "b"})
	expect.Err(t, r, sallyport.CodeStaleWrite)
	if got := f.get(t, "f"); got != "a changed" {
		t.Errorf("file = %q, want the other writer's", got)
	}
}

// TestPatchFileParallel patches one file from many goroutines: none is lost.
func TestPatchFileParallel(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	const n = 40
	var content strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "<%d>\n", i)
	}
	f.writeOutside(t, "f", content.String())
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			r := run(t, newCall(f), "patch_file", map[string]any{
				"path": "f", "old_text": fmt.Sprintf("<%d>", i), "new_text": fmt.Sprintf("(%d)", i),
			})
			if !r.OK {
				t.Errorf("patch %d: %s", i, r.Error)
			}
		})
	}
	group.Wait()
	if got := f.get(t, "f"); strings.Contains(got, "<") {
		t.Errorf("file = %q, want every patch in it", got)
	}
}

// TestReplaceProperty checks replace against strings.Replace: the same bytes
// for exactly one match, and never a change otherwise.
func TestReplaceProperty(t *testing.T) {
	t.Parallel()
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab \t\n\r$&")), 0, 30, -1)
	rapid.Check(t, func(t *rapid.T) {
		content, old, new := text.Draw(t, "content"), text.Draw(t, "old"), text.Draw(t, "new")
		if from := rapid.IntRange(0, len(content)).Draw(t, "from"); rapid.Bool().Draw(t, "inside") {
			old = content[from:rapid.IntRange(from, len(content)).Draw(t, "to")]
		}
		if old == "" || old == new {
			return
		}
		o, n, _ := adaptLineEnds([]byte(content), old, new)
		if strings.Count(content, "\r\n") == 0 && !strings.Contains(old, "\r\n") && (o != old || n != new) {
			t.Fatalf("adaptLineEnds(%q, %q, %q) = %q, %q, want no change", content, old, new, o, n)
		}
		places := 0
		for i := range content {
			if strings.HasPrefix(content[i:], o) {
				places++
			}
		}
		e, err := replaceOnce([]byte(content), old, new)
		if (err == nil) != (places == 1) {
			t.Fatalf("replace(%q, %q, %q) with %d places: %v", content, old, new, places, err)
		}
		if want := strings.Replace(content, o, n, 1); err == nil && string(e.content) != want {
			t.Fatalf("replace(%q, %q, %q) = %q, want %q", content, old, new, e.content, want)
		}
	})
}

// TestDiagnoseBounded gives the diagnosis its worst case, equal lines on both
// sides, and checks the size of what it says.
func TestDiagnoseBounded(t *testing.T) {
	t.Parallel()
	content, old := strings.Repeat("}\n", 200_000), strings.Repeat("}\n", 5000)+"x"
	if got := explainMismatch(content, old); len(got) > 10_000 {
		t.Errorf("diagnose gave %d bytes, want at most 10000", len(got))
	}
}

func FuzzReplace(f *testing.F) {
	f.Add([]byte("a\r\nb"), "a\nb", "c")
	f.Add([]byte("\xff"), "\xff\xfe", "")
	f.Fuzz(func(t *testing.T, content []byte, old, new string) {
		if old == "" || old == new {
			return
		}
		e, err := replaceOnce(content, old, new)
		o, n, _ := adaptLineEnds(content, old, new)
		if err == nil && string(e.content) != strings.Replace(string(content), o, n, 1) {
			t.Errorf("replace(%q, %q, %q) = %q", content, old, new, e.content)
		}
	})
}
