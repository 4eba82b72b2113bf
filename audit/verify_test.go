package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/audit"
)

func TestHeadText(t *testing.T) {
	s := chain(t, 3)
	head, err := audit.Newest(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	sum := head.Hash.String()
	tests := []struct {
		name, text string
		want       audit.Head
		ok         bool
	}{
		{"printed", head.String(), head, true},
		{"empty chain", audit.Head{}.String(), audit.Head{}, true},
		{"upper case", strings.ToUpper(head.String()), head, true},
		{"leading zero", "06:" + sum, audit.Head{}, false},
		{"sign", "+6:" + sum, audit.Head{}, false},
		{"negative", "-6:" + sum, audit.Head{}, false},
		{"no number", ":" + sum, audit.Head{}, false},
		{"no hash", "6:", audit.Head{}, false},
		{"no colon", "6" + sum, audit.Head{}, false},
		{"short hash", "6:" + sum[2:], audit.Head{}, false},
		{"odd hash", "6:z" + sum[1:], audit.Head{}, false},
		{"space", "6: " + sum[1:], audit.Head{}, false},
	}
	for _, tt := range tests {
		got, err := audit.ParseHead(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: ParseHead(%q) = %v, %v, want %v, ok %v", tt.name, tt.text, got, err, tt.want, tt.ok)
		}
	}
}

func FuzzParseHead(f *testing.F) {
	f.Add("0:" + strings.Repeat("0", 64))
	f.Add("12:" + strings.Repeat("aF", 32))
	f.Add("-1:")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := audit.ParseHead(text)
		if err != nil {
			return
		}
		if again, err := audit.ParseHead(h.String()); again != h || err != nil || !strings.EqualFold(h.String(), text) {
			t.Errorf("ParseHead(%q) = %s, which reads as %v, %v", text, h, again, err)
		}
	})
}

func TestVerifyMemory(t *testing.T) {
	tests := []struct {
		name   string
		change func(r []audit.Record) []audit.Record
		want   int64
		why    string
	}{
		{"repeated", func(r []audit.Record) []audit.Record { return append(r[:4], r[3:]...) }, 4, "repeated"},
		{"in another order", func(r []audit.Record) []audit.Record { r[3], r[4] = r[4], r[3]; return r }, 4, "missing"},
		{"forked", func(r []audit.Record) []audit.Record { return append(r[:3:3], fork(t)[3:]...) }, 4, "altered"},
		{"another key", func([]audit.Record) []audit.Record { return otherChain(t) }, 1, "another key: it names key"},
		{"key id changed", func(r []audit.Record) []audit.Record {
			r[0].Body = bytes.Replace(r[0].Body, []byte(key(t, "key").ID()), []byte("0"), 1)
			return r
		}, 1, "another key"},
		{"unreadable body", func(r []audit.Record) []audit.Record { r[0].Body = []byte("{"); return r }, 1, "altered, or sealed with another key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := chain(t, 5)
			s.records = tt.change(s.records)
			r := verify(t, s, nil)
			if r.OK() || r.Bad.Seq != tt.want || !strings.Contains(r.Bad.Why, tt.why) {
				t.Errorf("Verify: %s, want record %d bad: …%s…", r.String(), tt.want, tt.why)
			}
		})
	}
}

// fork returns another chain with the same key.
func fork(t *testing.T) []audit.Record {
	s := &slice{}
	l := newLog(t, s, nil)
	defer l.Close()
	for i := range 10 {
		if err := l.Record(t.Context(), outcome(fmt.Sprint("f", i))); err != nil {
			t.Fatal(err)
		}
	}
	return s.records
}

