package install

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// pinsFile is what pip reported of where the packages came from, without what
// it reported of the machine.
const pinsFile = "sallyport-pins.json"

// pypiScript installs into the private home of the child, and prints an archive
// of what is there. Standard input is what pip reads as the passwords of the user. Archives of source are not taken: to build one runs it. One
// that a dependency names by its URL pip would take all the same, held like the
// rest of the child, and then the whole is refused.
const pypiScript = `unset NO_PROXY no_proxy
command -v python3 >/dev/null && python3 -I -m pip --version >/dev/null && command -v tar >/dev/null || exit 127
cd "$HOME" && cat > .netrc && chmod 600 .netrc && mkdir package && python3 -I -m pip install --target "$HOME/package" --report report.json "$@" >&2 &&
python3 -I -c 'import json
pins = [{"name": i["metadata"]["name"], "version": i["metadata"]["version"], "direct": i["is_direct"],
         "url": i["download_info"]["url"], "sha256": i["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256", "")}
        for i in json.load(open("report.json"))["install"]]
json.dump(sorted(pins, key=lambda p: p["name"]), open("package/` + pinsFile + `", "w"))' &&
exec tar -cf - package`

// pypiRecipe installs with pip, which every version of uvx and pipx can be
// replaced by: what runs is the same package.
func (s *Store) pypiRecipe(p Package) installRecipe {
	flags := []string{
		"--isolated", "--no-compile", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check", "--no-input",
		"--quiet", "--root-user-action=ignore", "--index-url=" + s.index.String(),
	}
	if s.index.Scheme == "http" {
		flags = append(flags, "--trusted-host="+s.index.Hostname(), "--trusted-host="+s.files.Hostname())
	}
	return installRecipe{
		hosts: []string{s.index.Host, s.files.Host}, programs: []string{"pip", "python3"}, script: pypiScript,
		flags: append(flags, "--", p.Name+"=="+p.Version), check: s.checkPyPI, command: pypiCommand,
	}
}

// pypiPin is where one package came from.
type pypiPin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Direct  bool   `json:"direct"`
	URL     string `json:"url"`
	SHA256  string `json:"sha256"`
}

// checkPyPI judges what pip has installed and returns the integrity of the
// package: it is the one that was asked for, and it and all that it needs came
// from the index with a digest.
func (s *Store) checkPyPI(root *os.Root, p Package) (integrity string, err error) {
	var pins []pypiPin
	if err := readJSON(root, pinsFile, &pins); err != nil {
		return "", err
	}
	for _, pin := range pins {
		sum, err := hex.DecodeString(pin.SHA256)
		switch {
		case pin.Direct:
			return "", fmt.Errorf("%.80q is asked for by its URL %.200q", pin.Name, pin.URL)
		case !isBelow(s.files, pin.URL):
			return "", fmt.Errorf("%.80q comes from %.200q, which is not the registry %s", pin.Name, pin.URL, s.files)
		case err != nil || len(sum) != 32:
			return "", fmt.Errorf("%.80q has no SHA-256 digest", pin.Name)
		case pypiSpelling(pin.Name) == p.Name && pin.Version == p.Version:
			integrity = "sha256-" + base64.StdEncoding.EncodeToString(sum)
		}
	}
	if integrity == "" {
		return "", fmt.Errorf("pip has not installed %s in this version", p)
	}
	_, err = findDistInfo(root, p)
	return integrity, err
}

// findDistInfo is the folder that describes an installed distribution. A name in it
// has no hyphen (Binary distribution format, "Escaping and Unicode").
func findDistInfo(root *os.Root, p Package) (string, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".dist-info")
		name, version, _ := strings.Cut(base, "-")
		if ok && e.IsDir() && pypiSpelling(name) == p.Name && version == p.Version {
			return e.Name(), nil
		}
	}
	return "", fmt.Errorf("%s is not in what pip has installed", p)
}

// pypiRun runs a function of a module in a folder under the name of a program.
// The variable that would say where modules are is kept from children.
const pypiRun = `import sys
folder, name, module, attribute = sys.argv[1:5]
sys.argv[:5] = [name]
sys.path.insert(0, folder)
import functools, importlib
sys.exit(functools.reduce(getattr, attribute.split("."), importlib.import_module(module))())`

// entryPoint is the object reference of a console script (Entry points
// specification).
var entryPoint = text.Pattern(`^([A-Za-z_][A-Za-z0-9_.]*)\s*:\s*([A-Za-z_][A-Za-z0-9_.]*)\s*(\[.*\])?$`)

// pypiCommand is how a console script of a package is run.
func pypiCommand(root *os.Root, p Package) ([]string, error) {
	info, err := findDistInfo(root, p)
	if err != nil {
		return nil, err
	}
	scripts, err := consoleScripts(root, path.Join(info, "entry_points.txt"))
	if err != nil {
		return nil, err
	}
	name, err := chooseProgram(scripts, p, p.Name)
	if err != nil {
		return nil, err
	}
	ref := entryPoint().FindStringSubmatch(scripts[name])
	if ref == nil {
		return nil, fmt.Errorf("its program %.80q is %.200q, which names no function", name, scripts[name])
	}
	return []string{"python3", "-I", "-B", "-c", pypiRun, inFolder, name, ref[1], ref[2]}, nil
}

// consoleScripts reads the programs of a distribution.
func consoleScripts(root *os.Root, file string) (map[string]string, error) {
	text, err := readFile(root, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it has no program: it has no entry points")
	}
	if err != nil {
		return nil, err
	}
	scripts, inside := map[string]string{}, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, ref, ok := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			inside = line == "[console_scripts]"
		case inside && ok && !strings.HasPrefix(line, "#"):
			scripts[strings.TrimSpace(name)] = strings.TrimSpace(ref)
		}
	}
	return scripts, nil
}
