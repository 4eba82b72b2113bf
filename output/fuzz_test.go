package output_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	sallyport "github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
)

// spellings returns a value in each form that the contract lists.
func spellings(v string) []string {
	quoted, _ := json.Marshal(v)
	var loose bytes.Buffer
	e := json.NewEncoder(&loose)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	var every strings.Builder
	for _, b := range []byte(v) {
		fmt.Fprintf(&every, "%%%02x", b)
	}
	h := hex.EncodeToString([]byte(v))
	all := []string{
		v,
		string(quoted[1 : len(quoted)-1]),
		loose.String()[1 : loose.Len()-2],
		h, strings.ToUpper(h),
		every.String(), strings.ToUpper(every.String()),
		url.QueryEscape(v), url.PathEscape(v),
	}
	return append(all, base64s(v)...)
}

// base64s returns the digits that v decides at each offset, in both
// alphabets.
func base64s(v string) []string {
	var all []string
	for offset := range 3 {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			one := enc.EncodeToString([]byte("\x00\x00"[:offset] + v + "\x00\x00\x00"))
			other := enc.EncodeToString([]byte("\xff\xff"[:offset] + v + "\xff\xff\xff"))
			from, to := 0, 0
			for from < len(one) && one[from] != other[from] {
				from++
			}
			for to = from; to < len(one) && one[to] == other[to]; to++ {
			}
			all = append(all, one[from:to])
		}
	}
	return all
}

// squeeze removes what may split a secret.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Variation_Selector, r) ||
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || strings.ContainsRune("\u200b\u00ad\U000E0061", r) {
			return -1
		}
		return r
	}, s)
}

// leak returns the form in which v shows in text, "" when it does not.
func leak(text, v string) string {
	for _, form := range spellings(v) {
		if strings.Contains(text, form) || strings.Contains(squeeze(text), squeeze(form)) {
			return form
		}
	}
	return ""
}

