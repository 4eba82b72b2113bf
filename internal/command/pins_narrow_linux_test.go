package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestVersion2ByHandIsAWidening writes version 2 into a file whose role has no list for
// files, so that the declared ones would stand: the pinned server is not started until
// that is accepted. With a list of the role nothing widens, and the way back needs no pin.
func TestVersion2ByHandIsAWidening(t *testing.T) {
	t.Parallel()
	p := newPinnedFolder(t, "echo", "Says it.")
	const files = `["${workspace}/tools.json", "${workspace}/server.py"]`
	configure := func(version, list string) {
		t.Helper()
		p.configure("", "")
		text, err := os.ReadFile(filepath.Join(p.dir, app.ConfigName))
		if err != nil {
			t.Fatal(err)
		}
		p.write(app.ConfigName, strings.NewReplacer("{read: from-personality}", "{read: "+files+"}", `, fs_reach: {read: ["${workspace}"]}`, list, "version: 1", "version: "+version).Replace(string(text)))
	}
	configure("1", "")
	p.run(0, "lock", "accept", "notes", "--expect", p.expected("notes"))
	p.says(1, "version: 2 would change mcp__notes__* for personality ops\n       gets fs_reach.read "+p.dir+"/server.py, fs_reach.read "+p.dir+"/tools.json", "", "check")
	configure("2", `, fs_reach: {read: ["${workspace}"]}`)
	p.works()
	configure("2", "")
	p.says(1, "the server may reach something new", "version: 2 would change", "check")
	p.run(1, "call", "mcp__notes__echo", "{}")
	p.says(1, "the declared files stand in a role that has no list for files", "", "diff", "notes")
	p.run(0, "lock", "accept", "notes", "--expect", p.expected("notes"))
	p.works()
	p.says(0, "as declared: the personality lists this and has no list for files", "", "explain", "mcp__notes__echo")
	configure("1", `, fs_reach: {read: ["${workspace}"]}`)
	p.works()
}

// TestANarrowingByHandNeedsNoPin edits the declaration of a pinned server. The server
// goes on with less, and is not started with more: another folder, or one that
// leads out of the pinned one by a link.
func TestANarrowingByHandNeedsNoPin(t *testing.T) {
	t.Parallel()
	p := newPinnedFolder(t, "echo", "Says it.")
	declare := func(read string) {
		t.Helper()
		p.configure("", "")
		text, err := os.ReadFile(filepath.Join(p.dir, app.ConfigName))
		if err != nil {
			t.Fatal(err)
		}
		p.write(app.ConfigName, strings.Replace(string(text), "{read: from-personality}", "{read: "+read+"}", 1))
	}
	for _, name := range []string{"in", "in/deep"} {
		if err := os.Mkdir(filepath.Join(p.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/usr", filepath.Join(p.dir, "in", "link")); err != nil {
		t.Fatal(err)
	}
	whole := `["${workspace}/in", "${workspace}/tools.json", "${workspace}/server.py"]`
	declare(whole)
	p.says(1, "the server may reach something new", "", "check")
	p.run(0, "lock", "accept", "notes", "--expect", p.expected("notes"))
	for _, tt := range []struct{ read, why string }{
		{strings.Replace(whole, "/in", "/in/deep", 1), ""},
		{whole[:1] + strings.TrimPrefix(whole, `["${workspace}/in", `), ""},
		{strings.Replace(whole, "/in", "", 1), "the server may reach something new"},
		{strings.Replace(whole, "/in", "/in/link", 1), "${workspace}/in/link leads out of what is pinned by a link"},
		{strings.Replace(whole, "/in", "/in/../other", 1), "the server may reach something new"},
	} {
		declare(tt.read)
		if tt.why != "" {
			p.says(1, tt.why, "", "check")
		} else {
			p.works()
		}
	}
}
