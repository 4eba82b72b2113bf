// Package backup copies the state of a running server, with its record and the key of
// that, into a folder, and brings such a copy back. Both are verified before they count.
//
// Start with [Make] and [Restore].
package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/signin"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/sqlite"
)

const (
	manifestName, stateName, keyName = "backup.json", "state.db", "audit.key"
	// manifestVersion is the version of the form.
	manifestVersion = 1
	// maxManifest bounds the file that lists the others, in bytes.
	maxManifest = 16 << 20
)

// Manifest says what a backup holds.
type Manifest struct {
	// Version is that of the form.
	Version int `json:"version"`
	// Created is when it was made.
	Created time.Time `json:"created"`
	// Program is the version of the program that made it.
	Program string `json:"program"`
	// Head is the newest record, as audit head prints it.
	Head string `json:"head"`
	// Records is how many records were verified.
	Records int64 `json:"records"`
	// Files maps each file to the SHA-256 of its content in hex.
	Files map[string]string `json:"files"`
}

// CheckPlace returns an error where tools could reach a backup in a folder: who reads it has
// the key with which records can be forged.
func CheckPlace(rt *app.Runtime, dir string) error {
	place, ok := rt.FindReach(dir)
	if !ok {
		return nil
	}
	who, by := "every child sees", "the system"
	if place.Role != "" {
		who = "tools of personality " + place.Role + " reach"
	}
	if place.Key != "" {
		by = cmp.Or(rt.InForce().Config.Source(place.Key), place.Key)
	}
	return fmt.Errorf("%s %s (%s), and with it hashes of tokens and the key with which records can be forged", who, place.Path, by)
}

// Make copies the state of the configuration into a folder that does not exist yet.
// Servers use the state at the same time and wait for nothing. The folder appears under
// its name once everything in it was verified.
func Make(ctx context.Context, rt *app.Runtime, dir string) (m Manifest, err error) {
	state, ok := rt.State.(*sqlite.DB)
	if !ok {
		return m, errors.New("backup: there is no state file to copy")
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("backup: %s is there already: name a folder that does not exist", dir)
	}
	key, err := os.ReadFile(rt.KeyPath())
	if err != nil {
		return m, err
	}
	aside := fsx.NameAside(dir)
	if err := os.Mkdir(aside, 0o700); err != nil {
		return m, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(aside))
		}
	}()
	if err := state.Backup(ctx, filepath.Join(aside, stateName)); err != nil {
		return m, err
	}
	if err := os.WriteFile(filepath.Join(aside, keyName), key, 0o600); err != nil {
		return m, err
	}
	head, records, err := verifyCopy(ctx, aside, nil, nil)
	if err != nil {
		return m, fmt.Errorf("backup: the copy is not good, and was removed: %w", err)
	}
	m = Manifest{Version: manifestVersion, Created: time.Now().UTC().Round(time.Second), Program: app.ReadBuild().String(), Head: head.String(), Records: records}
	if m.Files, err = digestFiles(aside); err != nil {
		return m, err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, err
	}
	if err := fsx.WriteNew(filepath.Join(aside, manifestName), append(text, '\n')); err != nil {
		return m, err
	}
	return m, os.Rename(aside, dir)
}

