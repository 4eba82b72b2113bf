package tomledit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/jsonc"
	"github.com/sallyport/sallyport/internal/tomledit"
)

const entry = `{"args": ["serve", "--stdio"], "command": "/usr/bin/sallyport"}`

const table = "[mcp_servers.sallyport]\ncommand = \"/usr/bin/sallyport\"\nargs = [\"serve\", \"--stdio\"]\n"

// TestPut replaces the servers a and "b c", in each form in which TOML writes
// them, and brings them back.
func TestPut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", table},
		{"a mark alone", "\ufeff", "\ufeff" + table},
		{"no server", "# mine\nmodel = \"x\"", "# mine\nmodel = \"x\"\n\n" + table},
		{"windows", "model = 1\r\n", "model = 1\r\n\r\n" + strings.ReplaceAll(table, "\n", "\r\n")},
		{
			"tables", "# top\nmodel = 'x' # why\n\n[mcp_servers.a] # its\ncommand = \"npx\"\n# inside\nargs = [ 'x',\n  \"[mcp_servers.z]\", # no header\n]\n\n[mcp_servers.a.env]\nK = '''\n[x]\n'''\n\n# kept\n[mcp_servers.keep]\ncommand = 'k'\n\n[mcp_servers.\"b c\"]\ncommand = 'b'\n\n[tui]\nx = 1\n",
			"# top\nmodel = 'x' # why\n\n" + table + "\n# kept\n[mcp_servers.keep]\ncommand = 'k'\n\n[tui]\nx = 1\n",
		},
		{
			"inline tables", "[mcp_servers]\na = { command = 'a', env = { K = 'v' } }\nkeep = {command='k'}\n\"b c\".command = 'b'\n\"b c\".args = []\n[x]\n",
			"[mcp_servers]\nsallyport = { command = \"/usr/bin/sallyport\", args = [\"serve\", \"--stdio\"] }\nkeep = {command='k'}\n[x]\n",
		},
		{
			"dotted keys", "mcp_servers.keep.command = 'k'\nmcp_servers.a.command = 'a' # x\nmcp_servers.a.args = []\nmodel = 1\n[x]\n",
			"mcp_servers.keep.command = 'k'\nmcp_servers.sallyport = { command = \"/usr/bin/sallyport\", args = [\"serve\", \"--stdio\"] }\nmodel = 1\n[x]\n",
		},
		{
			"dotted keys of others", "mcp_servers.keep.command = 'k'\nmodel = 1\n[x]\n",
			"mcp_servers.keep.command = 'k'\nmcp_servers.sallyport = { command = \"/usr/bin/sallyport\", args = [\"serve\", \"--stdio\"] }\nmodel = 1\n[x]\n",
		},
		{"apart", "[mcp_servers.a]\ncommand = 'a'\n\n[x]\ny = 1\n\n[mcp_servers.a.env]\nK = 'v'\n\n\n[z]\n", table + "\n[x]\ny = 1\n\n\n[z]\n"},
		{"its own", "[mcp_servers.sallyport]\ncommand = 'old'\n[mcp_servers.sallyport.env]\nK = 'v'\n# end", table + "# end"},
		{"a server's only key", "[mcp_servers]\n[mcp_servers.a]\n", "[mcp_servers]\n" + table},
	} {
		before, err := tomledit.Parse([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, err := before.Put("mcp_servers", []string{"a", "b c"}, "sallyport", []byte(entry))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, cmp.Diff(tt.want, string(got)))
			continue
		}
		if before.Root.Get("mcp_servers").Get("a") == nil {
			continue
		}
		after, err := tomledit.Parse(got)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if back, err := after.Restore("mcp_servers", "sallyport", before); err != nil || string(back) != tt.text {
			t.Errorf("%s, restored: %v (-want +got):\n%s", tt.name, err, cmp.Diff(tt.text, string(back)))
		}
	}
}

// TestRestoreKeepsWhatWasChangedSince changes other lines before it brings the
// servers back.
func TestRestoreKeepsWhatWasChangedSince(t *testing.T) {
	t.Parallel()
	older := parse(t, "model = 1\n\n[mcp_servers.a]\ncommand = 'a'\n\n[mcp_servers.keep]\ncommand = 'k'\n\n[mcp_servers.b]\ncommand = 'b'\n")
	now := parse(t, "model = 2 # since\n\n"+table+"\n[mcp_servers.keep]\ncommand = 'k'\n")
	got, err := now.Restore("mcp_servers", "sallyport", older)
	const want = "model = 2 # since\n\n[mcp_servers.a]\ncommand = 'a'\n\n[mcp_servers.b]\ncommand = 'b'\n\n[mcp_servers.keep]\ncommand = 'k'\n"
	if err != nil || string(got) != want {
		t.Errorf("Restore: %v (-want +got):\n%s", err, cmp.Diff(want, string(got)))
	}
	other := parse(t, "model = 2\n[mcp_servers]\nsallyport = { command = 'x' }\n")
	if got, err := other.Restore("mcp_servers", "sallyport", older); !errors.Is(err, tomledit.ErrForm) {
		t.Errorf("Restore of tables into braces = %q, %v", got, err)
	}
}

func TestPutRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"x = 1\nmcp_servers = { a = { command = 'a' } }\n", "2:1: mcp_servers is written in a form that is not edited here: write [mcp_servers.NAME] tables"},
		{"mcp_servers = 1\n", "1:1: mcp_servers is written"},
		{"[[mcp_servers]]\nx = 1\n", "mcp_servers"},
	} {
		got, err := parse(t, tt.text).Put("mcp_servers", []string{"a"}, "sallyport", []byte(entry))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Put into %q = %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
}

// TestParseRefuses reads texts that are broken, hostile or half written. No
// message repeats a value.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	for _, tt := range []struct{ text, want string }{
		{"a = 1\na = 2\n", "2:1: "},
		{"[a]\nx = 1\n[a]\n", "3:2: "},
		{"[a]\nb = {c = 1}\n[a.b]\n", "3:2: "},
		{"a = { b = 1, b = 2 }\n", `1:14: "b" is there twice`},
		{"ok = 1\n[mcp_servers.a]\ncommand = \"" + secret, "3:"},
		{"[mcp_servers.a\n", "1:15: "},
		{"key = \"" + secret + "\" \"" + secret + "\"\n", "1:25: "},
		{secret, "1:"},
		{"a = [1,", "1:7: "},
		{"a = \"\xff\"", "1:6: expected UTF-8"},
		{"a = \"\x00\"", "1:6: "},
		{strings.Repeat("a.", 100) + "a = 1", "1:1: nested deeper than 64 levels"},
		{"[" + strings.Repeat("a.", 100) + "a]", "1:2: nested deeper than 64 levels"},
		{"a = " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper than 64 levels"},
		{"a = " + strings.Repeat("[", 1_000_000), "nested"},
		{"a = " + strings.Repeat("{a=", 1_000_000), "nested"},
		{"#" + strings.Repeat(" ", tomledit.MaxBytes), "1:1: the file is larger than"},
	} {
		_, err := tomledit.Parse([]byte(tt.text))
		at, ok := errors.AsType[*jsonc.SyntaxError](err)
		if !ok || at.Line < 1 || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("Parse(%.60q) = %v, want %q", tt.text, err, tt.want)
		}
	}
}

func parse(t *testing.T, text string) *tomledit.Document {
	t.Helper()
	d, err := tomledit.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// FuzzPut checks of every text that is read and edited: the other tables say
// what they said, each line that is no server's stays, and a rollback brings the
// very text back.
func FuzzPut(f *testing.F) {
	for _, text := range []string{
		"", "x = 1", "[mcp_servers.a]\ncommand = 'a'\n[b]\n", "[mcp_servers]\na = { command = 'a' }\nb.c = 1\n",
		"mcp_servers.a.command = 'a'\n[mcp_servers.b]\n", "\ufeff[mcp_servers.a.env]\r\nK = \"\"\"\r\n[x]\r\n\"\"\"\r\n# c\r\n[[t]]\r\nx = 1979-05-27\r\n[[t]]\r\n[mcp_servers.a]\r\n",
		"[mcp_servers.a]\nx = 1\n\n\n[mcp_servers.sallyport]\n[mcp_servers.a.b]\n",
	} {
		f.Add(text, "a")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		before, err := tomledit.Parse([]byte(text))
		if err != nil {
			return
		}
		got, err := before.Put("mcp_servers", []string{name}, "sallyport", []byte(entry))
		if err != nil {
			return
		}
		after, err := tomledit.Parse(got)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		for _, m := range before.Root.Members {
			if m.Name != "mcp_servers" && !jsonc.Equal(m.Value, after.Root.Get(m.Name)) {
				t.Errorf("%q became %q: %q is another", text, got, m.Name)
			}
		}
		servers := after.Root.Get("mcp_servers")
		if servers.Get("sallyport").Get("command").Text != "/usr/bin/sallyport" || name != "sallyport" && servers.Get(name) != nil {
			t.Errorf("%q became %q", text, got)
		}
		if before.Root.Get("mcp_servers").Get(name) == nil || before.Root.Get("mcp_servers").Get("sallyport") != nil {
			return
		}
		if back, err := after.Restore("mcp_servers", "sallyport", before); err != nil || string(back) != text {
			t.Errorf("%q became %q and then %q, %v", text, got, back, err)
		}
	})
}
