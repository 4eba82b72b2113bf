package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/jsonc"
	"github.com/sallyport/sallyport/internal/tomledit"
)

// maxServers bounds the servers of one file: ten times what people have.
const maxServers = 256

// File is the settings of a client.
type File struct {
	// Client is whose they are.
	Client Client
	// Path is where they are, links followed.
	Path string
	// Text is what was read; nil when there is no such file.
	Text []byte
	// Sections are the places in it that hold servers for the folder that was
	// asked for.
	Sections []Section
	// Elsewhere lists other folders for which it has servers.
	Elsewhere []string

	root *jsonc.Value
	// toml is the text of a client that writes TOML.
	toml *tomledit.Document
}

// Section is an object of servers in a file.
type Section struct {
	// Path names the members that lead to it.
	Path []string
	// Servers are in the order of the file, without the entry of this program.
	Servers []Server
	// Connected says that it has an entry of this program.
	Connected bool
	// OwnArgs are the arguments of the entry that connect writes; nil without one.
	OwnArgs []string

	object *jsonc.Value
}

// Servers lists the servers of all sections.
func (f *File) Servers() []Server {
	var list []Server
	for i := range f.Sections {
		list = append(list, f.Sections[i].Servers...)
	}
	return list
}

// Connected reports whether the client starts this program.
func (f *File) Connected() bool {
	return slices.ContainsFunc(f.Sections, func(s Section) bool { return s.Connected })
}

// Read reads the settings of a client. A file that is not there has no
// sections, and no error. Anything but a regular file is refused, never waited
// on.
func Read(c Client, path string, folders *Folders) (*File, error) {
	f := &File{Client: c, Path: path}
	// A link to where a person keeps such files stays a link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		f.Path = real
	}
	text, err := readText(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = f.parseText(text, folders)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return f, nil
}

// readText reads a regular file within bounds.
func readText(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fsx.Cause(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("expected a regular file")
	case info.Size() > jsonc.MaxBytes:
		return nil, fmt.Errorf("expected at most %d bytes, found %d", jsonc.MaxBytes, info.Size())
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, jsonc.MaxBytes+1))
}

// parseText reads a text. An empty one has no servers.
func (f *File) parseText(text []byte, folders *Folders) error {
	f.Text = text
	if len(strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff"))) == 0 {
		return nil
	}
	root, err := f.parseRoot(text)
	if err != nil {
		return err
	}
	if root.Kind != jsonc.Object {
		return fmt.Errorf("expected an object, found %s", root.Kind)
	}
	f.root = root
	if f.Client.Name == "imported" && root.Get(f.Client.Key) == nil && root.Get("servers") != nil {
		f.Client.Key, f.Client.Variables, f.Client.Typed = "servers", EditorVariables, true
	}
	dir := ""
	if f.Client.project != nil && f.Path == realPath(f.Client.project(folders)) {
		dir = folders.Dir
	}
	if err := f.readSection([]string{f.Client.Key}, root.Get(f.Client.Key), dir); err != nil {
		return err
	}
	return f.readProjects(root, folders)
}

// parseRoot reads a text in the format of the client.
func (f *File) parseRoot(text []byte) (root *jsonc.Value, err error) {
	if !f.Client.TOML {
		return jsonc.Parse(text, &jsonc.Options{Comments: f.Client.Comments})
	}
	if f.toml, err = tomledit.Parse(text); err != nil {
		return nil, err
	}
	return f.toml.Root, nil
}

// readProjects reads the servers that the user's file has for projects.
func (f *File) readProjects(root *jsonc.Value, folders *Folders) error {
	all := root.Get("projects")
	if !f.Client.nested || all == nil {
		return nil
	}
	for _, m := range all.Members {
		servers := m.Value.Get(f.Client.Key)
		switch {
		case servers == nil || len(servers.Members) == 0:
		case filepath.Clean(m.Name) != filepath.Clean(folders.Dir):
			f.Elsewhere = append(f.Elsewhere, m.Name)
		default:
			if err := f.readSection([]string{"projects", m.Name, f.Client.Key}, servers, folders.Dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// readSection reads one object of servers; nil is none.
func (f *File) readSection(path []string, object *jsonc.Value, dir string) error {
	if object == nil {
		return nil
	}
	if object.Kind != jsonc.Object {
		return fmt.Errorf("%s: %s: expected an object, found %s", f.positionText(object.Start), strings.Join(path, "."), object.Kind)
	}
	if len(object.Members) > maxServers {
		return fmt.Errorf("%s: more than %d servers", f.positionText(object.Start), maxServers)
	}
	s := Section{Path: path, object: object}
	for _, m := range object.Members {
		server := f.readServer(m, path, dir)
		if server.isOwn() {
			s.Connected = true
			if server.Name == Own {
				s.OwnArgs = server.Args
			}
			continue
		}
		s.Servers = append(s.Servers, server)
	}
	f.Sections = append(f.Sections, s)
	return nil
}

// positionText returns line and column of an offset.
func (f *File) positionText(offset int) string {
	line, column := jsonc.Place(f.Text, offset)
	return fmt.Sprintf("%d:%d", line, column)
}

// realPath is a path with links followed, where it leads anywhere.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
