package websearch

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// snippetChars and titleChars bound the texts of a result.
	snippetChars, titleChars = 600, 200
	// maxURLChars bounds an address; a longer one is left out with its result, since a
	// cut one leads elsewhere.
	maxURLChars = 2000
)

// finding is one result as the service tells it.
type finding struct{ url, title, snippet, published string }

var errNoAnswer = errors.New("the answer holds no list of results")

func orNoAnswer(err error) error {
	if err != nil {
		return err
	}
	return errNoAnswer
}

// newSearchResult shows the first results. One without an address that can be fetched
// does not count.
func newSearchResult(found []finding, most int) sallyport.Result {
	var b strings.Builder
	list := []map[string]any{}
	for _, f := range found {
		address := cleanAddress(f.url)
		if address == "" {
			continue
		}
		if len(list) == most {
			break
		}
		title, snippet, day := cleanLine(f.title, titleChars), cleanLine(f.snippet, snippetChars), cleanDay(f.published)
		fmt.Fprintf(&b, "%d. %s\n   %s\n", len(list)+1, title, address)
		row := map[string]any{"title": title, "url": address, "snippet": snippet}
		if day != "" {
			row["published"] = day
			snippet = strings.TrimSuffix(day+": "+snippet, ": ")
		}
		if snippet != "" {
			fmt.Fprintf(&b, "   %s\n", snippet)
		}
		list = append(list, row)
	}
	if len(list) == 0 {
		b.WriteString("No results.")
	}
	r := sallyport.OK(strings.TrimSuffix(b.String(), "\n"))
	r.Structured = map[string]any{"results": list}
	return r
}

// cleanAddress returns an address that can be fetched, without user and password; empty
// for anything else.
func cleanAddress(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	u.User = nil
	if shown := u.String(); len(shown) <= maxURLChars {
		return shown
	}
	return ""
}

// cleanLine returns a text on one line, without markup. What looks like markup and is
// none is lost, too, which a snippet can bear.
func cleanLine(s string, most int) string {
	s = text.FirstBytes(s, 8*most*4) // Markup has to be read before the text is cut.
	var b strings.Builder
	for {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			break
		}
		end := strings.IndexByte(s[open:], '>')
		next := open + 1
		if end < 0 || next < len(s) && !strings.ContainsRune("/!?", rune(s[next])) && !isLetter(s[next]) {
			b.WriteString(s[:next])
			s = s[next:]
			continue
		}
		b.WriteString(s[:open])
		s = s[open+end+1:]
	}
	b.WriteString(s)
	return text.Clip(text.OneLine(html.UnescapeString(b.String())), most)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// cleanDay returns the day of a moment, empty for what is none.
func cleanDay(s string) string {
	day := text.FirstBytes(strings.TrimSpace(s), len(time.DateOnly))
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return ""
	}
	return day
}
