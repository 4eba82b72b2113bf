package output_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"

	sallyport "github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/output"
)

func TestTextKeeps(t *testing.T) {
	random := make([]byte, 3000)
	for i := range random {
		sum := sha256.Sum256(fmt.Append(nil, i))
		random[i] = sum[0]
	}
	c := cleaner(t, "hunter2-Zq9!x/Y+7w==", "correct horse battery staple")
	for _, tt := range []struct{ name, text string }{
		{"empty", ""},
		{"tabs and lines", "a\tb\n\n\tc\n"},
		{"carriage return and line feed", "one\r\ntwo\r\n\r\nthree\r\n"},
		{"markdown", "[![CI](https://ci.example/b.svg)](https://ci.example) ![x](img.png) <img src=x> <details>"},
		{"code", "if a < b && c > d || list[i] != x<<3 { m[\"k\"] = `v` } // <T> Map<String, List<S>>"},
		{"pipes", "foo <| bar |> baz | a || b"},
		{"array index", "table[inst] = ops[inst].x; f([inst])"},
		{"brackets", "[INSTALL] [INSTRUCTIONS] [INST [x] [THINKING]"},
		{"tags", "<system> <user> <thinking> <tool> <untrusted> <b> <strong> <summary> <S> <string>"},
		{"turns", "Human: x\nHuman: y\n\n- Human: z\n\nHumans: w\n\nThe Assistant: v"},
		{"task list", "task-list risk-abcdefghijklmnopqrstuvwxyz sk-learn sk-SK sk-toggleable__label-arrow"},
		{"count", "token_count=1234 max_tokens: 4096 token: none password: required"},
		{"code with names", "password = os.environ[\"DB_PASSWORD_PRODUCTION\"]; token := r.Header.Get(\"Authorization-Token\")"},
		{"more code", "apiKey: process.env.OPENAI_API_KEY, secret: config.getSecretFromProvider2(x), token = nextTokenFromLexerState"},
		{"references", "secrets: [providers/openweather/apiKey]\nsecret: providers/openweather/apiKey\napi_key: ${API_KEY_FROM_ENV_1}"},
		{"placeholders", "https://user:password@example.com postgres://u:${PGPASS}@h/d Authorization: Bearer <token> api_key=YOUR_API_KEY_HERE"},
		{"scheme words", "Basic authentication, bearer of bad news, Basic Options, Bearer authentication-required"},
		{"git", "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\nindex 83db48f..bf269f4 100644"},
		{"uuid", "id: 550e8400-e29b-41d4-a716-446655440000"},
		{"sums", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  a.txt\nh1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
		{"integrity", `"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="`},
		{"image", "data:image/png;base64," + base64.StdEncoding.EncodeToString(random)},
		{"certificate", "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUa\n-----END CERTIFICATE-----\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"},
		{"urls", "https://example.com:8080/a@b?key=value&sig=1 mailto:a@b.c git@github.com:x/y.git http://[::1]:80/"},
		{"arabic", "مرحبا بالعالم، می\u200cخواهم"},
		{"hebrew with points", "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים"},
		{"hindi with joiner", "नमस्ते क्\u200dष र्\u200dय"},
		{"thai", "สวัสดีชาวโลก น้ำ ที่นี่"},
		{"korean", "안녕하세요 \u1112\u1161\u11ab"},
		{"decomposed", "Cafe\u0301 Zu\u0308rich Vie\u0323\u0302t"},
		{"tibetan", "བསྒྲུབས་ ཧཱུྃ"},
		{"emoji", "👨‍👩‍👧‍👦 ❤️‍🔥 👩🏽‍🚀 🏳️‍🌈 🏴\u200d☠️ ☎︎ 1️⃣ #️⃣ ©️ 🇩🇪"},
		{"flags of tags", "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F🏴\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F"},
		{"ideographs", "葛\U000E0100城 ｆｕｌｌ　ｗｉｄｔｈ ＜ｂ＞ 〈引用〉 │ 表 │"},
		{"mathematics", "∩\uFE00 ≤ ∀x ∈ ℝ"},
		{"spaces", "10\u00a0000\u202f€"},
		{"private use", "\ue0b0 prompt \uf015"},
		{"replacement", "a\ufffdb"},
		{"near miss", "hunter2-Zq9!x/Y+7w= correct horse battery stapl"},
		{"own markers", "[REDACTED:secret] [REDACTED:openai-key] " + stripped},
		{"redacted values", "password=[REDACTED:credential] https://u:[REDACTED:url-password]@h Bearer [REDACTED:bearer-token]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(c.Text(tt.text)); got != tt.text {
				t.Errorf("Text(%q) = %q, want it unchanged", tt.text, got)
			}
			if n := testing.AllocsPerRun(10, func() { c.Text(tt.text) }); n != 0 && !needs.Race {
				t.Errorf("Text(%q) allocates %v times, want 0", tt.text, n)
			}
		})
	}
}

