package terminal

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestExcerpt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in   string
		limit      int
		head, tail string
		left       int64
	}{
		{"empty", "", 100, "", "", 0},
		{"short", "a\nb\n\n", 100, "a\nb", "", 0},
		{"exact", strings.Repeat("é", 10), 10, strings.Repeat("é", 10), "", 0},
		{"cut", "0123456789", 5, "01", "789", 5},
		{"cut at lines", "aaaa\nbbbb\ncccc\ndddd\neeee\nffff\n", 24, "aaaa\nbbbb", "dddd\neeee\nffff", 6},
		{"cut near lines", "aaaa\nbbbb\ncccc\ndddd\neeee\nffff\n", 20, "aaaa\nbbb", "eeee\nffff", 12},
		{"not UTF-8", "\xff\xfe", 10, "\uFFFD", "", 0},
		{"no room", "abc", 0, "", "", 3},
		{"less than no room", "abc", -5, "", "", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var o outputCapture
			_, _ = o.Write([]byte(tt.in))
			x := o.newExcerpt(tt.limit)
			if x.head != tt.head || x.tail != tt.tail || x.left != tt.left {
				t.Errorf("excerpt(%d) = %q, %q, %d, want %q, %q, %d", tt.limit, x.head, x.tail, x.left, tt.head, tt.tail, tt.left)
			}
		})
	}
}

// TestCaptureIsBounded writes more than is kept, in pieces that do not fit.
func TestCaptureIsBounded(t *testing.T) {
	t.Parallel()
	var o outputCapture
	piece := bytes.Repeat([]byte("0123456789abcde\n"), 4099)
	total := 0
	for total < maxKept+5*maxTail {
		n, err := o.Write(piece)
		if err != nil || n != len(piece) {
			t.Fatalf("Write = %d, %v", n, err)
		}
		total += n
	}
	_, _ = o.Write([]byte("the end"))
	total += len("the end")
	if len(o.kept) != maxKept || len(o.tail) > 2*maxTail || o.total != int64(total) || !o.isCut() {
		t.Errorf("kept %d, tail %d, total %d of %d", len(o.kept), len(o.tail), o.total, total)
	}
	x := o.newExcerpt(100)
	if !strings.HasSuffix(x.tail, "\nthe end") || !strings.HasPrefix(x.head, "0123456789") {
		t.Errorf("excerpt = %q, %q, want the two ends", x.head, x.tail)
	}
}

// TestCaptureAgainstAModel compares with what a plain buffer says.
func TestCaptureAgainstAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var o outputCapture
		var all []byte
		for range rapid.IntRange(0, 5).Draw(t, "writes") {
			p := []byte(rapid.StringMatching(`[aé\n\x00]{0,50}`).Draw(t, "text"))
			_, _ = o.Write(p)
			all = append(all, p...)
		}
		n := rapid.IntRange(0, 100).Draw(t, "n")
		if want := all[max(0, len(all)-n):]; !bytes.Equal(o.lastBytes(n), want) {
			t.Fatalf("last(%d) = %q, want %q", n, o.lastBytes(n), want)
		}
		x := o.newExcerpt(n)
		if got := utf8.RuneCountInString(x.head + x.tail); got > n {
			t.Fatalf("excerpt(%d) has %d code points", n, got)
		}
		if x.left == 0 && x.head != cleanText(all) {
			t.Fatalf("excerpt(%d) = %q without a mark, want all of %q", n, x.head, all)
		}
		if !bytes.HasPrefix(all, []byte(x.head)) {
			t.Fatalf("head = %q, not the beginning of %q", x.head, all)
		}
	})
}

func TestTailOverTheSeam(t *testing.T) {
	t.Parallel()
	o := outputCapture{kept: []byte("abcdef"), tail: []byte("gh"), total: 8}
	if got := string(o.lastBytes(5)); got != "defgh" {
		t.Errorf("last(5) = %q, want defgh", got)
	}
	if string(o.kept) != "abcdef" {
		t.Errorf("kept = %q, was changed", o.kept)
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	r := newOutputRing()
	p, from, more := r.readSince(0, 10)
	if len(p) != 0 || from != 0 {
		t.Errorf("since of an empty ring = %q, %d", p, from)
	}
	_, _ = r.Write(nil)
	select {
	case <-more:
		t.Error("a write of nothing woke a reader")
	default:
	}
	_, _ = r.Write([]byte("abc"))
	select {
	case <-more:
	default:
		t.Error("a write woke no reader")
	}
	for _, tt := range []struct {
		offset int64
		most   int
		want   string
		from   int64
	}{{0, 10, "abc", 0}, {1, 1, "b", 1}, {3, 10, "", 3}, {99, 10, "", 3}, {-5, 10, "abc", 0}} {
		if p, from, _ := r.readSince(tt.offset, tt.most); string(p) != tt.want || from != tt.from {
			t.Errorf("since(%d, %d) = %q, %d, want %q, %d", tt.offset, tt.most, p, from, tt.want, tt.from)
		}
	}
}

func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	r := newOutputRing()
	var total int64
	for i := range 50 {
		p := bytes.Repeat([]byte{byte('a' + i%26)}, 100_003)
		_, _ = r.Write(p)
		total += int64(len(p))
	}
	if len(r.kept) > 2*ringBytes || cap(r.kept) > 4*ringBytes {
		t.Errorf("%d bytes are kept in %d", len(r.kept), cap(r.kept))
	}
	p, from, _ := r.readSince(0, 1<<30)
	if len(p) != ringBytes || from != total-ringBytes || p[len(p)-1] != 'a'+49%26 {
		t.Errorf("since(0) = %d bytes from %d, want the last %d of %d", len(p), from, ringBytes, total)
	}
	_, _ = r.Write(bytes.Repeat([]byte("z"), 3*ringBytes))
	if p, from, _ := r.readSince(0, 1<<30); len(p) != ringBytes || from != total+2*ringBytes || p[0] != 'z' {
		t.Errorf("after a large write: %d bytes from %d", len(p), from)
	}
}

func TestWholeRunes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"aé", 2, "aé"}, {"aé", 1, "a"}, {"a\xc3", 5, "a"}, {"\xc3", 5, "\xc3"}, {"\xff\xff", 1, "\xff"}, {"abc", 0, ""}, {"", 3, ""},
	} {
		if got := string(wholeRunes([]byte(tt.in), tt.n)); got != tt.want {
			t.Errorf("wholeRunes(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}
