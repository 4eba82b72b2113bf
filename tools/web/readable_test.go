package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/sallyport/sallyport/internal/needs"
)

func page(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse("https://site.example/dir/page.html")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestReadable(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"headings and lists", "<h1>A</h1><ul><li>b<li>c</ul>", "# A\n\n- b\n- c"},
		{"table", "<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n|---|---|\n| 1 | 2 |"},
		{"code", "<pre><code>x &lt; y\n  z</code></pre>", "```\nx < y\n  z\n```"},
		{"absolute link", "<a href='../x y'>l</a>", "[l](https://site.example/x%20y)"},
		{"link by base", "<base href='https://cdn.example/b/'><a href=x>l</a>", "[l](https://cdn.example/b/x)"},
		{"base that is no address", "<base href='javascript:x'><a href=x>l</a>", "[l](https://site.example/dir/x)"},
		{"block in a link", "<a href=/x><div>card</div></a>", "[card](https://site.example/x)"},
		{"script link", "<a href=' JavaScript:alert(1)'>l</a>", "l"},
		{"data image", "<p>a<img src='data:image/png;base64,AAAA'>", "a"},
		{"script and style", "a<script>var x = '<b>'</script><style>p{}</style> b", "a b"},
		{"unclosed script in svg", "<svg><style><b>x</svg>a", "a"},
		{"comment", "a<!-- hidden -->b", "ab"},
		{"hidden", "a<div hidden>x</div><span style='display: NONE'>y<span>z</span></span>b", "ab"},
		{"unclosed hidden things keep the page", "<svg><p>text", "text"},
		{"nested bold", "<b>a<b>b</b>c</b>d", "**abc**d"},
		{"unclosed bold", "<b>a<p>b", "**a**\n\n**b**"},
		{"entities", "&lt;b&gt; &amp;amp; &auml;", "&lt;b&gt; &amp; \u00e4"},
		{"deep page is plain", strings.Repeat("<div>", 300) + "deep", "deep"},
		{"deeper than a parser goes", strings.Repeat("<div>", 3000) + "deep", "deep"},
		{"link without address", "<a name=x>l</a>", "l"},
		{"many quotes", strings.Repeat("<blockquote>", 20) + "q", strings.Repeat("> ", 12) + "q"},
		{"list after nested lists", strings.Repeat("<ul><li>", 20) + strings.Repeat("</ul>", 20) + "<ul><li>x</ul>", "- x"},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got, err := newTextConverter().readableText(t.Context(), tt.source, page(t))
			if err != nil || got != tt.want {
				t.Errorf("readable(%.80q) = %q, %v, want %q", tt.source, got, err, tt.want)
			}
		})
	}
}

func TestReadableMainText(t *testing.T) {
	text := strings.Repeat("<p>"+strings.Repeat("A long sentence of the article, with commas, and words. ", 8)+"</p>", 6)
	source := "<title>News</title><nav><a href=/>Home</a> <a href=/b>Menu entry</a></nav><article><h2>Head</h2>" + text +
		"</article><footer>Imprint</footer>"
	title, got, err := newTextConverter().readableText(t.Context(), source, page(t))
	if err != nil || title != "News" || !strings.Contains(got, "A long sentence") || strings.Contains(got, "Menu entry") || strings.Contains(got, "Imprint") {
		t.Errorf("readable = %q, %.300q, %v, want the article only", title, got, err)
	}
	index := "<div class=intro>" + text + "</div><ul>" + strings.Repeat("<li><a href=/x>An entry of a long list that is the page</a>", 1000) + "</ul>"
	_, got, err = newTextConverter().readableText(t.Context(), index, page(t))
	if n := strings.Count(got, "An entry"); err != nil || n != 1000 {
		t.Errorf("readable kept %d of 1000 entries, %v, want the whole page", n, err)
	}
}

// TestReduceBoundsTree feeds the parser what the standard turns into a tree
// that grows with the product of two inputs, and counts the nodes.
func TestReduceBoundsTree(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "<b id=%d><font size=%d><i class=%d>", i, i, i)
	}
	b.WriteString(strings.Repeat("<p>x", 20_000))
	_, reducedPage, ok, err := reducePage(t.Context(), b.String())
	if err != nil || !ok {
		t.Fatalf("reduce = %v, %v, want a page", ok, err)
	}
	doc, err := html.Parse(strings.NewReader(reducedPage))
	if err != nil {
		t.Fatal(err)
	}
	nodes := 0
	for range doc.Descendants() {
		nodes++
	}
	if nodes > 10*20_000 {
		t.Errorf("the tree has %d nodes, want at most %d", nodes, 10*20_000)
	}
}

