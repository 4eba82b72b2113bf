package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

// tree is a small project with everything that a search leaves out.
func tree(t testing.TB) *fakeFS {
	f := newFakeFS(t)
	for name, content := range map[string]string{
		".gitignore":          "*.log\n/build/\n",
		"a.go":                "package a\n\nfunc Needle() {}\n// needle twice Needle Needle\n",
		"b.txt":               "nothing\n",
		"build/out.go":        "Needle",
		"dist/out.go":         "Needle",
		".git/config":         "Needle",
		".env":                "Needle=1",
		"node_modules/x/i.js": "Needle",
		"sub/.gitignore":      "!keep.log\nlocal.go\n",
		"sub/c.go":            "var x = Needle\r\nvar y\r\n",
		"sub/keep.log":        "Needle",
		"sub/local.go":        "Needle",
		"sub/drop.log":        "Needle",
		"sub/build/d.go":      "Needle",
		"bin":                 "Needle\x00",
		"wide.txt":            "\xff\xfeN\x00e\x00e\x00d\x00l\x00e\x00",
	} {
		f.writeOutside(t, name, content)
	}
	return f
}

// hits returns the lines of a result below its header.
func hits(r sallyport.Result) []string {
	_, body, ok := strings.Cut(r.Value, "\n\n")
	if !ok {
		return nil
	}
	return strings.Split(body, "\n")
}

func TestSearchFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   map[string]any
		want []string
	}{
		{"literal", map[string]any{"pattern": "Needle"}, []string{
			"a.go:3: func Needle() {}", "a.go:4: // needle twice Needle Needle", "sub/build/d.go:1: Needle",
			"sub/c.go:1: var x = Needle", "sub/keep.log:1: Needle", "wide.txt:1: Needle",
		}},
		{"literal is not an expression", map[string]any{"pattern": "Needle()"}, []string{"a.go:3: func Needle() {}"}},
		{"regex", map[string]any{"pattern": `^func \w+\(\) \{\}$`, "regex": true}, []string{"a.go:3: func Needle() {}"}},
		{"regex, line end before a carriage return", map[string]any{"pattern": `Needle$`, "regex": true, "glob": "c.go"}, []string{"sub/c.go:1: var x = Needle"}},
		{"regex, any case", map[string]any{"pattern": `^// NEEDLE`, "regex": true, "case_sensitive": false}, []string{"a.go:4: // needle twice Needle Needle"}},
		{"glob", map[string]any{"pattern": "Needle", "glob": "*.log"}, []string{"sub/keep.log:1: Needle"}},
		{"glob below the folder", map[string]any{"pattern": "Needle", "path": "sub", "glob": "build/*"}, []string{"sub/build/d.go:1: Needle"}},
		{"any case", map[string]any{"pattern": "NEEDLE", "case_sensitive": false, "glob": "a.go"}, []string{
			"a.go:3: func Needle() {}", "a.go:4: // needle twice Needle Needle",
		}},
		{"parent's rules", map[string]any{"pattern": "Needle", "path": "sub"}, []string{
			"sub/build/d.go:1: Needle", "sub/c.go:1: var x = Needle", "sub/keep.log:1: Needle",
		}},
		{"a folder that is ignored may be named", map[string]any{"pattern": "Needle", "path": "build"}, []string{"build/out.go:1: Needle"}},
		{"one file", map[string]any{"pattern": "Needle", "path": "a.go", "max_results": 200}, []string{
			"a.go:3: func Needle() {}", "a.go:4: // needle twice Needle Needle",
		}},
		{"hidden", map[string]any{"pattern": "Needle=", "include_hidden": true}, []string{".env:1: Needle=1"}},
		{"ignored", map[string]any{"pattern": "Needle", "include_ignored": true, "glob": "*.{js,log}"}, []string{
			"node_modules/x/i.js:1: Needle", "sub/drop.log:1: Needle", "sub/keep.log:1: Needle",
		}},
		{"context", map[string]any{"pattern": "package", "context": 1}, []string{"a.go:1: package a", "a.go-2- "}},
		{"context around", map[string]any{"pattern": "func Needle", "context": 1}, []string{
			"a.go-2- ", "a.go:3: func Needle() {}", "a.go-4- // needle twice Needle Needle",
		}},
		{"context of neighbours", map[string]any{"pattern": "Needle", "context": 2, "path": "a.go"}, []string{
			"a.go-1- package a", "a.go-2- ", "a.go:3: func Needle() {}", "a.go:4: // needle twice Needle Needle",
		}},
		{"context between files", map[string]any{"pattern": "Needle", "context": 1, "glob": "sub/{c.go,keep.log}"}, []string{
			"sub/c.go:1: var x = Needle", "sub/c.go-2- var y", "--", "sub/keep.log:1: Needle",
		}},
		{"across lines", map[string]any{"pattern": "a\n\nfunc"}, []string{"a.go:1: package a"}},
		{"empty match of an expression", map[string]any{"pattern": "^$", "regex": true, "path": "a.go"}, []string{"a.go:2: "}},
	}
	f := tree(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, newCall(f), "search_files", tt.in)
			expect.OK(t, r)
			if diff := cmp.Diff(tt.want, hits(r)); diff != "" {
				t.Errorf("lines (-want +got):\n%s\n%s", diff, r.Value)
			}
		})
	}
}

