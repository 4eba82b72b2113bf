package egress

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
)

// TestScrubber compares the stream with a replacement of the whole, for every
// way in which a body may be cut.
func TestScrubber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &hostSwap{}
		s.addHidden("abcabd", "<1>")
		s.addHidden("bdbdbd", "<2>")
		s.addHidden("ab", "<3>")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abcd")), 0, 60, -1).Draw(t, "text")
		var r io.Reader = strings.NewReader(text)
		switch rapid.IntRange(0, 2).Draw(t, "reader") {
		case 1:
			r = iotest.OneByteReader(r)
		case 2:
			r = iotest.DataErrReader(iotest.HalfReader(r))
		}
		got, err := io.ReadAll(s.scrubBody(r))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{"abcabd", "bdbdbd", "ab"} {
			if strings.Contains(string(got), p) {
				t.Fatalf("body(%q) = %q shows %s", text, got, p)
			}
		}
		if back := strings.NewReplacer("<1>", "abcabd", "<2>", "bdbdbd", "<3>", "ab").Replace(string(got)); back != text {
			t.Fatalf("body(%q) = %q, which stands for %q", text, got, back)
		}
	})
}

// TestScrubberPassesEvents: what cannot be the beginning of a value is not
// held back.
func TestScrubberPassesEvents(t *testing.T) {
	t.Parallel()
	s := &hostSwap{}
	s.addHidden("secret-value", "x")
	r, w := io.Pipe()
	body := s.scrubBody(r)
	go io.WriteString(w, "data: 1\n\n")
	b := make([]byte, 100)
	if n, err := body.Read(b); string(b[:n]) != "data: 1\n\n" {
		t.Errorf("read %q, %v, want the whole event", b[:n], err)
	}
	go func() {
		io.WriteString(w, "data: sec")
		w.CloseWithError(io.ErrUnexpectedEOF)
	}()
	rest, err := io.ReadAll(body)
	if string(rest) != "data: " || err != io.ErrUnexpectedEOF {
		t.Errorf("a break inside of a value gives %q, %v", rest, err)
	}
}

func BenchmarkScrubber(b *testing.B) {
	s := &hostSwap{}
	s.hideFrom(hostSplice{placeholder: standIn, value: sallyport.NewSecret(value)})
	data := bytes.Repeat([]byte("The quick brown fox jumps over the lazy dog. "), 1<<16)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		io.Copy(io.Discard, s.scrubBody(bytes.NewReader(data)))
	}
}
