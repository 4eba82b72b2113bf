package install

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// defaultFiles and defaultBytes bound an installation. The largest MCP
	// servers of npm have some 10,000 files and 200 MiB.
	defaultFiles = 50_000
	defaultBytes = 1 << 30
	// installWait bounds an installation, which takes ten seconds on a small
	// machine and minutes on a slow line.
	installWait = 10 * time.Minute
	// stageLife is how old an abandoned stage is: no
	// installation lives so long.
	stageLife = 2 * installWait
	// publicNPM and publicPyPI are the registries that everybody uses.
	publicNPM, publicPyPI = "https://registry.npmjs.org/", "https://pypi.org/simple/"
	// stagePrefix begins the names of what is not finished. A name that begins
	// with a dot is not shown to children as a package.
	stagePrefix = ".stage-"
)

// Options configure a store. nil means the defaults.
type Options struct {
	// NPM is the URL of the registry of npm; empty means
	// https://registry.npmjs.org/.
	NPM string
	// PyPI is the URL of the index of Python packages; empty means
	// https://pypi.org/simple/.
	PyPI string
	// PyPIFiles is the URL below which the files of the index lie; empty means
	// https://files.pythonhosted.org/.
	PyPIFiles string
	// MaxFiles bounds the files and folders of one installation; 0 means
	// 50,000.
	MaxFiles int
	// MaxBytes bounds the content of one installation; 0 means 1 GiB. What a
	// child of the gate may keep in memory bounds it too.
	MaxBytes int64
}

// Store is the folder of installed packages. Any number of processes may use
// one folder. It is safe for concurrent use.
type Store struct {
	dir string
	o   Options
	// npm, index and files are where packages come from.
	npm, index, files *url.URL
	// secrets maps registries to the references of what they want to know.
	secrets map[Registry]string
}

// New returns the store in a folder, which is made when it is needed. What an
// earlier process left unfinished is removed.
func New(dir string, o *Options) (*Store, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.MaxFiles, opts.MaxBytes = cmp.Or(opts.MaxFiles, defaultFiles), cmp.Or(opts.MaxBytes, defaultBytes)
	switch {
	case !filepath.IsAbs(dir):
		return nil, fmt.Errorf("install: the folder %q is not absolute", dir)
	case opts.MaxFiles < 0 || opts.MaxBytes < 0:
		return nil, errors.New("install: the bounds must not be negative")
	}
	s := &Store{dir: filepath.Clean(dir), o: opts}
	var errs [3]error
	s.npm, errs[0] = registryURL(opts.NPM, publicNPM)
	s.index, errs[1] = registryURL(opts.PyPI, publicPyPI)
	s.files, errs[2] = registryURL(opts.PyPIFiles, "https://files.pythonhosted.org/")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	// A link above the store is the operator's; children are shown packages by
	// their real names only.
	if real, err := filepath.EvalSymlinks(s.dir); err == nil {
		s.dir = real
	}
	return s, s.sweepStages(time.Now().Add(-stageLife))
}

// registryURL returns the URL of a registry, which ends in a slash.
func registryURL(text, otherwise string) (*url.URL, error) {
	text = cmp.Or(text, otherwise)
	u, err := url.Parse(strings.TrimSuffix(text, "/") + "/")
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("install: %q is not the URL of a registry", text)
	}
	return u, nil
}

// Source is the URL of a registry that is not the public one; empty for that.
func (s *Store) Source(r Registry) string {
	switch {
	case r == NPM && s.npm.String() != publicNPM:
		return s.npm.String()
	case r == PyPI && s.index.String() != publicPyPI:
		return s.index.String()
	default:
		return ""
	}
}

// Hosts lists the hosts that installing packages may reach.
func (s *Store) Hosts() []string { return []string{s.npm.Host, s.index.Host, s.files.Host} }

// Addresses returns the URLs of the registries.
func (s *Store) Addresses() map[Registry]string {
	return map[Registry]string{NPM: s.npm.String(), PyPI: s.index.String()}
}

// isBelow reports whether a URL is one below a registry's.
func isBelow(base *url.URL, text string) bool {
	rest, ok := strings.CutPrefix(text, base.String())
	return ok && rest != "" && !strings.ContainsAny(rest, "\\?#") && !slices.Contains(strings.Split(rest, "/"), "..")
}

// Dir returns the folder, for sallyport.FileBackend.Packages.
func (s *Store) Dir() string { return s.dir }

// sweepStages removes stages that are older than a time.
func (s *Store) sweepStages(before time.Time) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), stagePrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			errs = append(errs, removeTree(filepath.Join(s.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// newStagePath returns a new path for what is not finished. It lies beside what
// it becomes: a folder that cannot be written is renamed where it is, and moved
// nowhere.
func (s *Store) newStagePath() string { return filepath.Join(s.dir, stagePrefix+rand.Text()) }

// storeInstalled moves what was unpacked to its name. A copy that another process has made
// in between is the same; one that was damaged, by a crash of the machine say, is
// replaced.
func (s *Store) storeInstalled(unpacked string, p Package, digest string) error {
	folder := filepath.Join(s.dir, p.folderName(digest))
	for range 2 {
		err := os.Rename(unpacked, folder)
		if err == nil {
			return nil
		}
		if _, gone := os.Lstat(folder); gone != nil {
			return err
		}
		if there, err := s.digestFolder(folder); err == nil && there == digest {
			return nil
		}
		damaged := s.newStagePath()
		if err := os.Rename(folder, damaged); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := removeTree(damaged); err != nil {
			return err
		}
	}
	return errors.New("the folder of the package keeps changing")
}

// removeTree removes a folder whose folders cannot be written.
func removeTree(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			// What fails here fails below, with a better word.
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// newFailure makes an error that a model may read, with its cause for the log.
func newFailure(err error, format string, args ...any) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Operation: "install", Detail: fmt.Sprintf(format, args...), Err: err,
	}
}
