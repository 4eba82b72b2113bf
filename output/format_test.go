package output

import (
	"strings"
	"testing"
)

// sample returns a token of a format, as short as it may be.
func sample(f *tokenFormat) string {
	bodies := map[alphabet]string{
		alnum: "a1B2", wordy: "a1B_", dashed: "a1B-", padded: "a1B/", dotted: "a1B.",
		hexadecimal: "a1b2", digits: "1212", capitals: "A1B2",
	}
	body := strings.Repeat(bodies[f.body], f.least/4+1)[:f.least]
	switch f.prefix {
	case ":AA":
		return "123456789" + f.prefix + body
	case "-us":
		return strings.Repeat("a1b2", 8) + f.prefix + body
	case ".atlasv1.":
		return "a1B2c3D4e5F6g7" + f.prefix + body
	}
	return f.prefix + body
}

func TestFormatsAreFound(t *testing.T) {
	c, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range formats {
		f := &formats[i]
		token := sample(f)
		if got, want := c.cleanText("x "+token+" y"), "x "+f.marker+" y"; got != want {
			t.Errorf("Text(%q) = %q, want %q", "x "+token+" y", got, want)
		}
		short := "x " + token[:len(token)-1] + " y"
		if f.prefix == "-us" {
			short = "x " + token[1:] + " y"
		}
		if got := c.cleanText(short); got != short {
			t.Errorf("Text(%q) = %q, want it unchanged", short, got)
		}
		if !strings.HasPrefix(f.marker, "[REDACTED:") || !strings.HasSuffix(f.marker, "]") {
			t.Errorf("marker %q, want [REDACTED:kind]", f.marker)
		}
	}
}

func TestNamesAreFound(t *testing.T) {
	c, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	const value = "CZPpt8SobPz3kSW6ug"
	for _, n := range names {
		for _, sep := range []string{"=", ": ", " = ", "\": \"", "' => '", `\":\"`} {
			in := n.text + sep + value
			if got, want := c.cleanText(in), n.text+sep+markValue.String(); got != want {
				t.Errorf("Text(%q) = %q, want %q", in, got, want)
			}
		}
	}
}

func TestTagNamesAreFound(t *testing.T) {
	c, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for name, known := range tagNames {
		if known&piped != 0 {
			tokens = append(tokens, "<|"+name+"|>", "< | "+name+" | >")
		}
		if known&(plainTag|exactTag) != 0 {
			tokens = append(tokens, "<"+name+">", "</"+name+">")
		}
		if known&plainTag != 0 {
			tokens = append(tokens, "< / "+strings.ToUpper(name)+" >")
		}
		if known&halfPiped != 0 {
			tokens = append(tokens, "<|"+name+">", "<"+name+"|>")
		}
	}
	for name, known := range tagNames {
		if known&attrTag != 0 {
			tokens = append(tokens, "<"+name+">", "</"+name+">", "<"+name+` a="b">`, "< "+strings.ToUpper(name)+"\na='b' >")
		}
		if known&valueTag != 0 {
			tokens = append(tokens, "<"+name+"=x>")
		}
	}
	for name := range bracketNames {
		tokens = append(tokens, "["+strings.ToUpper(name)+"]", "[ "+strings.ToUpper(name)+" ]")
	}
	tokens = append(tokens, literals[:]...)
	for _, token := range tokens {
		if got, want := c.cleanText("x"+token+"y"), "x"+markTemplate.String()+"y"; got != want {
			t.Errorf("Text(%q) = %q, want %q", "x"+token+"y", got, want)
		}
	}
}
