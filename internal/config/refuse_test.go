package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

func TestParseRefusesText(t *testing.T) {
	big := "version: 1\n# " + strings.Repeat("x", maxFileBytes)
	tests := []struct{ name, file, text, want string }{
		{"too large", "s.yaml", big, "s.yaml:1:1: the file is larger than 1048576 bytes"},
		{"not utf-8", "s.yaml", "version: 1\nworkspace: \"é\xff\"\n", "s.yaml:2:14: byte 0xff is not UTF-8"},
		{"utf-16", "s.yaml", "\xff\xfev\x00", "s.yaml:1:1: the file is UTF-16: expected UTF-8"},
		{"control character", "s.yaml", "version: 1\n# \x1b[31m\n", "s.yaml:2:3: control character U+001B"},
		{"nul", "s.yaml", "version: 1\x00\n", "s.yaml:1:11: control character U+0000"},
		{"bidi override", "s.yaml", "version: 1\n# \u202eevil\n", "s.yaml:2:3: bidirectional control character U+202E"},
		{"lone carriage return", "s.yaml", "version: 1\r# x\n", "s.yaml:1:11: a carriage return without a line feed"},
		{"escaped control character", "s.yaml", "version: 1\nworkspace: \"a\\x1bb\"\n", "s.yaml:2:12: workspace: control character U+001B"},
		{"escaped nul in json", "s.json", `{"version": 1, "workspace": "a\u0000b"}`, "s.json:1:29: workspace: control character U+0000"},
		{"lone surrogate in json", "s.json", `{"version": 1, "workspace": "\ud800"}`, "s.json:1:29: workspace: the replacement character U+FFFD: text was lost here"},
		{"deep brackets", "s.yaml", "version: 1\nx: " + strings.Repeat("[", 100_000), "s.yaml:2:68: nested too deep: at most 64 brackets"},
		{"deep dashes", "s.yaml", strings.Repeat("- ", 100_000), "s.yaml:1:257: nested too deep: keys and list items begin before column 256"},
		{"deep json", "s.json", strings.Repeat("[", 70) + strings.Repeat("]", 70), "s.json:1:65: nested too deep: at most 64 brackets"},
		{"tab in plain text", "s.yaml", "version: 1\nworkspace: a\tb\n", `s.yaml:2:13: a tab: expected spaces, or "\t" in double quotes`},
		{"tab behind a dash", "s.yaml", "version: 1\nworkspace:\n  -\ta\n", "s.yaml:3:4: a tab in the indentation: expected spaces"},
		{"text that the library reads at another place", "s.yaml", "version: 1\nworkspace: a\n  -b\n", "s.yaml:3:5: this text cannot be read as it stands: write it on one line in double quotes"},
		{"many keys", "s.yaml", strings.Repeat("a: 1\n", 30_000), "s.yaml:20001:2: more than 20000 keys in one file"},
		{"many blank lines", "s.yaml", "version: |" + strings.Repeat("\n", 100_000), "s.yaml:258:1: more than 256 blank lines in a row"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.file, []byte(tt.text), testOptions())
			fs, ok := errors.AsType[yamldoc.Faults](err)
			if !ok || fs[0].Error() != tt.want {
				t.Errorf("Parse error = %.300v, want %s", err, tt.want)
			}
		})
	}
}

