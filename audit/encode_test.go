package audit

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// texts are the texts that a body is filled with.
var texts = []string{"", "a", "<b>&", "\u2028 \"quoted\" \\ \x00\n", "\xff not UTF-8", "ein Wörtchen 字"}

// fill sets everything below v to values of r, and leaves some of it empty.
func fill(r *rand.Rand, v reflect.Value) {
	if v.CanInterface() {
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			*at = time.Unix(r.Int64N(1<<33), r.Int64N(1e9)*r.Int64N(2)).UTC()
			return
		}
	}
	if r.IntN(4) == 0 {
		return
	}
	if v.Type() == reflect.TypeFor[sallyport.AttachmentKind]() {
		v.SetString("image") // which writes itself, with escapes that no kind needs
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			v.SetMapIndex(reflect.ValueOf(texts[r.IntN(len(texts))]), reflect.ValueOf(texts[r.IntN(len(texts))]))
		}
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64N(1 << 40))
	case reflect.Float64:
		v.SetFloat(r.Float64() * 1e-5)
	default:
		panic("an event has a field of kind " + v.Kind().String())
	}
}

// TestABodyIsWhatTheLibraryWrites compares events of random content with
// encoding/json, so that no field is forgotten.
func TestABodyIsWhatTheLibraryWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var e Event
		fill(r, reflect.ValueOf(&e).Elem())
		if r.IntN(2) == 0 {
			e.Kind = KindOutcome
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(e.toWire()); err != nil {
			t.Fatal(err)
		}
		var grant grantText
		var err error
		if e.Grant != nil {
			grant, err = encodeGrant(e.Grant)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.appendBody(nil, grant.text)
		if err != nil || string(got)+"\n" != want.String() {
			t.Fatalf("the body is\n%s, %v\nwant\n%s", got, err, want.String())
		}
	}
}

// fillLong sets every text below v to one, and every list to 200 of its elements.
func fillLong(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillLong(v.Elem(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fillLong(v.Field(i), text)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 200, 200))
		for i := range v.Len() {
			fillLong(v.Index(i), text)
		}
	case reflect.String:
		v.SetString(text)
	}
}

// TestNoRecordIsLongerThanALine fills every field of an event, also one that is added
// later, with more than a record may hold.
func TestNoRecordIsLongerThanALine(t *testing.T) {
	const most = 3 << 20 // the bounds say so
	for _, text := range []string{"\x01", "\n", "\"", "\u2028", "a", "\xff", "\xffa"} {
		e := Event{Grant: &sallyport.Grant{}}
		grant := e.Grant
		fillLong(reflect.ValueOf(&e).Elem(), strings.Repeat(text, maxFull))
		// What cannot be longer is an error.
		e.Kind, e.Time, e.Grant, e.Change, e.Carried, e.Used, e.Brought = KindOutcome, time.Now(), grant, nil, nil, nil, nil
		for range 200 {
			grant.Secrets = append(grant.Secrets, strings.Repeat("s", maxGrant/256))
		}
		for _, change := range []*Change{nil, {}} {
			if change != nil {
				fillLong(reflect.ValueOf(change).Elem(), strings.Repeat(text, maxFull))
				e.Kind, e.Change = KindChange, change
			}
			p, l := new(queuedRecord), new(Log)
			if err := l.encodeEvent(p, &e); err != nil {
				t.Fatal(err)
			}
			if len(p.body) > most {
				t.Fatalf("of %q: the record has %d bytes, want at most %d", text, len(p.body), most)
			}
			var again Event
			if err := again.UnmarshalJSON(p.body); err != nil || again.Grant == nil {
				t.Errorf("of %q: the record cannot be read, or has no grant: %v", text, err)
			}
			rec := Record{Seq: math.MaxInt64, Body: p.body}
			if line := appendLine(nil, &rec); len(line) > maxLine/2 {
				t.Errorf("of %q: the line has %d bytes", text, len(line))
			}
		}
	}
}

func TestABodyNeedsNumbersThatHaveAText(t *testing.T) {
	for name, e := range map[string]*Event{
		"a year of five digits": {Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"a price without end":   {CostUSD: inf()},
	} {
		if _, err := e.appendBody(nil, nil); err == nil {
			t.Errorf("%s was encoded", name)
		}
	}
}

func inf() float64 {
	var zero float64
	return 1 / zero
}
