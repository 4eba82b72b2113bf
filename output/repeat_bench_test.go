package output_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	sallyport "github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
)

// BenchmarkTextRepeats cleans texts that repeat the beginning of a value that
// repeats itself, in each form.
func BenchmarkTextRepeats(b *testing.B) {
	period := strings.Repeat("ab", 8<<10)
	c, err := output.New(&output.Options{Secrets: []sallyport.Secret{
		sallyport.NewSecret(period + "c"), sallyport.NewSecret(strings.Repeat(`\x`, 4000) + "y"),
	}})
	if err != nil {
		b.Fatal(err)
	}
	whole, err := output.New(&output.Options{Secrets: []sallyport.Secret{sallyport.NewSecret(period)}})
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range []struct {
		name, text string
		c          *output.Cleaner
	}{
		{"beginning", "ab", c},
		{"whole", "ab", whole},
		{"percent", "%61%62", c},
		{"escaped", `\u0061\u0062`, c},
		{"blanks", "a b ", c},
		{"lines", "ab\n", c},
		{"backslashes", `\\x`, c},
		{"hex", hex.EncodeToString([]byte("ab")), c},
		{"base64", base64.StdEncoding.EncodeToString([]byte("ababab")), c},
	} {
		b.Run(o.name, func(b *testing.B) {
			text := fillTo(o.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				o.c.Text(text)
			}
		})
	}
}