func FuzzTextRemovesSecrets(f *testing.F) {
	for i := range spellings("") {
		f.Add("hunter2-Zq9!x/Y+7w==", "before ", " after", uint8(i), uint8(0))
		f.Add("pa\"ss\\wo\nrd-é-%", "{\"a\":\"", "\"}", uint8(i), uint8(3))
		f.Add("<&>\"'\\\\/%%41+ +", "x", "y", uint8(i), uint8(1))
		f.Add("]secret[REDACTED", "<s>", "]", uint8(i), uint8(2))
		f.Add("一二三四五六", "七", "八", uint8(i), uint8(4))
		f.Add("==========++++//", "=", "+", uint8(i), uint8(5))
	}
	for _, odd := range []string{
		"00000000  ", "000\x0600000", "000000\ré", "0000000\x00 0", "A\"\v \"//\"\" \"", "\x00 \\wordMé",
		"\x000\"0\"\"000", "000\\\\\\\\0", "00;    01)70", "==== \x00 ===0", "二䰉四\u0085K", "00000\\0 \\",
		"\\/%%41+ +", "~~~~~~0\n 0", "00000\x1a\x1a\x1a\x1a%\x1a\x1a\x1a00",
	} {
		for i := range spellings("") {
			f.Add(odd, "0", "0", uint8(i), uint8(0))
			f.Add(odd, "0", "0", uint8(i), uint8(5))
		}
	}
	splits := []string{"", "\u200b", "\n", "\x00", "\u00ad\t", "\r\n", "\x1b[0m", "\U000E0061"}
	f.Fuzz(func(t *testing.T, secret, before, after string, form, split uint8) {
		c, err := output.New(&output.Options{Secrets: []sallyport.Secret{sallyport.NewSecret(secret)}})
		if err != nil || !utf8.ValidString(secret) {
			t.Skip("not a value that is searched for")
		}
		all := spellings(secret)
		planted := all[int(form)%len(all)]
		if s := splits[int(split)%len(splits)]; s != "" {
			planted = strings.Join(strings.Split(planted, ""), s)
		}
		// Without its introducer the text before cannot swallow the first
		// character of the secret.
		text := output.PlainText(before) + planted + after
		got := string(c.Text(text))
		if form := leak(got, secret); form != "" {
			t.Errorf("Text(%q) = %q, want %q absent", text, got, form)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, h := range hostile() {
		f.Add(h.text + h.text)
		f.Add(prose + h.text + " x")
	}
	for _, v := range load[vector](f, "output.json") {
		f.Add(v.Input)
		f.Add(string(v.InputB64))
	}
	c := cleaner(f, "hunter2-Zq9!x/Y+7w==", "]~b]secret", "REDACTED:x", "eyJhbGciOi", "<s><s><s>", "N]hunter2")
	f.Fuzz(func(t *testing.T, in string) {
		got := string(c.Text(in))
		if again := string(c.Text(got)); again != got {
			t.Errorf("Text(Text(%q)) = %q, want %q", in, again, got)
		}
		if !utf8.ValidString(got) {
			t.Errorf("Text(%q) = %q, want valid UTF-8", in, got)
		}
		for i, r := range got {
			ok := r >= ' ' && r != 0x7F && (r < 0x80 || r > 0x9F) || r == '\n' || r == '\t' ||
				r == '\r' && strings.HasPrefix(got[i:], "\r\n")
			if !ok || r == 0x202E || r == 0x200B || r == 0xFEFF {
				t.Errorf("Text(%q) = %q, want no %U", in, got, r)
			}
		}
		checkWrapped(t, got)
		checkWrapped(t, in)
	})
}

// checkWrapped wraps text and looks for a second tag with a reader that is
// more lenient than any parser.
func checkWrapped(t *testing.T, text string) {
	t.Helper()
	got := string(output.Wrap(output.Clean(text), output.Clean(text), text))
	body := strings.TrimSuffix(got[strings.Index(got, ">\n")+2:], "\n</untrusted>")
	loose := strings.ToLower(strings.Map(func(r rune) rune {
		switch {
		case r >= 0xFF01 && r <= 0xFF5E:
			return r - 0xFEE0
		case r == '〈' || r == '《' || r == '‹' || r == '⟨':
			return '<'
		case unicode.IsSpace(r) || unicode.Is(unicode.C, r) && r != utf8.RuneError:
			return -1
		}
		return r
	}, body+"\n"))
	for _, tag := range []string{"</untrusted>", "<untrusted>", "<untrustedsource="} {
		if strings.Contains(loose, tag) {
			t.Errorf("Wrap(%q) = %q, want no %q in the body", text, got, tag)
		}
	}
	head, _, _ := strings.Cut(got, "\n")
	if strings.Count(head, `"`) != 4 || strings.Count(head, "<") != 1 || strings.Count(head, ">") != 1 {
		t.Errorf("Wrap(%q) begins %q, want two attributes in one tag", text, head)
	}
}

func FuzzTrim(f *testing.F) {
	f.Add("ééé", 2)
	f.Add("abc", 0)
	f.Add("\xff\xfe", 1)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		got, cut := output.Trim(in, limit)
		n := utf8.RuneCountInString(in)
		if !cut {
			if got != in || n > max(limit, 0) {
				t.Errorf("Trim(%q, %d) = %q, want a cut", in, limit, got)
			}
			return
		}
		marker := fmt.Sprintf("\n[truncated -- %d chars total]", n)
		head, ok := strings.CutSuffix(got, marker)
		if !ok || !strings.HasPrefix(in, head) || utf8.RuneCountInString(head) != max(limit, 0) || n <= limit {
			t.Errorf("Trim(%q, %d) = %q, want %d characters and %q", in, limit, got, limit, marker)
		}
		if utf8.ValidString(in) && !utf8.ValidString(got) {
			t.Errorf("Trim(%q, %d) = %q, want no half character", in, limit, got)
		}
	})
}
