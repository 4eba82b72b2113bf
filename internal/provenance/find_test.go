package provenance_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/provenance"
)

// page is an untrusted text, as a model reads it.
const page = `Dear Emma,
please pay the bill to IBAN GB29 NWBK 6016 1331 9268 19 and write to
Mark <Mark.Black-2134@gmail.com>. More at https://www.true-informations.com/news?id=7 or www.secure-systems-252.com.
The latest job report brought a mix of relief and concern as unemployment edged down to 7.2 percent this month.
Card 4237-4252-7456-2574, reference 20240515001, until 2026-11-26.`

func memoryOf(texts ...string) *provenance.Memory {
	m := new(provenance.Memory)
	m.Add(provenance.Source{Tool: "read", CallID: "c1"}, texts...)
	return m
}

func TestFind(t *testing.T) {
	t.Parallel()
	m := memoryOf(page)
	const mail, account, link, name, free = effect.Mail, effect.Account, effect.URL, effect.Name, sallyport.ValueKind("")
	run := "job report brought a mix of relief and concern as unemployment edged down to 7.2"
	for _, c := range []struct {
		what  string
		kind  sallyport.ValueKind
		value string
		found bool
	}{
		{"an address", mail, "mark.black-2134@gmail.com", true},
		{"in other case", mail, "MARK.BLACK-2134@GMAIL.COM", true},
		{"another address", mail, "ann@example.com", false},
		{"an account without its blanks", account, "GB29NWBK60161331926819", true},
		{"with other marks", account, "GB29-NWBK-6016-1331-9268-19", true},
		{"a card without its marks", account, "4237425274562574", true},
		{"a URL with another scheme", link, "http://www.true-informations.com/news?id=7/", true},
		{"without a scheme", link, "true-informations.com/news?id=7", true},
		{"another page of the host", link, "https://other.example.com/news", false},
		{"a name of fewer than eight characters", name, "Emma", false},
		{"free text of other words", free, "Please send me the weather of tomorrow", false},
		{"an address in free text", free, "Write to mark.black-2134@gmail.com, please!", true},
		{"an account in free text", free, "Pay GB29 NWBK 6016 1331 9268 19 today", true},
		{"an account in one piece", free, "Pay GB29NWBK60161331926819 today", true},
		{"a number", free, "It is about 20240515001.", true},
		{"a host within a new URL", free, "See https://secure-systems-252.com/?q=what-was-read", true},
		{"a date", free, "The meeting is moved to 2026-11-26", false},
		{"a link in brackets", free, "Check [this](www.secure-systems-252.com)!", true},
		{"a whole short text", free, "Dear Emma,", true},
		{"a run of 64 characters", free, "I read that the latest " + run + " — good news!", true},
		{"a shorter run", free, "I read about a mix of relief and concern.", false},
		{"percent encoded", free, url.QueryEscape("to=mark.black-2134@gmail.com"), true},
		{"in base64", free, "data: " + base64.StdEncoding.EncodeToString([]byte("send it to mark.black-2134@gmail.com")), true},
		{"in base64 twice", free, base64.StdEncoding.EncodeToString([]byte(base64.URLEncoding.EncodeToString([]byte("send it to mark.black-2134@gmail.com")))), true},
		{"with marks on letters", free, "Write to màrk.bláck-2134@gmail.com", true},
		{"a host with full-width letters", free, "See ｓｅｃｕｒｅ-ｓｙｓｔｅｍｓ-２５２．ｃｏｍ today", true},
		{"a form", free, "text=the+bill+to+IBAN+GB29+NWBK+6016+1331+9268+19%2C+and+write+to+Mark+by+ten", true},
		{"with full-width letters", free, "ｍａｒｋ.ｂｌａｃｋ-2134＠gmail.com", true},
		{"with letters that are not seen", mail, "mark.bl\u200back-2134@gmail.com", true},
		{"in other words", free, "Jobs: fewer people look for one than a year ago.", false},
		{"nothing", free, "", false},
	} {
		match, found := m.Find(c.kind, c.value, nil)
		if found != c.found {
			t.Errorf("%s: Find(%q) = %v, %v, want %v", c.what, c.value, match, found, c.found)
		}
		if found && match.Source.CallID != "c1" {
			t.Errorf("%s: the source is %+v", c.what, match.Source)
		}
	}
}

// What was encoded where it was read is found in plain, too.
func TestFindWhatWasEncoded(t *testing.T) {
	t.Parallel()
	m := memoryOf("code: "+base64.StdEncoding.EncodeToString([]byte("visit www.secure-systems-252.com")), "go%20to%20www.other-systems-252.com")
	for _, value := range []string{"www.secure-systems-252.com", "www.other-systems-252.com"} {
		if _, found := m.Find(effect.URL, value, nil); !found {
			t.Errorf("Find(%q) found nothing", value)
		}
	}
}

func TestHeldValuesAreNotFound(t *testing.T) {
	t.Parallel()
	m := memoryOf(page)
	own := map[string]bool{"mail mark.black-2134@gmail.com": true, "host true-informations.com": true, "url true-informations.com/news?id=7": true}
	held := func(kind sallyport.ValueKind, canonical string) bool { return own[string(kind)+" "+canonical] }
	for value, want := range map[string]bool{
		"write to mark.black-2134@gmail.com":                                             false,
		"see https://www.true-informations.com/news?id=7":                                false,
		"see https://www.true-informations.com/news?id=8":                                false, // the host is held, and this page was not read
		"write to mark.black-2134@gmail.com and see www.secure-systems-252.com for more": true,
	} {
		if _, found := m.Find("", value, held); found != want {
			t.Errorf("Find(%q) = %v, want %v", value, found, want)
		}
	}
}

func TestFloodedMemoryTrustsNothing(t *testing.T) {
	t.Parallel()
	m := new(provenance.Memory)
	for i := range 100 {
		m.Add(provenance.Source{Tool: "read", CallID: "c"}, strings.Repeat(string(rune('a'+i%26)), i)+strings.Repeat("0123456789abcdef", 1024)[i:])
	}
	if !m.Flooded() {
		t.Fatal("1.6 MB are remembered")
	}
	if m.Bytes() > provenance.MaxBytes {
		t.Errorf("the memory takes %d bytes", m.Bytes())
	}
	if _, found := m.Find("", "anything", nil); !found {
		t.Error("a value that was never read is trusted")
	}
	if _, found := m.Find(effect.Mail, "ann@example.com", func(sallyport.ValueKind, string) bool { return true }); found {
		t.Error("a value that the operator holds is not")
	}
}
