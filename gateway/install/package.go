// Package install turns the command of a package launcher, such as npx, into a
// program that is installed, pinned and read-only.
//
// Start with [Parse], which reads the command and refuses whatever is not one
// exact version of one package of a registry. [Store.Tool] is the installation
// as a tool of the gate, so that it is decided, confined and recorded like any
// other call: the child reaches the registry and nothing else, and writes into
// memory of its own. What it made is unpacked, judged and digested by this
// package alone. [Store.Open] finds the copy, compares it with the digest that
// was pinned and says what to run. [Store.Resolve] asks a registry which
// version is the newest, for an operator who has yet to pin one.
//
// Scripts of packages are not run. A package that needs them to build
// something does not work, and says so itself when it is started.
//
// The folder of a [Store] belongs into sallyport.FileBackend.Packages: then no
// tool and no child reaches it, and a child is shown the one package that its
// grant names.
package install

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/text"
)

// Registry is where packages come from. The names are those of the lock file.
type Registry string

// The registries.
const (
	// NPM is the registry of npm.
	NPM Registry = "npm"
	// PyPI is the Python Package Index.
	PyPI Registry = "pypi"
)

// Package is one version of a package. The zero Package is none.
type Package struct {
	// Registry is where it comes from.
	Registry Registry
	// Name is its name there, in the registry's own spelling.
	Name string
	// Version is exact.
	Version string
	// Bin is the program of the package that runs; empty means its only one,
	// or the one that is named like the package.
	Bin string
	// Before leaves out what was published later, of all that the package needs:
	// the same package installed with the same time has the same files. Zero means
	// whatever there is. The registry of Python packages is asked for what there
	// is in any case.
	Before time.Time
}

// String returns NAME@VERSION.
func (p Package) String() string { return p.Name + "@" + p.Version }

const (
	// maxName is the longest name that npm registers
	// (validate-npm-package-name). Those of PyPI are shorter.
	maxName = 214
	// maxVersion is the longest version that npm reads (semver: MAX_LENGTH is
	// 256) and that leaves room for a folder's name.
	maxVersion = 64
	// maxFolder is the longest name of a file on the usual file systems.
	maxFolder = 255
)

var (
	// npmName is the grammar of new packages (validate-npm-package-name),
	// without names that begin with a sign: those read like options.
	npmName = text.Pattern(`^(@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*$`)
	// npmVersion is a version without build metadata (semver.org, question
	// about a regular expression), which no registry of npm has.
	npmVersion = text.Pattern(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
		`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$`)
	// npmTag is what may stand for a version: a tag, or part of a range.
	npmTag = text.Pattern(`^[a-zA-Z0-9.*^~<>=| -]*$`)

	// pypiName is the grammar of PEP 508, in the spelling of PEP 503.
	pypiName = text.Pattern(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	// pypiVersion is the canonical form of PEP 440, appendix B, with two
	// numbers or more and without a local part, which PyPI does not have.
	pypiVersion = text.Pattern(`^([1-9]\d*!)?(0|[1-9]\d*)(\.(0|[1-9]\d*))+((a|b|rc)(0|[1-9]\d*))?` +
		`(\.post(0|[1-9]\d*))?(\.dev(0|[1-9]\d*))?$`)
	pypiSigns = text.Pattern(`[-_.]+`)
	pypiTag   = text.Pattern(`^[a-zA-Z0-9.*!~<>=, ]*$`)

	// binName is what names a program: no path, no option.
	binName = text.Pattern(`^[a-zA-Z0-9_][a-zA-Z0-9._-]*$`)
)

// Check reports whether the package is one that can be installed. The error
// matches [ErrUnpinned] when only an exact version is missing.
func (p Package) Check() error {
	name, version, tag := npmName, npmVersion, npmTag
	switch p.Registry {
	case NPM:
	case PyPI:
		name, version, tag = pypiName, pypiVersion, pypiTag
	default:
		return fmt.Errorf("registry %q: expected npm or pypi", p.Registry)
	}
	switch {
	case len(p.Name) > maxName || !name().MatchString(p.Name) || p.Name == "node_modules" || p.Name == "favicon.ico":
		return fmt.Errorf("%.80q is not the name of a package in the registry %s: "+
			"URLs, git, files, aliases and tarballs are not installed", p.Name, p.Registry)
	case p.Bin != "" && (len(p.Bin) > maxName || !binName().MatchString(p.Bin)):
		return fmt.Errorf("%.80q is not the name of a program", p.Bin)
	case len(p.Version) <= maxVersion && version().MatchString(p.Version):
		if len(p.folderName("")) > maxFolder {
			return fmt.Errorf("%s: the name and version are too long for the name of a folder", p)
		}
		return nil
	case len(p.Version) <= maxVersion && tag().MatchString(p.Version):
		return &UnpinnedError{p}
	default:
		return fmt.Errorf("%.80q is not a version of %s: URLs, git, files, aliases and tarballs are not installed", p.Version, p.Name)
	}
}

// ErrUnpinned matches an [UnpinnedError].
var ErrUnpinned = errors.New("no exact version")

// UnpinnedError is a package without an exact version. Its text names what to
// write.
type UnpinnedError struct {
	// Package is what was asked for; Version is empty, a tag or a range.
	Package Package
}

// Error says what to write.
func (e *UnpinnedError) Error() string {
	p := e.Package
	what, sign := "names no version", "@"
	if p.Version != "" {
		what = fmt.Sprintf("asks for %q, which is not an exact version", p.Version)
	}
	example := "1.2.3"
	if p.Registry == PyPI {
		sign = "=="
	}
	return fmt.Sprintf("%s %s: write an exact one, such as %s%s%s", p.Name, what, p.Name, sign, example)
}

// Is reports whether target is [ErrUnpinned].
func (e *UnpinnedError) Is(target error) bool { return target == ErrUnpinned }

// digestDigits is how much of the digest the name of a folder shows. The whole
// of it is compared when the folder is opened.
const digestDigits = 12

// folderName returns the name of the folder of an installed copy. A plus sign
// stands for the slash of a scope, which no name holds; PyPI's epochs have
// none.
func (p Package) folderName(digest string) string {
	name := strings.ReplaceAll(p.Name, "/", "+")
	if p.Registry != NPM {
		name = string(p.Registry) + "+" + name
	}
	digest = (digest + strings.Repeat("0", digestDigits))[:digestDigits]
	return name + "@" + p.Version + "-" + digest
}

// pypiSpelling is the one spelling of a name (PEP 503).
func pypiSpelling(name string) string {
	return strings.ToLower(pypiSigns().ReplaceAllString(name, "-"))
}
