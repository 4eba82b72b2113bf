package install

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// Program is an installed package that was found to be what was pinned.
type Program struct {
	Installed
	// Folder is the absolute folder of the copy. It is to be listed in the
	// programs of the grant, for a child to see it.
	Folder string
	// Command is the interpreter with what it needs to run the program, whose
	// arguments follow. The caller owns it.
	Command []string
}

var digestText = text.Pattern(`^[0-9a-f]{64}$`)

// Folder is the absolute folder of an installed copy, whether it is there or
// not.
func (s *Store) Folder(p Package, digest string) string {
	return filepath.Join(s.dir, p.folderName(digest))
}

// Open finds the installed copy of a package and compares every file of it
// with the digest that was pinned. The error says what is missing or what was
// changed; it matches [fs.ErrNotExist] when there is no copy.
func (s *Store) Open(p Package, digest string) (Program, error) {
	if err := p.Check(); err != nil {
		return Program{}, fmt.Errorf("install: %w", err)
	}
	if !digestText().MatchString(digest) {
		return Program{}, fmt.Errorf("install: %.80q is not a digest of %s", digest, p)
	}
	o := Program{Installed: Installed{Package: p, Digest: digest}, Folder: s.Folder(p, digest)}
	how := s.recipeFor(p)
	now, err := s.digestFolder(o.Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Program{}, fmt.Errorf("install: %s with the digest %s is not installed: %w", p, digest[:digestDigits], err)
	case err != nil:
		return Program{}, fmt.Errorf("install: the installed copy of %s was changed: %w", p, err)
	case now != digest:
		return Program{}, fmt.Errorf("install: the installed copy of %s was changed: its digest is %s, pinned is %s", p, now, digest)
	}
	root, err := os.OpenRoot(filepath.Join(o.Folder, content))
	if err != nil {
		return Program{}, fmt.Errorf("install: %s: %w", p, err)
	}
	defer root.Close()
	if o.Integrity, err = how.check(root, p); err != nil {
		return Program{}, fmt.Errorf("install: %s: %w", p, err)
	}
	if o.Command, err = how.command(root, p); err != nil {
		return Program{}, fmt.Errorf("install: %s: %w", p, err)
	}
	for n, word := range o.Command {
		if rest, ok := strings.CutPrefix(word, inFolder); ok {
			o.Command[n] = filepath.Join(o.Folder, content, filepath.FromSlash(rest))
		}
	}
	return o, nil
}

// inFolder begins a word of a command that is a name in the installation. No
// program gets a word with a NUL byte.
const inFolder = "\x00"

// npmCommand is how the program of a package of npm is run.
func npmCommand(root *os.Root, p Package) ([]string, error) {
	top := path.Join(modules, p.Name)
	file, err := programFile(root, top, p)
	if err != nil {
		return nil, err
	}
	// Names in a manifest begin at the folder of the package, with or without
	// a dot.
	local := strings.TrimPrefix(path.Clean("/"+file), "/")
	if file == "" || local == "" || strings.ContainsAny(file, "\\\x00") || slices.Contains(strings.Split(file, "/"), "..") {
		return nil, fmt.Errorf("its program %.200q is no file of the package", file)
	}
	name := path.Join(top, local)
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("its program %.200q is no file of the package", file)
	}
	run, err := interpreterOf(root, name)
	return append(run, inFolder+name), err
}

// programFile returns the file of the program, as package.json says it.
func programFile(root *os.Root, top string, p Package) (string, error) {
	var m struct{ Bin json.RawMessage }
	if err := readJSON(root, path.Join(top, manifest), &m); err != nil {
		return "", err
	}
	_, own, scoped := strings.Cut(p.Name, "/")
	if !scoped {
		own = p.Name
	}
	files := map[string]string{}
	var one string
	switch {
	case len(m.Bin) == 0:
		return "", errors.New("it has no program: package.json has no bin")
	case json.Unmarshal(m.Bin, &one) == nil:
		files[own] = one
	case json.Unmarshal(m.Bin, &files) != nil:
		return "", errors.New("the bin of its package.json is neither a name nor a list of names")
	}
	name, err := chooseProgram(files, p, own)
	return files[name], err
}

// chooseProgram finds the program of a package: the one that was asked for, the one
// that is named like the package, or the only one.
func chooseProgram(programs map[string]string, p Package, own string) (string, error) {
	own = cmp.Or(p.Bin, own)
	names := slices.Sorted(maps.Keys(programs))
	_, ok := programs[own]
	switch {
	case ok:
		return own, nil
	case p.Bin == "" && len(slices.Compact(slices.Sorted(maps.Values(programs)))) == 1:
		return names[0], nil // all names mean one file
	default:
		return "", fmt.Errorf("it has no program %.80q; it has %.300q", own, names)
	}
}

// maxShebang is the longest first line that Linux reads (BINPRM_BUF_SIZE).
const maxShebang = 256

// interpreterOf returns what runs a file, by its first line or else by the
// ending of its name.
func interpreterOf(root *os.Root, name string) ([]string, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A short or empty file has a short line or none.
	head, _ := bufio.NewReaderSize(f, maxShebang).Peek(maxShebang)
	line, _, _ := strings.Cut(string(head), "\n")
	words := []string{interpreterByEnding(name)}
	if rest, ok := strings.CutPrefix(line, "#!"); ok {
		words = append(strings.Fields(rest), "")
		if path.Base(words[0]) == "env" {
			words = words[1:]
		}
		if words[0] == "-S" {
			words = words[1:]
		}
		words = words[:max(len(words)-1, 1)]
	}
	switch runs := path.Base(words[0]); runs {
	case "node", "nodejs":
		words[0] = "node"
	case "python3", "python":
		words[0] = "python3"
	default:
		return nil, fmt.Errorf("its program %.200q runs with %.80q: expected node or python3", name, words[0])
	}
	return words, nil
}

// interpreterByEnding is the interpreter of files without a first line that names one.
func interpreterByEnding(name string) string {
	switch path.Ext(name) {
	case ".js", ".mjs", ".cjs":
		return "node"
	case ".py":
		return "python3"
	default:
		return ""
	}
}