func TestSearchFilesFallsBack(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "f", "if  (Foo\t&& bar) {\n")
	c := newCall(f)
	r := run(t, c, "search_files", map[string]any{"pattern": "IF  (foo"})
	expect.OK(t, r, "the exact pattern did not match", "case-insensitive", "f:1: if  (Foo")
	r = run(t, c, "search_files", map[string]any{"pattern": "if (foo && bar)"})
	expect.OK(t, r, "the exact pattern did not match", "whitespace-collapsed", "f:1: if  (Foo")
	r = run(t, c, "search_files", map[string]any{"pattern": "if (foo && bar)", "case_sensitive": true})
	expect.OK(t, r, `No matches for "if (foo && bar)" in 1 file of `+f.base)
	r = run(t, c, "search_files", map[string]any{"pattern": "absent"})
	expect.OK(t, r, "No matches", "tried: exact, case-insensitive, whitespace-collapsed")
	f.writeOutside(t, "g", "STRASSE \u00c4PFEL")
	expect.OK(t, run(t, c, "search_files", map[string]any{"pattern": "\u00e4pfel"}), "case-insensitive", "g:1:")
}

func TestSearchFilesFailures(t *testing.T) {
	t.Parallel()
	f := tree(t)
	tests := []struct {
		name string
		in   map[string]any
		code sallyport.Code
		text string
	}{
		{"outside", map[string]any{"pattern": "x", "path": "/etc"}, sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: read not permitted for /etc"},
		{"outside and missing", map[string]any{"pattern": "x", "path": "/nowhere"}, sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE: read not permitted for /nowhere"},
		{"missing", map[string]any{"pattern": "x", "path": "no"}, sallyport.CodeExecutionFailed, "File not found: " + f.Abs("no")},
		{"empty pattern", map[string]any{"pattern": ""}, sallyport.CodeInputInvalid, "/pattern"},
		{"bad expression", map[string]any{"pattern": "a(", "regex": true}, sallyport.CodeInputInvalid, "missing closing )"},
		{"backreference", map[string]any{"pattern": `(a)\1`, "regex": true}, sallyport.CodeInputInvalid, "invalid escape sequence"},
		{"huge expression", map[string]any{"pattern": strings.Repeat("[a-z]{900}", 5), "regex": true}, sallyport.CodeInputInvalid, "too large"},
		{"bad glob", map[string]any{"pattern": "x", "glob": "[a"}, sallyport.CodeInputInvalid, "glob: a class is not closed"},
		{"too many", map[string]any{"pattern": "x", "max_results": 201}, sallyport.CodeInputInvalid, "/max_results"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect.Err(t, run(t, newCall(f), "search_files", tt.in), tt.code, tt.text)
		})
	}
}

func TestSearchFilesBounds(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	for i := range 30 {
		f.writeOutside(t, fmt.Sprintf("f%02d", i), strings.Repeat("hit\n", 3))
	}
	f.writeOutside(t, "long", strings.Repeat("x", 5000)+"HIT"+strings.Repeat("\u00e4", 5000))
	f.writeOutside(t, "z-big", strings.Repeat("0123456789abcde\n", maxSearchedBytes/16)+"beyond")
	c := newCall(f)

	r := run(t, c, "search_files", map[string]any{"pattern": "hit"})
	expect.OK(t, r, "50 matches", "stopped after 50 matches; there are more")
	if got := len(hits(r)); got != 50 || r.Structured["complete"] != false {
		t.Errorf("search gave %d lines, complete %v, want 50 and false", got, r.Structured["complete"])
	}
	r = run(t, c, "search_files", map[string]any{"pattern": "hit", "max_results": 90})
	expect.OK(t, r, "90 matches")
	if strings.Contains(r.Value, "stopped") {
		t.Errorf("value = %q, want no word of stopping", r.Value[:200])
	}
	r = run(t, c, "search_files", map[string]any{"pattern": "HIT"})
	expect.OK(t, r, "long:1: ...xxx")
	if line := hits(r)[0]; utf8.RuneCountInString(line) > maxLineChars+30 || !strings.Contains(line, "HIT") || !strings.HasSuffix(line, "\u00e4...") {
		t.Errorf("line = %q, want the match in at most %d characters", line, maxLineChars)
	}
	expect.OK(t, run(t, c, "search_files", map[string]any{"pattern": "beyond"}), "No matches", "1 file was searched only in the first 2 MiB")

	c.ResultBudget = 1500
	r = run(t, c, "search_files", map[string]any{"pattern": "hit", "max_results": 200})
	expect.OK(t, r, "the result is full")
	if got := utf8.RuneCountInString(r.Value); got > c.ResultBudget {
		t.Errorf("value has %d characters, want at most %d", got, c.ResultBudget)
	}
}

func TestSearchFilesCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	r := runCtx(t, ctx, newCall(tree(t)), "search_files", map[string]any{"pattern": "x"})
	expect.Err(t, r, sallyport.CodeExecutionFailed, context.Canceled.Error())
}