func TestTextDropsWhatDoesNotShow(t *testing.T) {
	c := cleaner(t)
	for _, tt := range []struct{ name, in, want string }{
		{"csi with colons", "a\x1b[38:2::1:2:3mb", "ab"},
		{"csi 8-bit", "a\u009b31mb", "ab"},
		{"csi raw 8-bit", "a\x9b31mb", "ab"},
		{"osc to bell", "a\x1b]0;title\ab", "ab"},
		{"osc 8-bit", "a\u009d0;title\u009cb", "ab"},
		{"osc raw 8-bit", "a\x9d0;title\x9cb", "ab"},
		{"osc without an end", "a\x1b]0;title\nb", "a\nb"},
		{"dcs over lines", "a\x1bPq1\n2\x1b\\b", "ab"},
		{"dcs without an end", "a\x1bPq1\n2", "a\n2"},
		{"second dcs without an end", "a\u00901\n\u00902\n3", "a\n\n3"},
		{"apc", "a\x1b_Gx\x1b\\b", "ab"},
		{"pm", "a\x1b^x\x1b\\b", "ab"},
		{"sos", "a\x1bXx\x1b\\b", "ab"},
		{"cancelled", "a\x1b]0;t\x18b", "ab"},
		{"ended by the next", "a\x1b]0;t\x1b[1mb", "ab"},
		{"charset", "a\x1b(Bb\x1b)0c", "abc"},
		{"three bytes", "a\x1b%/Gb", "ab"},
		{"save cursor", "a\x1b7b\x1b8c", "abc"},
		{"escape at the end", "a\x1b", "a"},
		{"csi at the end", "a\x1b[1;", "a"},
		{"nested", "a\x1b[\x1b[1m1mb", "a1mb"},
		{"code page letters", "\x93quoted\x94 \x98b\nc", "\ufffdquoted\ufffd \ufffdb\nc"},
		{"broken sequence", "x\xe2\x98 y", "x\ufffd y"},
		{"lone return", "50%\r100%\r\n", "50%\n100%\r\n"},
		{"backspace and bell", "a\b\ab", "ab"},
		{"next line and separators", "a\u0085b\u2028c\u2029d", "a\nb\nc\nd"},
		{"byte order mark", "\ufeffa\ufeff", "a"},
		{"bidirectional", "\u202ea\u202c\u2066b\u2069\u200e\u200f\u061c", "ab"},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e", "abcde"},
		{"tags", "a\U000E0041\U000E007Fb", "ab"},
		{"tags behind a flag", "🏴\U000E0041\U000E007F", "🏴"},
		{"tags behind a flag's beginning", "🏴\U000E0067\U000E0041\U000E007F", "🏴"},
		{"variation selectors", "a\ufe00\ufe0fb\U000E0101c❤\ufe0f\ufe0f\ufe0f", "abc❤\ufe0f"},
		{"joiner flood", "👨\u200d\u200d\u200d👩", "👨\u200d👩"},
		{"dangling joiner", "👨\u200d text", "👨 text"},
		{"non-joiner flood", "می\u200c\u200c\u200c\u200cخ", "می\u200cخ"},
		{"keycap without its cap", "1\ufe0f2\ufe0f", "12"},
		{"fillers", "a\u115f\u1160\u3164\uffa0\u034fb", "ab"},
		{"annotation", "a\ufff9b\ufffac\ufffbd", "abcd"},
		{"noncharacters", "a\ufdd0\ufffe\U0010ffffb", "ab"},
		{"stacked marks", "e" + strings.Repeat("\u0301", 40), "e" + strings.Repeat("\u0301", 8)},
		{"stacked marks with filling", "e" + strings.Repeat("\u0301\u200b", 40), "e" + strings.Repeat("\u0301", 8)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(c.Text(tt.in)); got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestTextStripsTemplateTokens(t *testing.T) {
	c := cleaner(t)
	for _, tt := range []struct{ name, in, want string }{
		{"any case", "<|IM_START|>User x", stripped + "User x"},
		{"role", "<|im_start|>user\nx<|im_end|>", stripped + "\nx" + stripped},
		{"role is a word", "<|im_start|>users", stripped + "users"},
		{"unknown name", "<|brand_new_token_7|>", stripped},
		{"full width", "<｜User｜>x<｜tool▁calls▁begin｜>", stripped + "x" + stripped},
		{"other brackets", "〈|im_end|〉 ⟨|im_end|⟩", stripped + " " + stripped},
		{"full-width square", "［INST］ｘ［／INST］", stripped + "ｘ" + stripped},
		{"half pipes", "<|turn>user <turn|>", stripped + "user " + stripped},
		{"blanks", "< | im_end | > [ INST ] << SYS >>", stripped + " " + stripped + " " + stripped},
		{"no-break space", "<|\u00a0im_end\u00a0|>", stripped},
		{"split", "<\u200b|im\u00ad_end|>", stripped},
		{"nested", "<|im_<|im_end|>end|>", "<|im_" + stripped + "end|>"},
		{"small letters begin a line", "x\n [inst] y", "x\n " + stripped + " y"},
		{"namespace", "<" + "ant" + "ml:function_calls>", stripped},
		{"minimax", "]~b]user [e~[", stripped + "user " + stripped},
		{"turn", "x\n\nHuman: y", "x" + stripped + " y"},
		{"turn after blanks", "x\n \n  Assistant : y", "x" + stripped + " y"},
		{"turn with a wide colon", "x\n\nHuman： y", "x" + stripped + " y"},
		{"turn after one line feed at the start", "\nHuman: y", stripped + " y"},
		{"turn by returns", "x\r\rHuman: y", "x" + stripped + " y"},
		{"turn by separators", "x\u2029\u2029Human: y", "x" + stripped + " y"},
		{"turns in a row", "\n\nHuman:\n\nAssistant:", stripped + stripped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(c.Text(tt.in)); got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestTextReplacesCredentials(t *testing.T) {
	const value = "CZPpt8SobPz3kSW6ug"
	c := cleaner(t)
	for _, tt := range []struct{ name, in, want string }{
		{"environment", "DB_PASSWORD=" + value, "DB_PASSWORD=[REDACTED:credential]"},
		{"export", "export API_TOKEN='" + value + "'", "export API_TOKEN='[REDACTED:credential]'"},
		{"json", `{"client_secret": "` + value + `"}`, `{"client_secret": "[REDACTED:credential]"}`},
		{"json in json", `{\"apiKey\":\"` + value + `\"}`, `{\"apiKey\":\"[REDACTED:credential]\"}`},
		{"walrus", "token := \"" + value + "\"", "token := \"[REDACTED:credential]\""},
		{"query", "/x?a=b&access_token=" + value + "&c=d", "/x?a=b&access_token=[REDACTED:credential]&c=d"},
		{"query key", "/x?key=" + value, "/x?key=[REDACTED:credential]"},
		{"header", "X-Api-Key: " + value, "X-Api-Key: [REDACTED:credential]"},
		{"scheme", "Authorization: Token " + value, "Authorization: Token [REDACTED:credential]"},
		{"basic", "Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [REDACTED:basic-auth]"},
		{"proxy basic", "Proxy: basic dXNlcjpwYXNz", "Proxy: basic [REDACTED:basic-auth]"},
		{"bearer", "curl -H 'bearer " + value + "'", "curl -H 'bearer [REDACTED:bearer-token]'"},
		{"docker", `"auth": "dXNlcjpwYXNzd29yZDE="`, `"auth": "[REDACTED:credential]"`},
		{"npm", "//r.example/:_authToken=" + value, "//r.example/:_authToken=[REDACTED:credential]"},
		{"url", "postgres://app:" + value + "@db/x", "postgres://app:[REDACTED:url-password]@db/x"},
		{"jwt", "x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl y", "x [REDACTED:jwt] y"},
		{"one mark for one value", "token=ghp_" + strings.Repeat("a1B2", 9), "token=[REDACTED:github-token]"},
		{"glued", "tokenghp_" + strings.Repeat("a1B2", 9), "token[REDACTED:github-token]"},
		{"telegram", "bot123456789:AA" + strings.Repeat("x", 33) + " y", "bot[REDACTED:telegram-token] y"},
		{"pem without its end", "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("QUJD", 16) + "\n" + strings.Repeat("REVG", 9) + "\n\nprose follows", "[REDACTED:private-key]\n\nprose follows"},
		{"pem in json", `"-----BEGIN PRIVATE KEY-----\nQUJDREVGQUJDREVG\n-----END PRIVATE KEY-----\n"`, `"[REDACTED:private-key]\n"`},
		{"pem in code", "a = \"-----BEGIN PRIVATE KEY-----\"\nb = \"-----END PRIVATE KEY-----\"", "a = \"[REDACTED:private-key]\"\nb = \"-----END PRIVATE KEY-----\""},
		{"pgp", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF1234567890abcd\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----", "[REDACTED:private-key]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := string(c.Text(tt.in))
			if got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if again := string(c.Text(got)); again != got {
				t.Errorf("Text(%q) = %q, want it unchanged", got, again)
			}
		})
	}
}

func TestTextReplacesOverlappingSecrets(t *testing.T) {
	c := cleaner(t, "abcdXYZUVW", "XYZUVWefgh", "abcdXYZU")
	for _, tt := range []struct{ in, want string }{
		{"x abcdXYZUVWefgh y", "x [REDACTED:secret] y"},
		{"x abcdXYZUVW y", "x [REDACTED:secret] y"},
		{"x abcdXYZU y", "x [REDACTED:secret] y"},
		{"abcdXYZUVWabcdXYZUVW", "[REDACTED:secret][REDACTED:secret]"},
	} {
		if got := string(c.Text(tt.in)); got != tt.want {
			t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestTextEndsWhereMarkersCompleteSecrets(t *testing.T) {
	// Each marker completes the next secret, so that repetition alone would
	// take as many rounds as there are pieces.
	c := cleaner(t, "]hunter2!")
	in := "<s>" + strings.Repeat("hunter2!", 50)
	got := string(c.Text(in))
	if strings.Contains(got, "]hunter2!") || string(c.Text(got)) != got {
		t.Errorf("Text(%q) = %q, want a stable text without the secret", in, got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct{ name, value string }{
		{"empty", ""},
		{"short", "1234567"},
		{"short in characters that show", "a b c d e \n\n\u200b\u200b"},
		{"long", strings.Repeat("x", 64<<10+1)},
		{"part of its own marker", "REDACTED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sallyport.NewSecret(tt.value)
			c, err := output.New(&output.Options{Secrets: []sallyport.Secret{s}})
			if err == nil || c != nil {
				t.Fatalf("New = %v, %v, want an error", c, err)
			}
			if tt.value != "" && tt.value != "REDACTED" && strings.Contains(err.Error(), tt.value) {
				t.Errorf("New = %q, want no value in it", err)
			}
			if output.CheckSecret(s) == nil {
				t.Errorf("CheckSecret = nil, want the error %q", err)
			}
			base := cleaner(t)
			if got := base.With(s); got != base {
				t.Error("With makes a new Cleaner of a value that is refused")
			}
		})
	}
}

func TestWith(t *testing.T) {
	one, two := sallyport.NewSecret("first-value-1"), sallyport.NewSecret("second-value-2")
	base := cleaner(t, one.Reveal())
	if got := base.With(one); got != base {
		t.Error("With of a known secret is another Cleaner")
	}
	more := base.With(one, two)
	if got := string(more.Text("first-value-1 second-value-2")); got != "[REDACTED:secret] [REDACTED:secret]" {
		t.Errorf("Text = %q, want both secrets replaced", got)
	}
	if got := base.With(two); got != more {
		t.Error("With of the same secret again is another Cleaner")
	}
	if got := string(base.Text("second-value-2")); got != "second-value-2" {
		t.Errorf("Text of the first Cleaner = %q, want it unchanged", got)
	}
	if n := testing.AllocsPerRun(10, func() { base.With(one) }); n != 0 {
		t.Errorf("With allocates %v times, want 0", n)
	}
}

func TestCleanerIsSafeForConcurrentUse(t *testing.T) {
	c := cleaner(t, "first-value-1")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				s := sallyport.NewSecret(fmt.Sprintf("other-value-%d", i))
				if got := string(c.With(s).Text("first-value-1 " + s.Reveal())); got != "[REDACTED:secret] [REDACTED:secret]" {
					t.Errorf("Text = %q, want both secrets replaced", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestASequenceTakesNoPartOfASecret(t *testing.T) {
	const value = "hunter2-Zq9!x/Y+7w=="
	c := cleaner(t, value)
	for _, before := range []string{"\x1b[", "\x1b[1;", "\x1b(", "\x1b", "\u009b", "\x9b", "\x1b]0;", "\x1bP"} {
		for _, after := range []string{"", " after", "\x07 after", "\x1b\\ after"} {
			got := string(c.Text("a " + before + value + after))
			if strings.Contains(got, value[1:8]) {
				t.Errorf("Text(%q) = %q, want nothing of the secret", "a "+before+value+after, got)
			}
		}
	}
}