// TestParseIsBounded feeds what is costly for the YAML library. The bounds
// keep each text to seconds; without them the last one runs into the time
// limit of the test binary.
func TestParseIsBounded(t *testing.T) {
	for _, text := range []string{
		"a: &a [1]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
		strings.Repeat("? ", 100_000),
		"a: |\n" + strings.Repeat(strings.Repeat("\n", 256)+"  x\n", 200),
		"a: |\n" + strings.Repeat("\n", maxFileBytes-10),
		"a: [" + strings.Repeat("é,", maxFileBytes/30) + "]",
	} {
		if _, err := Parse("s.yaml", []byte(text), testOptions()); err == nil {
			t.Errorf("Parse(%.20q…) succeeded, want faults", text)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	tests := []struct{ name, file, text string }{
		{"byte order mark", "s.yaml", "\ufeffversion: 1\n"},
		{"windows line ends", "s.yaml", "version: 1\r\npersonalities:\r\n  a:\r\n    toolset: [x]\r\n"},
		{"document markers", "s.yaml", "---\nversion: 1\n...\n"},
		{"json with tabs", "s.json", "{\n\t\"version\": 1\n}"},
		{"json under another name", "s.yaml", "{\n\t\"version\": 1\n}"},
		{"both spellings beside each other", "s.yaml", "version: 1\nactions: [{id: a}]\nlayers: {capabilities: {actions: [{id: b}], security: {requireAuth: false}}}\nprincipals: {ci: {}}\nsecurity: {default_permissions: [a:b]}\n"},
		{"nothing by name", "s.yaml", "version: 1\nprincipals: {}\ndatabases: {}\nmail: {}\nactions: []\n"},
		{"state in memory", "s.yaml", "version: 1\nstate: memory\n"},
		{"quoted merge key is a name like any other", "s.yaml", "version: 1\npersonalities: {'a-_9': {description: '<< &x *y !z'}}\n"},
		{"folded text", "s.yaml", "version: 1\npersonalities:\n  a:\n    description: >-\n      two\n      lines\n"},
		{"texts in every style", "s.yaml", "version: 1\npersonalities:\n  a: {description: 'it''s  one'}\n  b: {description: \"a \\\"b\\\"  c\"}\n  c:\n    description: two\n      lines\n  d: {description: \"two\n      lines\"}\n  e:\n    description: |\n      two\n\n       lines  x\n  f: {description: ''}\n  g: {description: ' a '}\n"},
		{"tabs before comments", "s.yaml", "#\tx\nversion: 1\t# x\n\t\nworkspace: a # x\ty\npersonalities:\t\n  a: {}\n"},
		{"blanks at line ends", "s.yaml", "version: 1  \nworkspace: a b  \n  c   \npersonalities: \n  a: {toolset: [x  , y ]  }  # z  \n"},
		{"colons in a list inside braces", "s.yaml", "version: 1\npersonalities: {a: {fs_reach: {read: [a:b, a:b:c, 1:2, a:8, g:true, a:b c , a:/x,\n  x:y, d]}}}\n"},
		{"star in a folder's name", "s.yaml", "version: 1\npersonalities: {a: {fs_reach: {read: [/data/a*b]}}}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse(tt.file, []byte(tt.text), testOptions()); err != nil {
				t.Errorf("Parse error = %v, want none", err)
			}
		})
	}
}

func TestStateIsRefused(t *testing.T) {
	tests := []struct{ name, state, want string }{
		{"postgres", "postgres://ann:hunter2@db/x", "not supported yet: state: postgres"},
		{"postgresql", "postgresql://ann:hunter2@db/x", "not supported yet: state: postgres"},
		{"another url", "mysql://ann:hunter2@db/x", "state: expected sqlite:PATH or memory"},
		{"path alone", "state.db", "state: expected sqlite:PATH or memory"},
		{"no path", "sqlite:", "state: an empty path"},
		{"url of a file", "sqlite:///var/x.db", "state: expected a path after sqlite:, not a URL"},
		{"parameters", "sqlite:x.db?mode=memory", "state: expected a path after sqlite:, not a URL"},
		{"memory of sqlite", "sqlite::memory:", "state: write memory to keep state in memory"},
		{"variable", "sqlite:${hme}/x.db", `state: unknown variable "${hme}"; did you mean ${home}?`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(fmt.Sprintf("version: 1\nstate: %q\n", tt.state)), testOptions())
			fs, ok := errors.AsType[yamldoc.Faults](err)
			if !ok || len(fs) != 1 || fs[0].Message != tt.want {
				t.Fatalf("Parse(state: %s) error = %v, want %s", tt.state, err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error shows a password:\n%v", err)
			}
		})
	}
}