func otherChain(t *testing.T) []audit.Record {
	s := &slice{}
	l, err := audit.New(s, key(t, "other"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Record(t.Context(), intent("c")); err != nil {
		t.Fatal(err)
	}
	return s.records
}

func TestVerifyHead(t *testing.T) {
	s := chain(t, 5)
	head := func(i int) *audit.Head { h := s.records[i].Head(); return &h }
	past := audit.Head{Seq: 11}
	tests := []struct {
		name   string
		head   *audit.Head
		proven bool
		bad    int64
	}{
		{"none", nil, false, 0},
		{"newest", head(9), true, 0},
		{"an older one", head(4), true, 0},
		{"the empty chain's", &audit.Head{}, true, 0},
		{"a later one", &past, false, 11},
		{"another hash", &audit.Head{Seq: 5}, false, 5},
	}
	for _, tt := range tests {
		r := verify(t, s, &audit.VerifyOptions{Head: tt.head})
		if r.TailProven != tt.proven || (r.Bad == nil) != (tt.bad == 0) || r.Bad != nil && r.Bad.Seq != tt.bad {
			t.Errorf("%s: Verify: %s, want proven %v, bad %d", tt.name, r.String(), tt.proven, tt.bad)
		}
	}
	// What stands behind a fault is not known: a call before it may have its outcome there.
	if r := verify(t, s, &audit.VerifyOptions{Head: &audit.Head{Seq: 1}}); r.OK() || r.UnknownCount != 0 || r.Unknown != nil {
		t.Errorf("Verify: %s, want a fault and no calls with an unknown outcome", r.String())
	}
	if r := verify(t, &slice{}, &audit.VerifyOptions{Head: head(9)}); r.OK() || r.Bad.Seq != 1 {
		t.Errorf("Verify of an emptied store: %s, want record 1 missing", r.String())
	}
	// A head that was pruned away proves nothing.
	if _, err := audit.Prune(t.Context(), s, key(t, "key"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	older := audit.Head{Seq: 3}
	if r := verify(t, s, &audit.VerifyOptions{Head: &older}); !r.OK() || r.TailProven {
		t.Errorf("Verify with a pruned head: %s, want good and the tail not proven", r.String())
	}
}

func TestPruneStopsAtABadRecord(t *testing.T) {
	s := chain(t, 5)
	s.records[6].Tool = "other"
	n, err := audit.Prune(t.Context(), s, key(t, "key"), time.Now().Add(time.Hour))
	if n != 0 || !errors.Is(err, audit.ErrBadChain) || !strings.Contains(err.Error(), "record 7") {
		t.Errorf("Prune = %d, %v, want ErrBadChain naming record 7", n, err)
	}
	if len(s.records) != 10 {
		t.Errorf("%d records left, want all 10: they are the evidence", len(s.records))
	}
	if _, err := audit.Prune(t.Context(), s, audit.Key{}, time.Now()); err == nil {
		t.Error("Prune without a key = no error")
	}
}

func TestUnknownOutcomesAreListed(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, nil)
	defer l.Close()
	var want []string
	for i := range 120 {
		want = append(want, fmt.Sprint("c", i))
		if err := l.Record(t.Context(), intent(want[i])); err != nil {
			t.Fatal(err)
		}
	}
	r := verify(t, s, nil)
	if diff := cmp.Diff(want[:100], r.Unknown); diff != "" || r.UnknownCount != 120 {
		t.Errorf("Verify: %d unknown outcomes, want 120; listed (-want +got):\n%s", r.UnknownCount, diff)
	}
	if !strings.Contains(r.String(), "120 with unknown outcome: c0, ") {
		t.Errorf("String = %s, want the count and the calls", r.String())
	}
}

type failingReader struct{}

func (failingReader) Read(context.Context, audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) { yield(audit.Record{}, errors.New("broken")) }
}

func TestReadErrors(t *testing.T) {
	if _, err := audit.Verify(t.Context(), failingReader{}, key(t, "key"), nil); err == nil {
		t.Error("Verify = no error, want that of the reader")
	}
	if _, err := audit.Verify(t.Context(), &slice{}, audit.Key{}, nil); err == nil {
		t.Error("Verify without a key = no error")
	}
	if _, err := audit.Newest(t.Context(), failingReader{}); err == nil {
		t.Error("Newest = no error, want that of the reader")
	}
	if err := audit.Export(t.Context(), failingReader{}, &bytes.Buffer{}, audit.Query{}); err == nil {
		t.Error("Export = no error, want that of the reader")
	}
	n := 0
	for _, err := range audit.Events(t.Context(), failingReader{}, audit.Query{}) {
		if n++; err == nil {
			t.Error("Events = no error, want that of the reader")
		}
	}
	if n != 1 {
		t.Errorf("Events yielded %d times after an error, want 1", n)
	}
}

func export(t testing.TB, s *slice) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := audit.Export(t.Context(), s, &out, audit.Query{}); err != nil {
		t.Fatalf("Export = %v", err)
	}
	return out.Bytes()
}

func TestExportTampering(t *testing.T) {
	good := export(t, chain(t, 5))
	lines := bytes.SplitAfter(good, []byte("\n"))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	tests := []struct {
		name string
		data []byte
		bad  int64  // the record that Verify names
		text string // of the error when the file cannot be read
	}{
		{"untouched", good, 0, ""},
		{"one value", bytes.Replace(good, []byte(`"call_id":"c2"`), []byte(`"call_id":"c9"`), 1), 5, ""},
		{"a line removed", join(join(lines[:3]...), join(lines[4:]...)), 4, ""},
		{"a line repeated", join(join(lines[:4]...), join(lines[3:]...)), 4, ""},
		{"lines swapped", join(lines[0], lines[2], lines[1], join(lines[3:]...)), 2, ""},
		{"a hash", bytes.Replace(good, []byte(`"seq":3,"hash":"`), []byte(`"seq":3,"hash":"00`), 1), 0, "line 3"},
		{"white space", bytes.Replace(good, []byte(`{"seq":3,`), []byte(`{"seq": 3,`), 1), 0, "line 3: not written as an export is"},
		{"a second event", bytes.Replace(good, []byte("}\n"), []byte("},\"event\":{}}\n"), 1), 0, "line 1"},
		{"an event and a checkpoint", bytes.Replace(good, []byte(`,"event":`), []byte(`,"checkpoint":null,"event":`), 1), 0, "line 1: not written"},
		{"a cut line", good[:len(good)-20], 0, "line 10: not a record"},
		{"an empty line", append([]byte("\n"), good...), 0, "line 1"},
		{"another file", []byte("hello\n"), 0, "line 1: not a record"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := audit.Verify(t.Context(), audit.ReadExport(bytes.NewReader(tt.data)), key(t, "key"), nil)
			if (err != nil) != (tt.text != "") || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("Verify = %v, want an error with %q", err, tt.text)
			}
			if err == nil && (r.Bad == nil) != (tt.bad == 0) || r.Bad != nil && r.Bad.Seq != tt.bad {
				t.Errorf("Verify: %s, want record %d bad", r.String(), tt.bad)
			}
		})
	}
}