// Restore brings a backup back as the state of the configuration, which must have
// none. Decisions that were open when the backup was made are closed: they may have
// been used since.
func Restore(ctx context.Context, rt *app.Runtime, dir string) (m Manifest, err error) {
	c := rt.InForce().Config.State
	if c.Kind != config.StateSQLite {
		return m, errors.New("restore: the configuration keeps its state in memory: set state to a file")
	}
	if m, err = readManifest(dir); err != nil {
		return m, fmt.Errorf("restore: %w", err)
	}
	for _, path := range []string{c.Path, c.Path + "-log", rt.KeyPath()} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return m, fmt.Errorf("restore: %s is there already: end the server and move it away, with what lies beside it", path)
		}
	}
	folder := filepath.Dir(c.Path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return m, err
	}
	aside, err := os.MkdirTemp(folder, ".restore-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(aside)) }()
	for name, want := range m.Files {
		if err := copyFile(filepath.Join(dir, name), filepath.Join(aside, name), want); err != nil {
			return m, fmt.Errorf("restore: %s: %w", name, err)
		}
	}
	head, err := audit.ParseHead(m.Head)
	if err != nil {
		return m, fmt.Errorf("restore: %s: %w", manifestName, err)
	}
	closeOpen := func(state *sqlite.DB, key audit.Key) error { return settleState(ctx, state, key, &m) }
	if _, _, err := verifyCopy(ctx, aside, &head, closeOpen); err != nil {
		return m, fmt.Errorf("restore: %w", err)
	}
	// The state file last: without it there is no state.
	for _, suffix := range []string{"-log", "-wal", ""} {
		err := os.Rename(filepath.Join(aside, stateName+suffix), c.Path+suffix)
		if err != nil && !(suffix == "-wal" && errors.Is(err, fs.ErrNotExist)) {
			return m, err
		}
		if suffix == "-log" {
			if err := os.Rename(filepath.Join(aside, keyName), rt.KeyPath()); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

// verifyCopy opens the copy in a folder, checks the chain and the file, and lets do change
// it. With a head, the chain must have it.
func verifyCopy(ctx context.Context, dir string, head *audit.Head, do func(*sqlite.DB, audit.Key) error) (newest audit.Head, records int64, err error) {
	key, err := audit.ReadKey(filepath.Join(dir, keyName))
	if err != nil {
		return newest, 0, err
	}
	state, err := sqlite.Open(ctx, filepath.Join(dir, stateName), nil)
	if err != nil {
		return newest, 0, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	found, err := audit.Verify(ctx, state, key, &audit.VerifyOptions{Head: head})
	if err != nil {
		return newest, 0, err
	}
	if !found.OK() {
		return newest, 0, errors.New("its record does not verify")
	}
	if err := state.Check(ctx); err != nil {
		return newest, 0, err
	}
	if newest, err = audit.Newest(ctx, state); err != nil || do == nil {
		return newest, found.Records, err
	}
	return newest, found.Records, do(state, key)
}

// settleState closes what was open when a backup was made, and records that it is brought
// back.
func settleState(ctx context.Context, state *sqlite.DB, key audit.Key, m *Manifest) (err error) {
	const why = "the state was restored from a backup, after which it may have been used"
	held, err := state.Approvals().List(ctx, false)
	if err != nil {
		return err
	}
	for i := range held {
		if held[i].State == sallyport.ApprovalApproved {
			_, err = state.Approvals().Use(ctx, held[i].ID)
		} else {
			err = state.Approvals().Decide(ctx, held[i].ID, sallyport.LocalPrincipal, false, why)
		}
		if err != nil {
			return err
		}
	}
	// A link that was used since would sign in once more.
	if err := signin.ForgetSignIns(ctx, state.Settings()); err != nil {
		return err
	}
	log, err := audit.New(state, key, nil)
	if err != nil {
		return err
	}
	clean := output.Plain()
	detail := fmt.Sprintf("from a backup of %s; %d decisions that were open are closed", m.Created.Format(time.RFC3339), len(held))
	err = log.Record(ctx, &audit.Event{
		Kind: audit.KindChange, CallID: "restore", Principal: sallyport.LocalPrincipal, Durable: true,
		Change: &audit.Change{Action: "state.restore", Target: clean.Text(m.Head), Detail: clean.Text(detail)},
	})
	return errors.Join(err, log.Close())
}

// readManifest reads and checks what a backup holds.
func readManifest(dir string) (m Manifest, err error) {
	f, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return m, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&m); err != nil {
		return m, fmt.Errorf("%s: %w", manifestName, err)
	}
	if m.Version != manifestVersion {
		return m, fmt.Errorf("%s has version %d, this program knows %d", manifestName, m.Version, manifestVersion)
	}
	for name := range m.Files {
		part := strings.HasPrefix(name, stateName+"-log/") && filepath.IsLocal(name) || name == stateName || name == stateName+"-wal" || name == keyName
		if !part {
			return m, fmt.Errorf("%s names %q, which is no part of a backup", manifestName, name)
		}
	}
	return m, nil
}

// digestFiles returns the digests of the files of a copy. The file by which processes
// share an open state is none of them.
func digestFiles(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if name == stateName+"-shm" {
			return os.Remove(path)
		}
		sum, err := digestInto(path, io.Discard)
		files[filepath.ToSlash(name)] = sum
		return err
	})
	return files, err
}

// digestInto copies a file and returns the SHA-256 of its content in hex.
func digestInto(path string, to io.Writer) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(h, to), f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyFile copies a file whose digest has to be as it was.
func copyFile(from, to, want string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum, err := digestInto(from, f)
	if err == nil && sum != want {
		err = errors.New("it is not what the backup had")
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