// TestSnippetsHideSecrets puts what looks like a secret where people put
// secrets by mistake, next to faults of all kinds.
func TestSnippetsHideSecrets(t *testing.T) {
	for _, line := range []string{
		`password: hunter2`,
		`zzz: {password: hunter2, token: hunter2}`,
		`{version: 1, "password": "hunter2", zzz: 1, workspace: []}`,
		`secrets: [{env: "hunter2 "}, {envv: hunter2}, {dir: 1}, 1]`,
		`principals: {ci: {token_sha256: hunter2}}`,
		`{"databases": {"a": "hunter2"}, "workspace": 1, "zzz": 1}`,
		`{state: "redis://:hunter2@h", workspace: 1}`,
		`{workspace: 1, state: "redis://:hunter2@h"}`,
		`{workspace: 1, state: "mysql://ann:hunter2@h/x", zzz: hunter2}`,
	} {
		_, err := Parse("s.yaml", []byte(line), testOptions())
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Parse(%s) error = %v, want faults without the secret", line, err)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 2 * yamldoc.MaxFaults {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	_, err := Parse("s.yaml", []byte(b.String()), testOptions())
	fs, ok := errors.AsType[yamldoc.Faults](err)
	if !ok || len(fs) != yamldoc.MaxFaults+1 || fs[yamldoc.MaxFaults].Message != "only the first 1000 faults are shown" {
		t.Fatalf("Parse gives %d faults, the last %v, want %d", len(fs), fs[len(fs)-1], yamldoc.MaxFaults+1)
	}
	if n := strings.Count(err.Error(), " | ") / 2; n != yamldoc.MaxSnippets {
		t.Errorf("error shows %d source lines, want %d", n, yamldoc.MaxSnippets)
	}
}

// TestUnjudgedRowIsRefused holds the walk to refuse what it has no rule for.
func TestUnjudgedRowIsRefused(t *testing.T) {
	rows := append(allKeys(), row{KeyDoc: KeyDoc{Key: "novel", Type: "novel", Supported: true}})
	_, err := parseWith(rows, "s.yaml", []byte("version: 1\nnovel: 1\n"), testOptions())
	if diff := cmp.Diff([]string{"s.yaml:2:1: not supported yet: novel"}, faultLines(err)); diff != "" {
		t.Errorf("faults differ (-want +got):\n%s", diff)
	}
}

func faultLines(err error) []string {
	fs, _ := errors.AsType[yamldoc.Faults](err)
	var lines []string
	for _, f := range fs {
		lines = append(lines, f.Error())
	}
	return lines
}

// TestNamesAreBounded feeds more names and dangling ones than a person writes;
// the work for each must not grow with their number.
func TestNamesAreBounded(t *testing.T) {
	var names, refs strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&names, `"p%d":{},`, i)
		fmt.Fprintf(&refs, `"x%d",`, i)
	}
	tests := []struct{ name, text, want string }{
		{"names", `{"version": 1, "principals": {` + names.String() + `"z": {}}}`, "principals: expected at most 1000 names in all files"},
		{"unknown", `{"version": 1, "principals": {"a": {` + names.String() + `"z": {}}}}`, `unknown key "p0": expected token_sha256, expires, permissions, personalities, person, tools, arguments or budget`},
		{"dangling", `{"version": 1, "principals": {"a": {"personalities": [` + refs.String() + `"z"]}}}`, `principals.a.personalities.0: "x0" is not defined under personalities: expected default`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("s.json", []byte(tt.text), testOptions())
			fs, ok := errors.AsType[yamldoc.Faults](err)
			if !ok || fs[0].Message != tt.want {
				t.Errorf("Parse error = %.300v, want %s", err, tt.want)
			}
		})
	}
}

// TestPrivateAddressesAreAddresses refuses entries that would let through more than
// one private address.
func TestPrivateAddressesAreAddresses(t *testing.T) {
	for entry, want := range map[string]string{
		"127.0.0.1:8080": "", "[::1]:8080": "", "10.1.2.3:80": "", "[fd12::1]:443": "",
		"127.0.0.1": "with a port", "localhost:8080": "with a port", "127.0.0.1:0": "with a port", "127.0.0.0/8": "with a port", "*:8080": "with a port",
		"8.8.8.8:53": "is not a loopback", "169.254.169.254:80": "is not a loopback", "0.0.0.0:80": "is not a loopback",
		"[::ffff:127.0.0.1]:80": "is not a loopback", "[fe80::1%eth0]:80": "is not a loopback", "100.64.0.1:80": "is not a loopback",
	} {
		text := "version: 1\npersonalities: {r: {safety: {network: {allow_private: [\"" + entry + "\"]}}}}\n"
		_, err := Parse("sallyport.yaml", []byte(text), testOptions())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
}