// TestTheLinesOfAnExportAreBounded: the largest record that a store took from an older
// version is read, and what is longer is named.
func TestTheLinesOfAnExportAreBounded(t *testing.T) {
	line := func(n int) string {
		const start, end = `{"seq":1,"hash":"0000000000000000000000000000000000000000000000000000000000000000","event":{"version":1,"error":"`, "\"}}\n"
		return start + strings.Repeat("x", n-len(start)-len(end)) + end
	}
	for n, want := range map[int]string{
		16<<20 + 100: "", 17<<20 + 1: "line 2 is longer than 17825792 bytes, and no record is: the file is no export, or was altered",
	} {
		var last error
		for _, last = range audit.ReadExport(strings.NewReader(line(200)+line(n))).Read(t.Context(), audit.Query{}) {
		}
		if (last != nil) != (want != "") || last != nil && last.Error() != want {
			t.Errorf("a line of %d bytes: %v, want %q", n, last, want)
		}
	}
}

func TestExportIsJSONLines(t *testing.T) {
	data := export(t, chain(t, 2))
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4", len(lines))
	}
	for i, line := range lines {
		var l struct {
			Seq   int64       `json:"seq"`
			Hash  audit.Hash  `json:"hash"`
			Event audit.Event `json:"event"`
		}
		if err := json.Unmarshal(line, &l); err != nil || l.Seq != int64(i+1) || l.Event.Tool != "t" {
			t.Errorf("line %d = %+v, %v", i+1, l, err)
		}
	}
}

// FuzzReadExport: what is read from an export is written as it was, and
// never verifies unless it is a true beginning of the chain.
func FuzzReadExport(f *testing.F) {
	s := chain(f, 2)
	good, head := export(f, s), s.records[3].Head()
	f.Add(good)
	f.Add(bytes.Replace(good, []byte("c1"), []byte("c2"), 1))
	if _, err := audit.Prune(f.Context(), s, key(f, "key"), time.Now().Add(time.Hour)); err != nil {
		f.Fatal(err)
	}
	f.Add(export(f, s))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := &slice{}
		for rec, err := range audit.ReadExport(bytes.NewReader(data)).Read(t.Context(), audit.Query{}) {
			if err != nil {
				return
			}
			got.records = append(got.records, rec)
		}
		again := export(t, got)
		if normal := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")); !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), bytes.TrimSuffix(normal, []byte("\n"))) {
			t.Errorf("read and written again:\n%s\nwant\n%s", again, data)
		}
		r := verify(t, got, nil)
		if !r.OK() || len(got.records) == 0 {
			return
		}
		// The key has signed these four records and a checkpoint for them.
		pruned := len(got.records) == 1 && got.records[0].Kind == audit.KindCheckpoint && r.Head == head
		if !pruned && !bytes.HasPrefix(good, again) {
			t.Errorf("Verify: %s, want it to refuse\n%s", r.String(), data)
		}
	})
}
