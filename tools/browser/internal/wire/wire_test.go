package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

// What Chromium 156 answered to one Runtime.evaluate, in both forms.
const (
	writtenBinary = "d8185a000000f0bf62696404" + "66726573756c74d8185a000000b0bf66726573756c74d8185a000000a0bf6474797065666f626a656374" +
		"6576616c7565d8185a00000085bf61615818e9002e203dd800de00d87f003c002600010022005c002f00" +
		"616ed8185a000000589ffb3fb999999999999afb444b1ae4d6e2ef50fb3e7ad7f29abcaf48fb8000000000000000fb423cbe991a140000" +
		"fb7ff8000000000000fb41e00000000000003a7ffffffffb7ff0000000000000fb3fe0000000000000ff446b00e900f6ffffff" +
		"6973657373696f6e49647820" + "3033333543324241424136323430454633373444383046353342334343433139" + "ff"
	writtenJSON = `{"id":4,"result":{"result":{"type":"object","value":{"a":"\u00e9\u202e\ud83d\ude00\ud800\u007f<&\u0001\"\\/",` +
		`"n":[0.1,1e+21,1e-7,0,123456789012,null,2147483648,-2147483648,null,0.5],"k\u00e9":null}}},"sessionId":"0335C2BABA6240EF374D80F53B3CCC19"}`
)