// hostilePages are inputs that cost too much when a bound is missing.
func hostilePages() map[string]string {
	return map[string]string{
		"formatting":   strings.Repeat("<b id=1><i id=2><a href=3><code>", 100) + strings.Repeat("<p>x", 20_000),
		"tables":       strings.Repeat("<table><tr><td>", 90) + strings.Repeat("<b>x", 10_000),
		"spans":        "<table>" + strings.Repeat("<tr><td rowspan=65000 colspan=1000>x", 5000),
		"wide cells":   "<table><tr><td>" + strings.Repeat("w", 1<<20) + strings.Repeat("<tr><td>x", 20_000),
		"quotes":       strings.Repeat("<blockquote>", 90) + strings.Repeat("q<br>", 20_000),
		"lists":        strings.Repeat("<ul><li>", 45) + strings.Repeat("l<br>", 20_000),
		"open scripts": strings.Repeat("<svg><script>", 50_000),
		"no end":       strings.Repeat("<template>", 90_000),
		"tags":         strings.Repeat("<p>", 1_000_000),
		"attributes":   "<p " + strings.Repeat("a=b ", 500_000) + ">x",
		"entities":     strings.Repeat("&amp;&lt;", 200_000),
		"links":        strings.Repeat("<a href=x>l</a> ", 30_000),
		"candidates":   strings.Repeat("<div><p>text, with, commas, and enough of it to be scored by anyone</p></div>", 10_000),
		"nested":       strings.Repeat(strings.Repeat("<div class=x>", 80)+"<p>text, text, text, that is long enough to be scored by anyone"+strings.Repeat("</div>", 80), 400),
		"siblings":     "<div>" + strings.Repeat("<p>text, text, text, that is long enough to be scored by anyone</p>", 12_000) + "</div>",
		"many lists":   "<div>" + strings.Repeat("<ul><li>text, text<li><a href=x>y</a></ul><table><tr><td>z</table>", 8_000) + "</div>",
		"many headers": strings.Repeat("<h2>text</h2><h1>text</h1>", 20_000),
		"images":       strings.Repeat("<figure><img src=x alt='y'></figure><div><img src=x></div>", 10_000),
		"one line":     "<pre>" + strings.Repeat("* _ ` # | [ ] < > & ", 50_000),
		"escapes":      strings.Repeat("* _ ` # | [ ] 1. ", 60_000),
		"breaks":       strings.Repeat("a<br><br>", 30_000),
	}
}

// TestReadableHostile converts each hostile page and bounds what it allocates:
// time depends on the machine, memory does not.
func TestReadableHostile(t *testing.T) {
	needs.NoRace(t)
	if testing.Short() {
		t.Skip("takes seconds; without -short it runs")
	}
	conv := newTextConverter()
	for name, source := range hostilePages() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, text, err := conv.readableText(t.Context(), source, page(t))
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d kB in, %d kB out, %d MiB allocated, %v", len(source)>>10, len(text)>>10, allocated>>20, time.Since(start).Round(time.Millisecond))
			if err != nil || allocated > 1<<30 {
				t.Errorf("readable allocated %d MiB, %v, want at most 1024", allocated>>20, err)
			}
		})
	}
}

func TestReadableCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := newTextConverter().readableText(ctx, strings.Repeat("<p>x", 5000), page(t))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("readable = %v, want %v", err, context.Canceled)
	}
}

func TestGuarded(t *testing.T) {
	if err := recoverPanic(func() error { panic("x") }); err == nil {
		t.Error("guarded = nil, want an error for a panic")
	}
}

// FuzzReadable checks that no page makes the conversion fail, that its answer
// is UTF-8, and that the plain text of a page never holds a tag that the page
// did not spell as text.
func FuzzReadable(f *testing.F) {
	for _, s := range []string{
		"<p>a<b>b", "<table><td><table>", "<svg><style><!--</svg>-->", "<a><a><div>", "<title>x", "</p></b>", "<base href=x>", "<pre>\n\n<code>", "\xff<", "<select><option>x",
	} {
		f.Add(s)
	}
	conv := newTextConverter()
	at := &url.URL{Scheme: "https", Host: "site.example", Path: "/"}
	f.Fuzz(func(t *testing.T, source string) {
		source = strings.ToValidUTF8(source, "\ufffd")
		title, text, err := conv.readableText(t.Context(), source, at)
		if err != nil || !utf8.ValidString(text) || !utf8.ValidString(title) {
			t.Errorf("readable(%q) = %q, %q, %v", source, title, text, err)
		}
		_, reducedPage, _, err := reducePage(t.Context(), source)
		if err != nil || strings.Contains(reducedPage, "<script") || strings.Contains(reducedPage, "<!--") {
			t.Errorf("reduce(%q) = %q, %v", source, reducedPage, err)
		}
	})
}

// BenchmarkReadable converts a page of 22 kB.
func BenchmarkReadable(b *testing.B) {
	var s strings.Builder
	s.WriteString("<html><head><title>T</title><script>var x = 1</script></head><body><nav><ul>")
	for i := range 20 {
		fmt.Fprintf(&s, "<li class=item><a href=/n/%d>Entry %d</a>", i, i)
	}
	s.WriteString("</ul></nav><article>")
	for i := 0; s.Len() < 21_000; i++ {
		fmt.Fprintf(&s, "<h2>Part %d</h2><p>Some <b>bold</b> and <a href='x/%d'>linked</a> text, with commas, and a sentence or two. It goes on for a while.</p><ul><li>one<li>two</ul>", i, i)
	}
	s.WriteString("<table><tr><th>a<th>b<tr><td>1<td>2</table></article></body></html>")
	conv, source, at := newTextConverter(), s.String(), page(b)
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := conv.readableText(b.Context(), source, at); err != nil {
			b.Fatal(err)
		}
	}
}