// TestWalkLinks checks that links are neither followed nor searched, so that
// a loop ends and what lies outside stays outside.
func TestWalkLinks(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "d/f", "needle")
	for link, target := range map[string]string{"d/loop": "..", "d/out": "/etc", "d/file": "f"} {
		if err := os.Symlink(target, f.Abs(link)); err != nil {
			t.Fatal(err)
		}
	}
	c := newCall(f)
	r := run(t, c, "search_files", map[string]any{"pattern": "needle"})
	if diff := cmp.Diff([]string{"d/f:1: needle"}, hits(r)); diff != "" {
		t.Errorf("search (-want +got):\n%s", diff)
	}
	r = run(t, c, "list_files", map[string]any{})
	if diff := cmp.Diff([]string{"d/", "d/f", "d/file@", "d/loop@", "d/out@"}, hits(r)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	expect.Err(t, run(t, c, "search_files", map[string]any{"pattern": "x", "path": "d/out"}), sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE")
}

func TestWalkTooDeep(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, strings.Repeat("d/", maxDepth+1)+"f", "needle")
	expect.OK(t, run(t, newCall(f), "search_files", map[string]any{"pattern": "needle"}), "No matches", "1 directory deeper than 40 levels left out")
}

func TestListFiles(t *testing.T) {
	t.Parallel()
	f := tree(t)
	tests := []struct {
		name string
		in   map[string]any
		want []string
	}{
		{"default", map[string]any{}, []string{"a.go", "b.txt", "bin", "sub/", "sub/build/", "sub/c.go", "sub/keep.log", "wide.txt"}},
		{"one level", map[string]any{"depth": 1}, []string{"a.go", "b.txt", "bin", "sub/", "wide.txt"}},
		{"glob", map[string]any{"glob": "*.go"}, []string{"a.go", "sub/build/d.go", "sub/c.go"}},
		{"folder", map[string]any{"path": "sub", "depth": 9}, []string{"sub/build/", "sub/build/d.go", "sub/c.go", "sub/keep.log"}},
		{"hidden", map[string]any{"depth": 1, "include_hidden": true}, []string{".env", ".gitignore", "a.go", "b.txt", "bin", "sub/", "wide.txt"}},
		{"bounded", map[string]any{"max_results": 2}, []string{"a.go", "b.txt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, newCall(f), "list_files", tt.in)
			expect.OK(t, r)
			if diff := cmp.Diff(tt.want, hits(r)); diff != "" {
				t.Errorf("names (-want +got):\n%s\n%s", diff, r.Value)
			}
		})
	}
	expect.Err(t, run(t, newCall(f), "list_files", map[string]any{"path": "/etc"}), sallyport.CodeExecutionFailed, "PATH_NOT_REACHABLE")
	expect.Err(t, run(t, newCall(f), "list_files", map[string]any{"path": "a.go"}), sallyport.CodeInputInvalid, "is a file")
	expect.OK(t, run(t, newCall(f), "list_files", map[string]any{"max_results": 2}), "stopped after 2 names")
}

