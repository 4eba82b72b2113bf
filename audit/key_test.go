package audit_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sallyport/sallyport/audit"
)

func TestLoadKeyCreatesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir", "audit.key")
	if _, err := audit.ReadKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("ReadKey of no file = %v, want fs.ErrNotExist", err)
	}
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			k, err := audit.LoadKey(path)
			if err != nil {
				t.Errorf("LoadKey = %v", err)
			}
			ids[i] = k.ID()
		})
	}
	wg.Wait()
	for i := range ids {
		if len(ids[i]) != 16 || ids[i] != ids[0] {
			t.Errorf("caller %d has key %q, caller 0 has %q", i, ids[i], ids[0])
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v, want the key alone", entries, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	other, err := audit.LoadKey(path + "2")
	if err != nil || other.ID() == ids[0] {
		t.Errorf("LoadKey of another path = %s, %v, want another key", other.ID(), err)
	}
}

func TestReadKeyRefuses(t *testing.T) {
	digits := strings.Repeat("ab", 32)
	tests := []struct {
		name string
		text string
		mode fs.FileMode
	}{
		{"readable by the group", digits + "\n", 0o640},
		{"readable by the world", digits + "\n", 0o604},
		{"writable by the group", digits + "\n", 0o620},
		{"empty", "", 0o600},
		{"short", digits[2:], 0o600},
		{"long", digits + "ab", 0o600},
		{"two lines", digits + "\n\n", 0o600},
		{"no hex", strings.Repeat("zz", 32), 0o600},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && tt.mode != 0o600 {
				t.Skip("permission bits say nothing on Windows")
			}
			path := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			for name, load := range map[string]func(string) (audit.Key, error){"ReadKey": audit.ReadKey, "LoadKey": audit.LoadKey} {
				var k audit.Key
				var err error
				// The wait for another process that creates the file.
				synctest.Test(t, func(*testing.T) { k, err = load(path) })
				if err == nil || !k.IsZero() {
					t.Errorf("%s = %v, want an error", name, err)
				}
				if err != nil && (strings.Contains(err.Error(), "abab") || strings.Contains(err.Error(), "'z'")) {
					t.Errorf("%s = %v, want no digit of the key in it", name, err)
				}
			}
			if got, _ := os.ReadFile(path); string(got) != tt.text {
				t.Errorf("the file holds %q now, want it unchanged", got)
			}
		})
	}
	if _, err := audit.ReadKey(t.TempDir()); err == nil {
		t.Error("ReadKey of a directory = no error")
	}
}

func TestKeyDoesNotPrint(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	k, err := audit.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	type holder struct {
		inner audit.Key
		Outer audit.Key
	}
	var out strings.Builder
	h := holder{k, k}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		fmt.Fprintf(&out, verb, k)
		fmt.Fprintf(&out, verb, &k)
		fmt.Fprintf(&out, verb, h)
		fmt.Fprintf(&out, verb, &h)
	}
	text, err := json.Marshal(map[string]any{"k": k, "h": h})
	if err != nil {
		t.Fatal(err)
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("key", "k", k, "h", h)
	slog.New(slog.NewTextHandler(&out, nil)).Info("key", "k", k, "h", h)
	out.Write(text)
	if text, err = k.MarshalText(); err != nil || string(text) != "[redacted]" {
		t.Errorf("MarshalText = %q, %v, want [redacted]", text, err)
	}
	out.WriteString(k.String())
	for _, form := range []string{
		string(secret), hex.EncodeToString(secret), strings.ToUpper(hex.EncodeToString(secret)), strings.Trim(fmt.Sprint(secret), "[]"),
	} {
		if strings.Contains(out.String(), form) {
			t.Errorf("the output holds the key as %q", form)
		}
	}
	if _, err := audit.NewKey(secret[1:]); err == nil {
		t.Error("NewKey of 31 bytes = no error")
	}
	// The key is a copy.
	id := k.ID()
	secret[0]++
	if k.ID() != id {
		t.Error("the key changed with the slice that it was made from")
	}
}
