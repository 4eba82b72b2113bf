package install

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

const (
	// modules is where npm puts packages, lockFile what it says of them.
	modules  = "node_modules"
	lockFile = "package-lock.json"
	manifest = "package.json"
	// maxManifest bounds a file that is read whole: the lock files of large
	// projects have a few MiB.
	maxManifest = 32 << 20
	// lockVersion is the version of lock files that npm 7 and later write.
	lockVersion = 3
)

// npmScript installs into the private home of the child, and prints an archive
// of what is there: the child writes nothing that stays. Node trusts roots of
// its own; those of the machine, which the rest of the runtime trusts, are
// added. Standard input is what npm reads as the settings of the user. A registry on this machine is reached as any other: not past the proxy.
const npmScript = `unset NO_PROXY no_proxy
command -v npm >/dev/null && command -v tar >/dev/null || exit 127
for roots in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
if [ -z "$NODE_EXTRA_CA_CERTS" ] && [ -r $roots ]; then export NODE_EXTRA_CA_CERTS=$roots; fi
done
cd "$HOME" && cat > .npmrc && mkdir package && npm install --prefix "$HOME/package" --cache "$HOME/cache" "$@" >&2 &&
rm -rf cache && exec tar -cf - package`

// npmFlags say what npm must not do, whatever its configuration says: run
// scripts, link, ask anybody but the registry.
func (s *Store) npmFlags(p Package) []string {
	flags := []string{
		"--registry=" + s.npm.String(), "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--no-bin-links",
		"--package-lock=true", "--lockfile-version=3", "--omit-lockfile-registry-resolved=false", "--replace-registry-host=never",
		"--install-links=false", "--save-exact", "--no-update-notifier", "--no-progress", "--color=false", "--loglevel=error",
		"--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000", "--global=false", "--strict-ssl=true",
	}
	if !p.Before.IsZero() {
		flags = append(flags, "--before="+p.Before.UTC().Format(time.RFC3339))
	}
	return append(flags, "--", p.String())
}

// npmLock is what counts in package-lock.json.
type npmLock struct {
	LockfileVersion int               `json:"lockfileVersion"`
	Packages        map[string]npmPin `json:"packages"`
}

type npmPin struct {
	Version   string `json:"version"`
	Resolved  string `json:"resolved"`
	Integrity string `json:"integrity"`
	Link      bool   `json:"link"`
	InBundle  bool   `json:"inBundle"`
}

// checkNPM judges what npm has installed and returns the integrity of the
// package: it is the one that was asked for, and it and all that it needs came
// from the registry with a digest.
func (s *Store) checkNPM(root *os.Root, p Package) (integrity string, err error) {
	top := path.Join(modules, p.Name)
	var is struct{ Name, Version string }
	if err := readJSON(root, path.Join(top, manifest), &is); err != nil {
		return "", err
	}
	if is.Name != p.Name || is.Version != p.Version {
		return "", fmt.Errorf("the package says that it is %.80q in version %.80q", is.Name, is.Version)
	}
	var lock npmLock
	if err := readJSON(root, lockFile, &lock); err != nil {
		return "", err
	}
	if lock.LockfileVersion != lockVersion {
		return "", fmt.Errorf("%s has version %d, want %d", lockFile, lock.LockfileVersion, lockVersion)
	}
	for key, pin := range lock.Packages {
		if key == "" {
			continue
		}
		if err := s.checkPin(key, pin, lock.Packages); err != nil {
			return "", fmt.Errorf("%.200q %w", key, err)
		}
	}
	pin := lock.Packages[top]
	if pin.Version != p.Version || pin.InBundle {
		return "", fmt.Errorf("%s does not have it", lockFile)
	}
	return sha512Digest(pin.Integrity), nil
}

func (s *Store) checkPin(key string, pin npmPin, all map[string]npmPin) error {
	switch {
	case pin.Link:
		return fmt.Errorf("is a link")
	case pin.InBundle && pin.Resolved == "":
		// It came in the archive of a package around it.
		for outer := key; ; {
			i := strings.LastIndex(outer, "/"+modules+"/")
			if i < 0 {
				return fmt.Errorf("is in the archive of no package")
			}
			outer = outer[:i]
			if around, ok := all[outer]; ok && !around.InBundle {
				return s.checkPin(outer, around, all)
			}
		}
	case !isBelow(s.npm, pin.Resolved):
		return fmt.Errorf("comes from %.200q, which is not the registry %s", pin.Resolved, s.npm)
	case sha512Digest(pin.Integrity) == "":
		return fmt.Errorf("has no SHA-512 digest")
	}
	return nil
}

// sha512Digest returns the SHA-512 digest of a list of digests; empty when
// there is none.
func sha512Digest(integrity string) string {
	for one := range strings.FieldsSeq(integrity) {
		if strings.HasPrefix(one, "sha512-") {
			return one
		}
	}
	return ""
}

// readJSON reads a file of an installation. Keys that are not asked for are
// left out.
func readJSON(root *os.Root, name string, v any) error {
	text, err := readFile(root, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readFile reads a file of an installation whole.
func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("%s: it has more than %d bytes", name, maxManifest)
	}
	return text, err
}
