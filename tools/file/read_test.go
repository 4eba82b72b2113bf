package file

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		in            map[string]any
		want          string // after "[<path>] "
	}{
		{"whole", "a\nb\n", nil, "2 lines\n\na\nb\n"},
		{"one line without newline", "a", nil, "1 line\n\na"},
		{"empty", "", nil, "0 lines\n\n"},
		{"range", "a\nb\nc\nd\n", map[string]any{"start_line": 2, "end_line": 3}, "lines 2-3 of 4\n\nb\nc\n"},
		{"from", "a\nb\nc", map[string]any{"start_line": 2}, "lines 2-3 of 3\n\nb\nc"},
		{"to", "a\nb\nc", map[string]any{"end_line": 1}, "lines 1-1 of 3\n\na\n"},
		{"end beyond the end", "a\nb\n", map[string]any{"start_line": 2, "end_line": 9}, "lines 2-2 of 2\n\nb\n"},
		{"carriage returns stay", "a\r\nb\r\n", nil, "2 lines\n\na\r\nb\r\n"},
		{"utf-8 mark", "\xef\xbb\xbfa\n", nil, "1 line (the file begins with a byte order mark)\n\na\n"},
		{"utf-16 little", "\xff\xfea\x00\n\x00", nil, "1 line, utf-16le\n\na\n"},
		{"utf-16 big", "\xfe\xff\x00a\xd8\x3d\xde\x00", nil, "1 line, utf-16be\n\na\U0001f600"},
		{"utf-16 odd", "\xff\xfea\x00b", nil, "1 line, utf-16le (the last byte is half a character and left out)\n\na"},
		{"utf-16 lone surrogate", "\xff\xfe\x3d\xd8a\x00", nil, "1 line, utf-16le\n\n\ufffda"},
		{"utf-16 by name", "\x00a", map[string]any{"encoding": "utf-16be"}, "1 line, utf-16be\n\na"},
		{"latin1 guessed", "caf\xe9\n", nil, "1 line, latin1 (not UTF-8, decoded as Latin-1)\n\ncaf\u00e9\n"},
		{"latin1 by name", "caf\xe9\n", map[string]any{"encoding": "latin1"}, "1 line, latin1\n\ncaf\u00e9\n"},
		{"utf-8 by name", "caf\xe9\n", map[string]any{"encoding": "utf-8"}, "1 line (bytes that are not UTF-8 are shown as \ufffd)\n\ncaf\ufffd\n"},
		{"base64", "\x00\xff", map[string]any{"encoding": "base64"}, "base64\n\nAP8="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeFS(t)
			f.writeOutside(t, "f.txt", tt.content)
			in := map[string]any{"path": "f.txt"}
			for k, v := range tt.in {
				in[k] = v
			}
			r := run(t, newCall(f), "read_file", in)
			expect.OK(t, r)
			if got, want := r.Value, "["+f.Abs("f.txt")+"] "+tt.want; got != want {
				t.Errorf("value = %q, want %q", got, want)
			}
		})
	}
}

func TestReadFileStructured(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "d/f", "a\nb\nc\n")
	r := run(t, newCall(f), "read_file", map[string]any{"path": "d/f", "start_line": 2, "end_line": 2})
	want := map[string]any{
		"path": f.Abs("d/f"), "lines": 3, "start_line": 2, "end_line": 2, "bytes": 6, "encoding": "utf-8", "content": "b\n",
	}
	if diff := cmp.Diff(want, r.Structured); diff != "" {
		t.Errorf("structured (-want +got):\n%s", diff)
	}
}

