package output_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
)

func TestHoldsFindsWhatIsKnown(t *testing.T) {
	const value = "hunter2-zq9xy7w"
	c, err := output.New(&output.Options{Secrets: []sallyport.Secret{sallyport.NewSecret(value)}})
	if err != nil {
		t.Fatal(err)
	}
	binary := "\x89PNG\r\n\x1a\n\x00\xff\xfe\x80"
	for name, tt := range map[string]struct {
		data string
		want bool
	}{
		"nothing":               {"", false},
		"another value":         {binary + "hunter3-zq9xy7w", false},
		"the value":             {value, true},
		"in binary":             {binary + value + binary, true},
		"after half of a rune":  {"\xe2\x82" + value, true},
		"after an escape":       {"\x1b[" + value, true},
		"in base64":             {binary + base64.StdEncoding.EncodeToString([]byte("x"+value)), true},
		"in UTF-16":             {binary + wide(value, 1), true},
		"in UTF-16, big endian": {"\x00" + wide(value, 1), true},
		"in UTF-32":             {wide(value, 3), true},
		"in hex":                {binary + hex.EncodeToString([]byte(value)), true},
		"a known format":        {"ghp_" + strings.Repeat("a1B2", 9), false},
		"a template token":      {"<|im_start|>", false},
		"half of it":            {value[:8], false},
		"at the end of a MiB":   {strings.Repeat("\xff\x00", 1<<19) + value, true},
		"nothing in all of one": {strings.Repeat("\xff\x00", 1<<19), false},
	} {
		if got := c.Holds([]byte(tt.data)); got != tt.want {
			t.Errorf("%s: Holds() = %v, want %v", name, got, tt.want)
		}
	}
	none, err := output.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if none.Holds([]byte(value)) {
		t.Error("a Cleaner that knows nothing found something")
	}
}

// wide is ASCII with so many zeros after each character.
func wide(s string, zeros int) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(s[i:i+1] + strings.Repeat("\x00", zeros))
	}
	return b.String()
}

func BenchmarkHolds(b *testing.B) {
	c, err := output.New(&output.Options{Secrets: []sallyport.Secret{sallyport.NewSecret("hunter2-zq9xy7w")}})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 8<<20)
	for i := range data {
		data[i] = byte(i*i>>3) ^ byte(i>>11)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		c.Holds(data)
	}
}