func TestListOutsideWorkspace(t *testing.T) {
	t.Parallel()
	f := tree(t)
	c := newCall(f)
	c.Workspace = f.Abs("sub")
	r := run(t, c, "list_files", map[string]any{"path": f.base, "depth": 1})
	if got := hits(r); len(got) != 5 || got[0] != f.Abs("a.go") {
		t.Errorf("names = %q, want absolute ones outside the workspace", got)
	}
}

// BenchmarkSearch searches 10,000 files of about a kilobyte each.
func BenchmarkSearch(b *testing.B) {
	f := newFakeFS(b)
	body := strings.Repeat("the quick brown fox jumps over the lazy dog\n", 24)
	f.writeOutside(b, ".gitignore", "*.log\n/out/\nbuild/\n*.py[cod]\n!keep.log\n")
	for i := range 10_000 {
		f.writeOutside(b, fmt.Sprintf("d%02d/e%02d/f%d.txt", i%50, i/50%20, i), body)
	}
	f.writeOutside(b, "d49/last.txt", "Needle")
	for _, bb := range []struct{ name, pattern string }{
		{"literal", "Needle"}, {"folded", "needle"}, {"absent", "no such thing"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(10_000 * len(body)))
			b.ReportAllocs()
			for b.Loop() {
				expect.OK(b, run(b, newCall(f), "search_files", map[string]any{"pattern": bb.pattern}))
			}
		})
	}
	b.Run("regex", func(b *testing.B) {
		b.SetBytes(int64(10_000 * len(body)))
		for b.Loop() {
			expect.OK(b, run(b, newCall(f), "search_files", map[string]any{"pattern": `N\w+le`, "regex": true}))
		}
	})
}

func BenchmarkGlob(b *testing.B) {
	g, err := newGlob("src/**/*_test.{go,ts}")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		g.match("src/internal/some/deep/package/name_test.ts")
	}
}

// deadContext is over after so many questions.
type deadContext struct {
	context.Context
	left int
}

func (c *deadContext) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestSearchEndsWithItsCall searches a text that takes long to match, in a call that
// ends on the way.
func TestSearchEndsWithItsCall(t *testing.T) {
	t.Parallel()
	f := newFakeFS(t)
	f.writeOutside(t, "a.txt", strings.Repeat("a", 250_000))
	ctx := &deadContext{Context: t.Context(), left: 8}
	_, err := searchFiles(ctx, newCall(f), searchInput{Pattern: "(a{0,20}){0,20}b", Regex: true})
	if !errors.Is(err, context.DeadlineExceeded) || ctx.left < -8 {
		t.Errorf("searchFiles() = %v after %d questions too many, want the end of the call", err, -1-ctx.left)
	}
}