func TestReadFileFailures(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "f", "a\nb\n")
	f.writeOutside(t, "dir/x", "")
	tests := []struct {
		name string
		in   map[string]any
		code sallyport.Code
		text string
	}{
		{"missing", map[string]any{"path": "no"}, sallyport.CodeExecutionFailed, "File not found: " + f.Abs("no")},
		{"outside", map[string]any{"path": "/etc/passwd"}, sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: read not permitted for /etc/passwd"},
		{"outside and missing", map[string]any{"path": "../no"}, sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: read not permitted for "},
		{"directory", map[string]any{"path": "dir"}, sallyport.CodeInputInvalid, "is a directory, not a file; list_files"},
		{"start beyond the end", map[string]any{"path": "f", "start_line": 3}, sallyport.CodeInputInvalid, "start_line 3 is beyond the end of " + f.Abs("f") + ", which has 2 lines"},
		{"end before start", map[string]any{"path": "f", "start_line": 2, "end_line": 1}, sallyport.CodeInputInvalid, "end_line 1 is before start_line 2"},
		{"negative", map[string]any{"path": "f", "start_line": -1}, sallyport.CodeInputInvalid, "/start_line"},
		{"both", map[string]any{"path": "f", "ref": "att-0"}, sallyport.CodeInputInvalid, "exactly one of path and ref"},
		{"unknown encoding", map[string]any{"path": "f", "encoding": "ebcdic"}, sallyport.CodeInputInvalid, "/encoding"},
		{"lines of base64", map[string]any{"path": "f", "encoding": "base64", "end_line": 1}, sallyport.CodeInputInvalid, "base64 has no lines"},
		{"unknown argument", map[string]any{"path": "f", "line": 1}, sallyport.CodeInputInvalid, "/line"},
		{"unknown attachment", map[string]any{"ref": "att-9"}, sallyport.CodeInputInvalid, "unknown attachment att-9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect.Err(t, run(t, newCall(f), "read_file", tt.in), tt.code, tt.text)
		})
	}
}

func TestReadFileBinary(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "p.png", "\x89PNG\r\n\x1a\n\x00\x00")
	r := run(t, newCall(f), "read_file", map[string]any{"path": "p.png"})
	expect.OK(t, r, "binary file, 10 bytes, image/png", `encoding "base64"`)
	want := []sallyport.Part{{Kind: sallyport.PartImage, Data: []byte("\x89PNG\r\n\x1a\n\x00\x00"), MediaType: "image/png"}}
	if diff := cmp.Diff(want, r.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	f.writeOutside(t, "p.pdf", "%PDF-1.7\x00\xff")
	if r := run(t, newCall(f), "read_file", map[string]any{"path": "p.pdf"}); r.Parts != nil {
		t.Errorf("a document has the parts %+v", r.Parts)
	}
	if strings.Contains(r.Value, "\x00") {
		t.Errorf("value = %q, want no bytes of the file", r.Value)
	}
	r = run(t, newCall(f), "read_file", map[string]any{"path": "p.png", "encoding": "base64"})
	expect.OK(t, r, base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n\x00\x00")))
}

func TestReadAttachment(t *testing.T) {
	t.Parallel()
	one := newCall(newFakeFS(t))
	two := newCall(newFakeFS(t))
	two.Attachments = fakeAttachments{"att-0": "from the user\n", "att-1": "more\n"}
	none := newCall(newFakeFS(t))
	none.Attachments = fakeAttachments{}
	const first = "[attachment att-0.txt] 1 line\n\nfrom the user\n"
	expect.OK(t, run(t, one, "read_file", map[string]any{"ref": "att-0"}), first)
	expect.OK(t, run(t, one, "read_file", map[string]any{}), first)
	expect.OK(t, run(t, two, "read_file", map[string]any{"ref": "att-0.txt"}), first)
	expect.Err(t, run(t, two, "read_file", map[string]any{}), sallyport.CodeInputInvalid,
		"exactly one of path and ref\nattached: ref att-0 is att-0.txt (file, 0 bytes)\nattached: ref att-1 is att-1.txt")
	expect.Err(t, run(t, none, "read_file", map[string]any{}), sallyport.CodeInputInvalid, "exactly one of path and ref")
}

// TestANameOfSeveralAttachmentsIsNone: what the caller meant is not guessed.
func TestANameOfSeveralAttachmentsIsNone(t *testing.T) {
	t.Parallel()
	list := []sallyport.Attachment{{Ref: "a", Name: "x"}, {Ref: "b", Name: "x"}, {Ref: "y", Name: "z"}, {Ref: "c", Name: "y"}}
	for given, want := range map[string]string{"x": "x", "y": "y", "z": "y", "b": "b", "none": "none"} {
		in := readInput{Ref: given}
		if in.resolveAttachment(list); in.Ref != want {
			t.Errorf("attach(%q) = %q, want %q", given, in.Ref, want)
		}
	}
}

// TestReadFileContinues reads a long file piece by piece as the headers say
// and gets every line once.
func TestReadFileContinues(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	var all strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&all, "line %d: \u00e4\u00f6\u00fc %s\n", i+1, strings.Repeat("x", i%90))
	}
	f.writeOutside(t, "long", all.String())
	c := newCall(f)
	c.ResultBudget = 5000
	var got strings.Builder
	for start, pieces := 1, 0; start <= 3000; pieces++ {
		if pieces > 100 {
			t.Fatal("no progress")
		}
		r := run(t, c, "read_file", map[string]any{"path": "long", "start_line": start})
		expect.OK(t, r)
		piece := r.Structured["content"].(string)
		cut := text.FirstChars(r.Value, c.ResultBudget)
		if !strings.Contains(cut, piece) {
			t.Fatalf("the first %d characters of the value do not hold the structured content", c.ResultBudget)
		}
		got.WriteString(piece)
		start = r.Structured["end_line"].(int) + 1
		if start <= 3000 && !strings.Contains(r.Value, fmt.Sprintf("continue with start_line=%d\n", start)) {
			t.Fatalf("header = %q, want it to continue at %d", r.Value[:200], start)
		}
	}
	if got.String() != all.String() {
		t.Error("the pieces do not make up the file")
	}
}

