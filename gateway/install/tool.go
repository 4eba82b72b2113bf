package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/heartbeat"
)

// Installed is one installed copy of a package, as it is pinned.
type Installed struct {
	// Package is what was asked for.
	Package Package
	// Digest is that of every file, 64 hexadecimal digits.
	Digest string
	// Integrity is the registry's digest of the package itself, without what
	// it needs, such as "sha512-…".
	Integrity string
}

const keyDigest, keyIntegrity, keyVersion = "digest", "integrity", "version"

// Installed reads the answer of the tool of a package.
func (p Package) Installed(r sallyport.Result) (Installed, error) {
	if err := r.Err(); err != nil {
		return Installed{}, err
	}
	digest, ok := r.Structured[keyDigest].(string)
	integrity, _ := r.Structured[keyIntegrity].(string)
	if !ok {
		return Installed{}, errors.New("install: the answer has no digest")
	}
	return Installed{p, digest, integrity}, nil
}

const (
	// content is the folder in which a child installs. npm writes its name into
	// the lock file, and by it into the digest.
	content = "package"
	// missing is the exit code of a shell for a program that is not there.
	missing = 127
	// saidMost bounds what is kept of what npm says.
	saidMost = 2 << 10
)

// installRecipe is how a package of a registry is installed and judged.
type installRecipe struct {
	// hosts are those that the child may reach.
	hosts []string
	// programs are what the script needs, the one that installs first.
	programs []string
	// script gets the flags, and prints the archive of a folder "package".
	script string
	flags  []string
	// check judges what was installed and returns the integrity of the
	// package.
	check func(root *os.Root, p Package) (string, error)
	// command is the command of the program, with names in the folder marked by
	// inFolder.
	command func(root *os.Root, p Package) ([]string, error)
}

// recipeFor returns how a package is installed. One of no registry is refused
// later.
func (s *Store) recipeFor(p Package) installRecipe {
	if p.Registry == PyPI {
		return s.pypiRecipe(p)
	}
	return installRecipe{
		hosts: []string{s.npm.Host}, programs: []string{"npm", "node"}, script: npmScript, flags: s.npmFlags(p),
		check: s.checkNPM, command: npmCommand,
	}
}

// Tool is the installation of a package as a tool of the gate. Its child may
// reach the registry and has no file reach at all: it works in the memory that
// every child has to itself, which bounds what it can take, and prints what it
// made. The result is read with [Package.Installed]. A machine without the
// programs that are needed answers not_available. A caller that registers several
// gives them names of their own.
func (s *Store) Tool(p Package) sallyport.Tool {
	how := s.recipeFor(p)
	t := sallyport.Tool{
		Name: "install-package", Toolset: "mcp", OutputIsUntrusted: true, Timeout: installWait,
		Revision:    strings.Join(append(how.flags, how.hosts...), " "),
		Description: "Installs the package " + p.String() + " from the registry " + string(p.Registry) + ".",
		Capabilities: sallyport.Capabilities{
			Network: &sallyport.NetworkCapability{AllowedHosts: how.hosts},
			Process: &sallyport.ProcessCapability{AllowedBinaries: append([]string{"sh", "tar"}, how.programs...)},
		},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			if err := p.Check(); err != nil {
				return sallyport.Result{}, sallyport.InputInvalid(err.Error())
			}
			i, err := s.runRecipe(ctx, c, p, how)
			if err != nil {
				return sallyport.Result{}, err
			}
			r := sallyport.OK("installed " + i.Package.String() + ", digest " + i.Digest)
			r.Structured = map[string]any{keyDigest: i.Digest, keyIntegrity: i.Integrity}
			return r, nil
		},
	}
	s.needSecret(p.Registry, &t.Capabilities)
	return t
}

type unpackedArchive struct {
	stage, digest string
	err           error
}

// runRecipe fetches the package in a child, and unpacks what it prints.
func (s *Store) runRecipe(ctx context.Context, c *sallyport.Call, p Package, how installRecipe) (Installed, error) {
	who, err := s.readCredential(ctx, c, p.Registry)
	if err != nil {
		return Installed{}, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return Installed{}, newFailure(err, "the store of packages cannot be written")
	}
	archive, out := io.Pipe()
	done := make(chan unpackedArchive, 1)
	go func() {
		u := unpackedArchive{stage: s.newStagePath()}
		u.digest, u.err = s.unpackArchive(archive, u.stage)
		// What is left of the archive is not read, and the child is not held up.
		archive.CloseWithError(cmp.Or(u.err, io.ErrClosedPipe))
		done <- u
	}()
	said := &textTail{}
	defer heartbeat.Start(c, "installing "+p.String(), nil)()
	res, err := c.Process.Spawn(ctx, "sh", append([]string{"-c", how.script, "sh"}, how.flags...), &sallyport.SpawnOptions{
		Output: out, ErrorOutput: said, Stdin: s.settingsFor(p.Registry, who),
	})
	out.Close()
	u := <-done
	defer removeTree(u.stage)
	switch {
	case err != nil:
		return Installed{}, err
	case res.ExitCode == missing:
		return Installed{}, &sallyport.Error{
			Code: sallyport.CodeNotAvailable, Operation: "install",
			Detail: strings.Join(how.programs, ", ") + " and tar are needed to install " + p.String() + ": not all of them are on the search path of this machine",
		}
	case u.err != nil && res.ExitCode == 0:
		return Installed{}, newFailure(u.err, "%s is refused: %v", p, u.err)
	case res.ExitCode != 0:
		return Installed{}, newFailure(u.err, "%s could not be installed: %s ended with exit code %d\n\n%s", p, how.programs[0], res.ExitCode, said)
	}
	return s.acceptArchive(u, p, how)
}

func (s *Store) acceptArchive(u unpackedArchive, p Package, how installRecipe) (Installed, error) {
	root, err := os.OpenRoot(filepath.Join(u.stage, content))
	if err != nil {
		return Installed{}, newFailure(err, "%s could not be installed: there is nothing to keep", p)
	}
	defer root.Close()
	i := Installed{Package: p, Digest: u.digest}
	if i.Integrity, err = how.check(root, p); err != nil {
		return Installed{}, newFailure(err, "%s is refused: %v", p, err)
	}
	if err := s.storeInstalled(u.stage, p, u.digest); err != nil {
		return Installed{}, newFailure(err, "%s could not be kept in the store of packages", p)
	}
	return i, nil
}

// textTail stores the end of a text.
type textTail struct{ text []byte }

// Write is called by one goroutine at a time.
func (t *textTail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if len(t.text) > 2*saidMost {
		t.text = append([]byte(nil), t.text[len(t.text)-saidMost:]...)
	}
	return len(p), nil
}

// String is the end, from the beginning of a line when some of it is missing.
func (t *textTail) String() string {
	text := strings.ToValidUTF8(string(t.text), "?")
	if len(text) > saidMost {
		text = text[len(text)-saidMost:]
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
		text = fmt.Sprintf("…\n%s", strings.ToValidUTF8(text, "?"))
	}
	return strings.TrimSpace(text)
}
