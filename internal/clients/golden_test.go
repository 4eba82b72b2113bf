package clients_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sallyport/sallyport/internal/clients"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden edits a file of each client as people have them: testdata has the
// file before, with the entry, with the entry in the place of every server whose
// name does not begin with keep, and what was read. It brings the servers back,
// also after another change of the file.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, c := range clients.Known() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			golden := filepath.Join("testdata", c.Name+".txtar")
			archive, err := txtar.ParseFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			f := folders(t)
			path := c.Main(f)
			before := strings.ReplaceAll(string(archive.Files[0].Data), "WORK", f.Dir)
			file := readText(t, c, path, before, f)
			const entry = `{"args": ["serve", "--stdio"], "command": "/usr/bin/sallyport"}`
			connected, err := file.Connect([]byte(entry))
			if err != nil {
				t.Fatal(err)
			}
			taken, err := file.Rewrite([]byte(entry), func(s clients.Server) bool { return !strings.HasPrefix(s.Name, "keep") })
			if err != nil {
				t.Fatal(err)
			}
			got := *archive
			got.Files = []txtar.File{archive.Files[0]}
			for _, part := range []struct{ name, text string }{{"connected", string(connected)}, {"imported", string(taken)}, {"servers", describe(file)}} {
				got.Files = append(got.Files, txtar.File{Name: part.name, Data: []byte(strings.ReplaceAll(part.text, f.Dir, "WORK"))})
			}
			if *update {
				if err := os.WriteFile(golden, txtar.Format(&got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(&got))); diff != "" && !*update {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
			if again, err := readText(t, c, path, string(connected), f).Connect([]byte(entry)); err != nil || string(again) != string(connected) {
				t.Errorf("connected twice: %v (-once +twice):\n%s", err, cmp.Diff(string(connected), string(again)))
			}
			back, err := readText(t, c, path, string(taken), f).Restore(file)
			if err != nil || string(back) != before {
				t.Errorf("restored: %v (-want +got):\n%s", err, cmp.Diff(before, string(back)))
			}
			// What was changed since stays.
			since := strings.Replace(string(taken), "theme-1", "theme-2", 1)
			back, err = readText(t, c, path, since, f).Restore(file)
			if want := strings.Replace(before, "theme-1", "theme-2", 1); err != nil || !slices.Equal(sorted(string(back)), sorted(want)) {
				t.Errorf("restored after another change: %v (-want +got):\n%s", err, cmp.Diff(want, string(back)))
			}
		})
	}
}

func readText(t *testing.T, c clients.Client, path, text string, f *clients.Folders) *clients.File {
	t.Helper()
	write(t, path, text)
	file, err := clients.Read(c, path, f)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// sorted lists the lines of a text that say something.
func sorted(text string) []string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	slices.Sort(lines)
	return lines
}

// describe prints what was read, one line for each fact.
func describe(file *clients.File) string {
	var b strings.Builder
	for _, s := range file.Servers() {
		at := s.At[strings.LastIndexByte(s.At[:strings.LastIndexByte(s.At, ':')], ':')+1:]
		b.WriteString(s.Name + " at " + at + ":" + strings.TrimRight(" "+strings.Join(append([]string{s.Type, s.URL, s.Command}, s.Args...), " "), " "))
		for _, p := range append(slices.Clone(s.Env), s.Headers...) {
			b.WriteString(" " + p.Name + "=" + p.Value)
			if p.Variable != "" {
				b.WriteString("$" + p.Variable)
			}
		}
		for _, one := range []struct {
			is   bool
			text string
		}{{s.Off, "off"}, {s.Extension, "extension"}, {s.Project != "", "in " + s.Project}, {s.Cwd != "", "cwd " + s.Cwd}, {len(s.Unknown) > 0, "unknown " + strings.Join(s.Unknown, ",")}, {len(s.Faults) > 0, strings.Join(s.Faults, "; ")}} {
			if one.is {
				b.WriteString(", " + one.text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