func TestJSONIsWhatChromiumWrites(t *testing.T) {
	t.Parallel()
	message, err := hex.DecodeString(writtenBinary)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Value(message).JSON(1 << 20); err != nil || string(got) != writtenJSON {
		t.Errorf("JSON = %s, %v\nwant %s", got, err, writtenJSON)
	}
	if n, err := MessageLen(message[:HeadBytes]); err != nil || n != int64(len(message)) {
		t.Errorf("MessageLen = %d, %v, want %d", n, err, len(message))
	}
	if id, ok := AnswerID(message[:HeadBytes+5]); !ok || id != 4 {
		t.Errorf("AnswerID = %d, %v", id, ok)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for item, want := range map[string]string{
		"\xd6\x43\x00\xff\x10": `"AP8Q"`, "\x40": `""`, "\x60": `""`, "\x20": `-1`, "\x19\x01\x00": `256`, "\x1a\xff\xff\xff\xff": `4294967295`,
		"\x64\xf0\x9f\x98\x80": `"\ud83d\ude00"`, "\x63a\xffb": `"a\ufffdb"`, envelope + "\x00\x00\x00\x02\x9f\xff": `[]`, envelope + "\x00\x00\x00\x02\xbf\xff": `{}`,
	} {
		if got, err := Value(item).JSON(1 << 20); err != nil || string(got) != want {
			t.Errorf("%x = %s, %v, want %s", item, got, err, want)
		}
	}
	text := []byte("\x63a\xffb")
	if s, ok := Value(text).Text(); !ok || s != "a\ufffdb" {
		t.Errorf("a text that is no UTF-8 = %q, %v", s, ok)
	}
	if s, ok := Value("\x44\x00\xd8a\x00").Text(); !ok || s != "\ufffda" {
		t.Errorf("half a surrogate pair = %q, %v", s, ok)
	}
	for _, n := range []int{23, 24, 255, 256, 65535, 65536} {
		long := strings.Repeat("x", n)
		item, err := FromJSON([]byte(`"` + long + `"`))
		if s, ok := Value(item).Text(); err != nil || !ok || s != long || string(Value(item).UTF8()) != long {
			t.Errorf("a text of %d bytes: %d, %v, %v", n, len(s), ok, err)
		}
	}
	if _, ok := Value("\x41a").Text(); ok {
		t.Error("half a unit is a text")
	}
	if truth, ok := Value("\xf5").Truth(); !ok || !truth {
		t.Errorf("true = %v, %v", truth, ok)
	}
	if _, ok := Value("\xf6").Truth(); ok {
		t.Error("null is a truth value")
	}
	if n, ok := Value("\x63abc").Number(); ok {
		t.Errorf("a text is the number %d", n)
	}
}

// listOf returns a list of one item.
func listOf(item string) string {
	head := append([]byte(envelope), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(head[len(envelope):], uint32(len(item)+2))
	return string(head) + "\x9f" + item + "\xff"
}

// nest returns a number in lists.
func nest(depth int) string {
	item := "\x01"
	for range depth {
		item = listOf(item)
	}
	return item
}

func TestWhatIsNotInTheFormIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Value(nest(maxDepth)).JSON(1 << 20); err != nil {
		t.Errorf("%d lists: %v", maxDepth, err)
	}
	for name, item := range map[string]string{
		"too deep":               nest(maxDepth + 1),
		"nothing in an envelope": envelope + "\x00\x00\x00\x00",
		"too long for its item":  envelope + "\x00\x00\x00\x05\x9f\x63ab\xff",
		"longer than it is":      envelope + "\x00\x00\x00\x06\x9f\x61a\xff",
		"not ended":              envelope + "\x00\x00\x00\x03\x9f\x01\x01",
		"ended before its end":   envelope + "\x00\x00\x00\x04\x9f\xff\x01\xff",
		"a key without a value":  envelope + "\x00\x00\x00\x04\xbf\x61a\xff",
		"a number as a key":      envelope + "\x00\x00\x00\x04\xbf\x01\x01\xff",
		"a number in it":         envelope + "\x00\x00\x00\x02\x01\xff",
		"no envelope":            envelope + "\x00\x00\x00\x05\x9f\x9f\x01\xff\xff",
		"another envelope":       "\xd8\x5a\x00\x00\x00\x02\x9f\xff",
		"a list with a length":   envelope + "\x00\x00\x00\x04\x9f\x81\x01\xff",
		"64 bits":                "\x1b\x00\x00\x00\x00\x00\x00\x00\x01",
		"half a float":           "\xf9\x00\x00",
		"bytes that are a text":  "\xd6\x61a",
		"half a unit":            "\x41a",
		"undefined":              "\xf7",
		"nothing":                "",
	} {
		if name != "too deep" && name != "nothing" {
			item = listOf(item)
		}
		if got, err := Value(item).JSON(1 << 20); err == nil {
			t.Errorf("%s: %s, want an error", name, got)
		}
	}
	for _, head := range []string{"", envelope, `{"id":1`, "\xd8\x18\x5b\x00\x00\x00\x02", envelope + "\x00\x00\x00\x01"} {
		if n, err := MessageLen([]byte(head)); err == nil {
			t.Errorf("MessageLen(%q) = %d, want an error", head, n)
		}
	}
	for _, message := range []string{"", envelope + "\x00\x00\x00\x09\xbf", envelope + "\x00\x00\x00\x09\xbf\x62id", envelope + "\x00\x00\x00\x09\xbf\x66methodx"} {
		if id, ok := AnswerID([]byte(message)); ok {
			t.Errorf("AnswerID(%q) = %d", message, id)
		}
	}
}

func TestJSONIsBounded(t *testing.T) {
	t.Parallel()
	for _, item := range []string{
		listOf(strings.Repeat("\xf4", 100)), "\x78\x64" + strings.Repeat("\xff", 100), "\x58\x64" + strings.Repeat("\x00", 100), "\x18\x64", "\xd6\x58\x64" + strings.Repeat("x", 100),
		envelope + "\x00\x00\x00\x06\xbf\x62\xc3\xa9\xf6\xff",
	} {
		whole, err := Value(item).JSON(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Value(item).JSON(len(whole)); err != nil || !bytes.Equal(got, whole) {
			t.Errorf("%x: %v", item, err)
		}
		if got, err := Value(item).JSON(len(whole) - 1); !errors.Is(err, ErrTooLong) {
			t.Errorf("%x = %s, %v", item, got, err)
		}
	}
	long := jsonWriter{most: 100}
	if err := long.writeItem(Value(listOf(strings.Repeat("\x62\xff\xff", 1_000_000))), 0); !errors.Is(err, ErrTooLong) || len(long.out) > 200 {
		t.Errorf("%d bytes were written, %v", len(long.out), err)
	}
}

// FuzzFromJSON holds both directions to encoding/json.
func FuzzFromJSON(f *testing.F) {
	for _, seed := range []string{writtenJSON, `null`, `[1,-1,23,24,-25,255,256,65536,-2147483648,2147483648,1e300,5e-324]`, `{"":[],"é":{"\ud800":"😀\u0000\\"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want, got any
		message, err := FromJSON(text)
		if wantErr := json.Unmarshal(text, &want); (err == nil) != (wantErr == nil) {
			t.Fatalf("FromJSON(%q) = %v, encoding/json has %v", text, err, wantErr)
		}
		if err != nil {
			return
		}
		item, rest, err := cutItem(message)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%x: %d bytes are left, %v", message, len(rest), err)
		}
		back, err := item.JSON(1 << 20)
		if err != nil && strings.Count(string(text), "[")+strings.Count(string(text), "{") > maxDepth {
			return
		}
		if err == nil {
			err = json.Unmarshal(back, &got)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q came back as %q, %v", text, back, err)
		}
	})
}

// FuzzJSON has anything be read: what is JSON then means the same again, and no reader sees
// more than its item.
func FuzzJSON(f *testing.F) {
	message, _ := hex.DecodeString(writtenBinary)
	f.Add(message)
	f.Add([]byte(nest(3)))
	for _, seed := range []string{"\xd6\x43\x00\xff\x10", "\x63a\xffb", "\x44\x00\xd8a\x00", envelope + "\xff\xff\xff\xff\xbf", "\x7a\xff\xff\xff\xff", "\xfb\x7f\xf0", envelope + "\x00\x00\x00\x02\xbf\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole := Value(bytes.Clone(text))
		_, wholeErr := whole.JSON(1 << 20)
		s, isText := whole.Text()
		item, rest, err := cutItem(whole)
		if err != nil || len(rest) > 0 {
			if wholeErr == nil || isText || whole.UTF8() != nil {
				t.Errorf("%x is read as an item, as the text %q", text, s)
			}
		}
		if err != nil {
			return
		}
		if len(item)+len(rest) != len(text) || cap(item) != len(item) {
			t.Fatalf("%x is cut into %x and %x", text, item, rest)
		}
		out, err := item.JSON(1 << 20)
		if err != nil {
			return
		}
		if !json.Valid(out) || bytes.ContainsFunc(out, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			t.Fatalf("%x = %q", text, out)
		}
		again, err := FromJSON(out)
		if err != nil {
			return // a number that is too large for one
		}
		var one, other any
		second, err := Value(again).JSON(1 << 20)
		if err != nil || json.Unmarshal(out, &one) != nil || json.Unmarshal(second, &other) != nil || !reflect.DeepEqual(one, other) {
			t.Errorf("%x = %s, and then %s, %v", text, out, second, err)
		}
		if s, ok := item.Text(); ok {
			if want, isText := one.(string); !isText || s != want {
				t.Errorf("the text %x is %q, and %v in JSON", text, s, one)
			}
		}
		if n, ok := item.Number(); ok && one != float64(n) || n > math.MaxUint32 {
			t.Errorf("the number %x is %d, and %v in JSON", text, n, one)
		}
	})
}
