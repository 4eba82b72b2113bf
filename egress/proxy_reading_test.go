package egress

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/spelling"
)

// TestA4_WhatServersReadIsHidden: a whole value is changed by a server, too,
// that decodes the field in which it gets it.
func TestA4_WhatServersReadIsHidden(t *testing.T) {
	t.Parallel()
	readings := map[string]func(string) string{
		"form":    func(s string) string { plain, _ := url.QueryUnescape(s); return plain },
		"path":    func(s string) string { plain, _ := url.PathUnescape(s); return plain },
		"lenient": spelling.UnescapePercent,
		"latin-1": func(s string) string {
			var out strings.Builder
			for i := range len(s) {
				out.WriteRune(rune(s[i]))
			}
			return out.String()
		},
	}
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		read := readings[r.Header.Get("X-Read")]
		if c, err := r.Cookie("s"); err == nil {
			rw.Header().Set("X-Echo", read(c.Value))
			fmt.Fprintf(rw, "[%s]", read(c.Value))
		}
		fmt.Fprintf(rw, "[%s]", read(r.Header.Get("X-Key")))
	})
	for _, secret := range []string{"ab+cd/efgh+ijk==", "pa%41ssword+%2fz", "100%sure+%41bc", "p\u00e4ssw\u00f6rd-geheim"} {
		p, addr := w.proxy(t, allow("a.example"), &ProxyOptions{Splices: []sallyport.Splice{
			{Placeholder: standIn, Value: sallyport.NewSecret(secret), Hosts: []string{"a.example"}},
		}})
		c := trusting(t, w, p, addr)
		for name, read := range readings {
			for _, field := range []string{"Cookie", "X-Key"} {
				if field == "Cookie" && !isCookieText(secret) {
					continue
				}
				req, err := http.NewRequest("GET", "https://a.example/", nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Read", name)
				req.Header.Set(field, map[string]string{"Cookie": "s=", "X-Key": ""}[field]+standIn)
				resp, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				shown := string(body) + resp.Header.Get("X-Echo")
				if plain := read(secret); plain != "" && (strings.Contains(shown, plain) || !strings.Contains(shown, standIn)) {
					t.Errorf("%s in %s as %s: the child sees %q", secret, field, name, shown)
				}
			}
		}
	}
}
