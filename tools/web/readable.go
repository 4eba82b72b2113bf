package web

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability"
	markdown "github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

const (
	// maxTreeDepth bounds the nesting of a page that is converted; each
	// level of lists and quotes copies what is inside.
	maxTreeDepth = 100
	// maxArticleBytes bounds the page in which the main text is looked for,
	// whose scoring visits each text several times.
	maxArticleBytes = 1 << 20
	// minArticleChars is the shortest text that is taken for the main one,
	// the threshold of the original Readability.
	minArticleChars = 500
	// minArticleShare is the part of the visible text, in percent, that the
	// main text must have; less means that the page is a list or an index.
	minArticleShare = 10
)

// textConverter turns HTML into text. It is safe for concurrent use.
type textConverter struct{ markdown *markdown.Converter }

// newTextConverter prepares the Markdown writer. Cells are padded as little as
// possible: aligned columns would repeat the width of the widest cell in
// every row. The first renderer ends the work when the call ends.
func newTextConverter() *textConverter {
	c := markdown.NewConverter(markdown.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	c.Register.Renderer(func(ctx markdown.Context, _ markdown.Writer, _ *html.Node) markdown.RenderStatus {
		if ctx.Err() != nil {
			return markdown.RenderSuccess
		}
		return markdown.RenderTryNext
	}, 0)
	return &textConverter{c}
}

// readableText returns the title and the readable text of a page: Markdown of its
// main text, of the whole page when no main text stands out, and plain text
// when the page is too large or too deep, or a library fails on it. The only
// error is that of ctx.
func (c *textConverter) readableText(ctx context.Context, source string, at *url.URL) (title, text string, err error) {
	h, page, ok, err := reducePage(ctx, source)
	if err != nil {
		return "", "", err
	}
	if ok {
		text, ok = c.convertToMarkdown(ctx, page, baseOf(h, at))
	}
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	if ok {
		return h.title, text, nil
	}
	h, text, err = plainText(ctx, source)
	return h.title, text, err
}

// baseOf is the address to which the links of a page are relative.
func baseOf(h pageHead, at *url.URL) *url.URL {
	if h.base == "" {
		return at
	}
	u, err := at.Parse(h.base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return at
	}
	return u
}

// convertToMarkdown turns a reduced page into Markdown; ok is false when it is too deep
// or a library fails.
func (c *textConverter) convertToMarkdown(ctx context.Context, page string, at *url.URL) (text string, ok bool) {
	err := recoverPanic(func() error {
		doc, err := html.Parse(&pacedReader{ctx, strings.NewReader(page)})
		if err != nil {
			return err
		}
		if removeHidden(doc, 0) > maxTreeDepth {
			return fmt.Errorf("the page is nested deeper than %d elements", maxTreeDepth)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		node := doc
		if a := mainText(doc, len(page), at); a != nil {
			node = a
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := c.markdown.ConvertNode(node, markdown.WithContext(ctx), markdown.WithDomain(at.String()))
		text = strings.TrimSpace(string(b))
		return err
	})
	return text, err == nil
}

// recoverPanic turns a panic into an error: the libraries are not ours, the page is
// foreign, and there is another way to read it.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the page cannot be converted: %v", p)
		}
	}()
	return f()
}

// pacedReader ends with the context and gives small pieces, so that a parser
// looks at the context often.
type pacedReader struct {
	ctx context.Context // The call's; the reader does not outlive it.
	r   *strings.Reader
}

func (p *pacedReader) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.Read(b[:min(len(b), 4096)])
}

// mainText returns the part of the page that holds its main text, nil when
// none stands out. It leaves doc as it is.
func mainText(doc *html.Node, size int, at *url.URL) *html.Node {
	if size > maxArticleBytes {
		return nil
	}
	p := readability.NewParser()
	p.DisableJSONLD = true
	a, err := p.ParseDocument(doc, at)
	if err != nil || a.Node == nil || a.Length < minArticleChars {
		return nil
	}
	if a.Length*100 < countLetters(doc)*minArticleShare {
		return nil
	}
	return a.Node
}

// removeHidden removes what a reader of the page would not see and returns
// how deep the rest is nested. The parser bounds the depth, so that the
// recursion ends.
func removeHidden(n *html.Node, depth int) (deepest int) {
	deepest = depth
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if isHidden(child) {
			n.RemoveChild(child)
		} else {
			deepest = max(deepest, removeHidden(child, depth+1))
		}
		child = next
	}
	return deepest
}

// isHidden reports whether an element is invisible by its own attributes.
func isHidden(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	for _, a := range n.Attr {
		if a.Key == "hidden" || a.Key == "style" { // Only hiding styles are left.
			return true
		}
	}
	return false
}

// countLetters counts the bytes of the visible text without white space.
func countLetters(n *html.Node) int {
	total := 0
	if n.Type == html.TextNode {
		for word := range strings.FieldsSeq(n.Data) {
			total += len(word)
		}
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		total += countLetters(child)
	}
	return total
}
