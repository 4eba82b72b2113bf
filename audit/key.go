package audit

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport/sallyport/internal/fsx"
)

// KeyBytes is the length of a key: that of the hash, beyond which HMAC gains
// nothing (RFC 2104, section 3).
const KeyBytes = 32

const redacted = "[redacted]"

// Key seals records. It does not print. The zero Key is refused everywhere.
type Key struct {
	// Two pointers deep, because package fmt cannot call Format on an
	// unexported field of another struct: it prints an address then, and
	// for a verb that does not fit, what that address points to.
	box *secretBox
}

type secretBox struct{ secret *[KeyBytes]byte }

func (k Key) secretBytes() []byte { return k.box.secret[:] }

// NewKey makes a key from [KeyBytes] random bytes, which it copies.
func NewKey(secret []byte) (Key, error) {
	if len(secret) != KeyBytes {
		return Key{}, fmt.Errorf("audit: a key has %d bytes, this one has %d", KeyBytes, len(secret))
	}
	return Key{&secretBox{(*[KeyBytes]byte)(bytes.Clone(secret))}}, nil
}

// IsZero reports whether k is not a key.
func (k Key) IsZero() bool { return k.box == nil }

// ID names the key without giving it away: 16 hex digits.
func (k Key) ID() string {
	if k.IsZero() {
		return ""
	}
	h := newSealer(k).computeMAC([]byte("sallyport/audit/key-id/1\n"))
	return hex.EncodeToString(h[:8])
}

// Derive returns another secret of [KeyBytes] bytes for a purpose, from which
// neither this key nor what it derives for another purpose can be found.
func (k Key) Derive(purpose string) []byte {
	h := newSealer(k).computeMAC([]byte("sallyport/audit/derive/1\n" + purpose))
	return h[:]
}

// Format writes "[redacted]" for every verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String returns "[redacted]".
func (Key) String() string { return redacted }

// LogValue returns "[redacted]".
func (Key) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON writes "[redacted]".
func (Key) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }

// MarshalText writes "[redacted]".
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LoadKey reads the key file at path and creates it when there is none, with
// a missing directory. Of several processes that do so at once, one creates
// the file and all return its key. See [ReadKey] for what is refused.
func LoadKey(path string) (Key, error) {
	k, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Key{}, fmt.Errorf("audit: key file: %w", err)
	}
	if err := createKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, fmt.Errorf("audit: key file: %w", err)
	}
	return ReadKey(path)
}

// ReadKey reads the key file at path. It refuses a file that is not regular,
// that others than its owner may use, or that holds no key. The error
// matches fs.ErrNotExist when there is no file.
func ReadKey(path string) (Key, error) {
	// A file system without hard links shows the file for a moment before
	// its content; see createKey.
	const tries, pause = 20, 10 * time.Millisecond
	for i := 1; ; i++ {
		k, empty, err := readKey(path)
		if !empty || i == tries {
			return k, err
		}
		time.Sleep(pause)
	}
}

func readKey(path string) (k Key, empty bool, err error) {
	f, err := openKey(path)
	if err != nil {
		return Key{}, false, fmt.Errorf("audit: key file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Key{}, false, fmt.Errorf("audit: key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Key{}, false, fmt.Errorf("audit: key file %s is not a regular file", path)
	}
	if err := checkPrivate(info); err != nil {
		return Key{}, false, fmt.Errorf("audit: key file %s %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, 2*KeyBytes+2))
	if err != nil {
		return Key{}, false, fmt.Errorf("audit: key file: %w", err)
	}
	var secret [KeyBytes]byte
	digits := bytes.TrimSuffix(text, []byte("\n"))
	if len(digits) != 2*KeyBytes {
		return Key{}, len(text) == 0, fmt.Errorf("audit: key file %s does not hold a key of %d hex digits", path, 2*KeyBytes)
	}
	if _, err := hex.Decode(secret[:], digits); err != nil {
		// The cause would quote a digit.
		return Key{}, false, fmt.Errorf("audit: key file %s does not hold a key of %d hex digits", path, 2*KeyBytes)
	}
	return Key{&secretBox{&secret}}, false, nil
}

// createKey writes a fresh key to a private temporary file and links it to
// path, so that no process ever sees half of it. The error matches fs.ErrExist
// when another process was first.
func createKey(path string) error {
	var secret [KeyBytes]byte
	// This read cannot fail since Go 1.24: it would abort the program.
	_, _ = rand.Read(secret[:])
	text := append(hex.AppendEncode(nil, secret[:]), '\n')

	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err := writeKey(tmp, text); err != nil {
		return err
	}
	err = os.Link(tmp.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// No hard links here. O_EXCL still lets one process win; the others
		// wait for the content in ReadKey.
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return writeKey(f, text)
	}
	if err != nil {
		return err
	}
	return fsx.SyncDir(filepath.Dir(path))
}

func writeKey(f *os.File, text []byte) error {
	_, err := f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
