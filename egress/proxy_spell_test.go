package egress

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
)

// TestScrubberKnowsEscapes is the escapes of encoders that differ from those
// of Go, each of which changes some characters only.
func TestScrubberKnowsEscapes(t *testing.T) {
	t.Parallel()
	const secret = `AKq/7M"D'E+b<x>/R&fi\\Y é=`
	s := &hostSwap{}
	s.hideFrom(hostSplice{placeholder: standIn, value: sallyport.NewSecret(secret)})
	quoted, _ := json.Marshal(secret)
	plain := string(quoted[1 : len(quoted)-1])
	every := func(format string) string {
		out := ""
		for _, r := range secret {
			out += fmt.Sprintf(format, r)
		}
		return out
	}
	for name, text := range map[string]string{
		"PHP":               strings.ReplaceAll(plain, "/", `\/`),
		"PHP, ASCII":        strings.NewReplacer("/", `\/`, "é", `\u00e9`).Replace(plain),
		".NET":              strings.NewReplacer("+", `\u002B`, "'", `\u0027`, `\"`, `\u0022`, "é", `\u00E9`).Replace(plain),
		"percent, lower":    strings.NewReplacer("/", "%2f", "+", "%2b", "=", "%3d", " ", "%20").Replace(secret),
		"percent, some":     strings.NewReplacer("/", "%2f", "=", "%3D", " ", "+").Replace(secret),
		"Django":            strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace(secret),
		"Mustache":          strings.NewReplacer("/", "&#x2F;", "=", "&#x3D;", "&", "&amp;").Replace(secret),
		"PHP, HTML":         strings.NewReplacer("'", "&#039;", "&", "&amp;").Replace(secret),
		"all, decimal":      every("&#%d;"),
		"all, hexadecimal":  every("&#x%x;"),
		"all, HEXADECIMAL":  every("&#x%X;"),
		"all, JSON":         every(`\u%04x`),
		"all, JSON in caps": every(`\u%04X`),
	} {
		if got := s.scrubText("<" + text + ">"); got != "<"+standIn+">" {
			t.Errorf("%s in a header: %q = %q", name, text, got)
		}
		for _, r := range []io.Reader{strings.NewReader("<" + text + ">"), iotest.OneByteReader(strings.NewReader("<" + text + ">"))} {
			if got, err := io.ReadAll(s.scrubBody(r)); string(got) != "<"+standIn+">" || err != nil {
				t.Errorf("%s in a body: %q = %q, %v", name, text, got, err)
			}
		}
	}
}

// TestSpelling: whatever is written for each character, the whole is found,
// and no other text is changed.
func TestSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringOfN(rapid.SampledFrom([]rune(`ab%\&/ é😀`)), 1, 8, -1).Draw(t, "secret")
		s := &hostSwap{spelt: []*escapedValue{newEscapedValue(secret, "#")}}
		text := ""
		for _, ways := range s.spelt[0].units {
			text += rapid.SampledFrom(ways).Draw(t, "way")
		}
		got, err := io.ReadAll(s.scrubBody(iotest.OneByteReader(strings.NewReader("[" + text + "]"))))
		if err != nil || !strings.HasPrefix(string(got), "[#") || !strings.HasSuffix(string(got), "]") {
			t.Fatalf("%q written as %q = %q, %v", secret, text, got, err)
		}
	})
	s := newEscapedValue("secret/value", "#")
	for _, text := range []string{"", "secret", "secret/valu", "secret-value", `secret\u002value`} {
		if got := s.replaceAll(text); got != text {
			t.Errorf("replace(%q) = %q", text, got)
		}
	}
}

// TestSpliceHidesTheLength: a HEAD has no body whose length could be another.
func TestSpliceHidesTheLength(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Length", fmt.Sprint(len(r.Header.Get("Authorization"))))
	})
	p, addr := w.proxy(t, allow("a.example", "b.example"), spliceFor("a.example"))
	c := trusting(t, w, p, addr)
	for host, want := range map[string]string{"a.example": "", "b.example": fmt.Sprint(len(standIn))} {
		req, err := http.NewRequest("HEAD", "https://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", standIn)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Content-Length"); got != want {
			t.Errorf("Content-Length of %s = %q, want %q", host, got, want)
		}
	}
}