func TestReadFileLongLine(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "long", strings.Repeat("\u00e4", 100_000)+"\nnext\n")
	r := run(t, newCall(f), "read_file", map[string]any{"path": "long"})
	expect.OK(t, r, "line 1 alone is too long for one result and cut; the next is start_line=2")
	if got := utf8.RuneCountInString(r.Structured["content"].(string)); got > readChars {
		t.Errorf("structured content has %d characters, want at most %d", got, readChars)
	}
	f.writeOutside(t, "huge", strings.Repeat("x", 3<<20))
	if r = run(t, newCall(f), "read_file", map[string]any{"path": "huge"}); len(r.Value) > readPassBytes+1000 {
		t.Errorf("value has %d bytes, want about %d", len(r.Value), readPassBytes)
	}
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	type row struct{ ReadOnly, Untrusted, Writes, Attachments bool }
	want := map[string]row{
		"read_file":    {true, true, false, true},
		"write_file":   {false, false, true, false},
		"patch_file":   {false, true, true, false},
		"search_files": {true, true, false, false},
		"file-read":    {ReadOnly: true, Untrusted: true},
		"list_files":   {true, true, false, false},
	}
	got := map[string]row{}
	for _, tl := range Tools() {
		c := tl.Capabilities
		got[tl.Name] = row{tl.ReadOnly, tl.OutputIsUntrusted, !c.FSReach.Write.IsZero(), c.Attachments != nil}
		if tl.Toolset != "file" || tl.Title == "" || tl.Description == "" || !c.FSReach.Read.FromPersonality || tl.Cache != nil {
			t.Errorf("declaration of %s is incomplete", tl.Name)
		}
		if strings.Count(string(tl.Schema), `"description"`) < strings.Count(string(tl.Schema), `"type"`)-1 {
			t.Errorf("schema of %s has an argument without description: %s", tl.Name, tl.Schema)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("declarations (-want +got):\n%s", diff)
	}
}

func FuzzDecodeText(f *testing.F) {
	for _, s := range []string{"", "a\r\n", "\xff\xfe\x00\xd8", "\xfe\xff\xd8", "\xef\xbb\xbf\xff", "\x00"} {
		f.Add([]byte(s), "")
	}
	f.Add([]byte("x"), "utf-16be")
	f.Fuzz(func(t *testing.T, data []byte, encoding string) {
		got, isText, err := decodeText(data, encoding)
		if err != nil || !isText {
			return
		}
		if !utf8.ValidString(got.content) {
			t.Errorf("decodeText(%q, %q) = %q, which is not UTF-8", data, encoding, got.content)
		}
		if encoding == "" && got.encoding == encodingUTF8 && got.note == "" && got.content != string(data) {
			t.Errorf("decodeText(%q) = %q, want it unchanged", data, got.content)
		}
	})
}
