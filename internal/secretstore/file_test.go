package secretstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
)

var (
	_ Store  = (*File)(nil)
	_ Lister = (*File)(nil)
)

func newIdentity(t *testing.T) string {
	t.Helper()
	text, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newFile(t *testing.T, path, identity string) *File {
	t.Helper()
	var change sync.Mutex
	read := func(context.Context) (string, error) { return identity, nil }
	return NewFile(path, &FileOptions{
		Identities: []func(context.Context) (string, error){read}, Seal: read,
		Exclusive: func(do func() error) error {
			change.Lock()
			defer change.Unlock()
			return do()
		},
	})
}

func setValue(t *testing.T, s Store, ref, value string) {
	t.Helper()
	if err := s.Set(t.Context(), ref, sallyport.NewSecret(value)); err != nil {
		t.Fatalf("Set(%s) = %v", ref, err)
	}
}

func TestFileHoldsWhatWasSet(t *testing.T) {
	path, identity := filepath.Join(t.TempDir(), "new", "secrets.age"), newIdentity(t)
	f := newFile(t, path, identity)
	if _, ok, err := f.Secret(t.Context(), "a/b"); ok || err != nil {
		t.Errorf("Secret(a/b) of a missing file = %t, %v, want neither", ok, err)
	}
	setValue(t, f, "a/b", "first value")
	setValue(t, f, "c", "second value")
	setValue(t, f, "a/b", "third value")
	if ok, err := f.Remove(t.Context(), "c"); !ok || err != nil {
		t.Errorf("Remove(c) = %t, %v, want true", ok, err)
	}
	if ok, err := f.Remove(t.Context(), "c"); ok || err != nil {
		t.Errorf("Remove(c) again = %t, %v, want false", ok, err)
	}
	again := newFile(t, path, identity)
	for _, f := range []*File{f, again} {
		if got, ok, err := f.Secret(t.Context(), "a/b"); err != nil || !ok || got.Reveal() != "third value" {
			t.Errorf("Secret(a/b) = %q, %t, %v, want the last value", got.Reveal(), ok, err)
		}
		if d := cmp.Diff([]string{"third value"}, known(t, f)); d != "" {
			t.Errorf("Known (-want +got):\n%s", d)
		}
		if refs, err := f.Refs(t.Context()); err != nil || !cmp.Equal(refs, []string{"a/b"}) {
			t.Errorf("Refs = %v, %v, want a/b", refs, err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || bytes.Contains(text, []byte("value")) || bytes.Contains(text, []byte("a/b")) {
		t.Errorf("the file shows what it holds: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestFileSeesWhatAnotherProcessWrites(t *testing.T) {
	path, identity := filepath.Join(t.TempDir(), "secrets.age"), newIdentity(t)
	here, there := newFile(t, path, identity), newFile(t, path, identity)
	setValue(t, here, "a", "first value")
	setValue(t, there, "a", "second value")
	if got, _, err := here.Secret(t.Context(), "a"); err != nil || got.Reveal() != "second value" {
		t.Errorf("Secret(a) = %q, %v, want what the other wrote", got.Reveal(), err)
	}
}

func TestFileKeepsEveryWriteOfTwoWriters(t *testing.T) {
	path, identity := filepath.Join(t.TempDir(), "secrets.age"), newIdentity(t)
	one := newFile(t, path, identity)
	two := NewFile(path, &one.o)
	var writers sync.WaitGroup
	for i, f := range []*File{one, two} {
		writers.Go(func() {
			for n := range 10 {
				if err := f.Set(t.Context(), fmt.Sprintf("w%d/%d", i, n), sallyport.NewSecret("some value")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if refs, err := one.Refs(t.Context()); err != nil || len(refs) != 20 {
		t.Errorf("Refs = %v, %v, want all 20", refs, err)
	}
}

func TestFileByPassphrase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets.age")
	asked := 0
	word := "correct horse"
	o := &FileOptions{Passphrase: func(_ context.Context, again bool) (string, error) {
		asked++
		return word, nil
	}}
	writer := NewFile(path, o)
	writer.work = 2
	setValue(t, writer, "a", "first value")
	setValue(t, writer, "b", "second value")
	if asked != 1 {
		t.Errorf("two changes asked %d times, want once", asked)
	}
	reader := NewFile(path, o)
	if d := cmp.Diff([]string(nil), known(t, reader)); d != "" || asked != 1 {
		t.Errorf("Known of a locked file asked %d times (-want +got):\n%s", asked, d)
	}
	word = "wrong horse"
	if _, ok, err := reader.Secret(t.Context(), "a"); ok || !errors.Is(err, errNotOpened) {
		t.Errorf("Secret(a) with a wrong passphrase = %t, %v, want a refusal", ok, err)
	}
	word = "correct horse"
	if got, ok, err := reader.Secret(t.Context(), "a"); err != nil || !ok || got.Reveal() != "first value" {
		t.Errorf("Secret(a) = %q, %t, %v, want the value", got.Reveal(), ok, err)
	}
	if _, ok, err := NewFile(path, nil).Secret(t.Context(), "a"); ok || !errors.Is(err, ErrLocked) {
		t.Errorf("Secret(a) without a terminal = %t, %v, want ErrLocked", ok, err)
	}
}

// TestFileTriesEveryIdentity: one place may have the identity of another file,
// and another place none.
func TestFileTriesEveryIdentity(t *testing.T) {
	path, identity := filepath.Join(t.TempDir(), "secrets.age"), newIdentity(t)
	setValue(t, newFile(t, path, identity), "a", "first value")
	place := func(text string, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return text, err }
	}
	locked := errors.New("locked")
	for name, tt := range map[string]struct {
		places []func(context.Context) (string, error)
		want   error
	}{
		"second":   {[]func(context.Context) (string, error){place(newIdentity(t), nil), place(identity, nil)}, nil},
		"after":    {[]func(context.Context) (string, error){place("", nil), place("", locked), place(identity, nil)}, nil},
		"none":     {[]func(context.Context) (string, error){place("", nil)}, ErrNoIdentity},
		"no place": {nil, ErrNoIdentity},
		"another":  {[]func(context.Context) (string, error){place(newIdentity(t), nil), place("", nil)}, errNotOpened},
		"locked":   {[]func(context.Context) (string, error){place(newIdentity(t), nil), place("", locked)}, locked},
	} {
		f := NewFile(path, &FileOptions{Identities: tt.places})
		if _, ok, err := f.Secret(t.Context(), "a"); !errors.Is(err, tt.want) || ok != (tt.want == nil) {
			t.Errorf("%s: Secret(a) = %t, %v, want %v", name, ok, err, tt.want)
		}
	}
}

func TestFileThatCannotBeOpened(t *testing.T) {
	identity := newIdentity(t)
	whole := filepath.Join(t.TempDir(), "whole.age")
	setValue(t, newFile(t, whole, identity), "a", "first value")
	sealed, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	sealText := func(text string) []byte {
		ids, _ := age.ParseIdentities(strings.NewReader(identity))
		var out bytes.Buffer
		w, err := age.Encrypt(&out, ids[0].(*age.X25519Identity).Recipient())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return out.Bytes()
	}
	tests := []struct {
		name     string
		content  []byte
		mode     os.FileMode
		identity string
		want     string
	}{
		{name: "empty", content: []byte{}, want: "broken"},
		{name: "no age file", content: []byte("a: first value\n"), want: "broken"},
		{name: "cut short", content: sealed[:len(sealed)-8], want: "broken"},
		{name: "half a header", content: sealed[:60], want: "broken"},
		{name: "changed", content: flipped, want: "broken"},
		{name: "of another identity", content: sealed, identity: newIdentity(t), want: "does not open it"},
		{name: "broken identity", content: sealed, identity: "AGE-SECRET-KEY-1QQ\n", want: "its identity is broken"},
		{name: "open to others", content: sealed, mode: 0o644, want: "chmod 600"},
		{name: "huge", content: bytes.Repeat([]byte{'x'}, maxSealedBytes+1), want: "larger than"},
		{name: "no JSON", content: sealText("first value"), want: "expected one JSON object"},
		{name: "no object", content: sealText(`["first value"]`), want: "expected one JSON object"},
		{name: "two documents", content: sealText(`{"a":"first value"}{}`), want: "expected one JSON object"},
		{name: "null", content: sealText(`null`), want: "expected one JSON object"},
		{name: "no reference", content: sealText(`{"a//b":"first value"}`), want: "not a secret reference"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "secrets.age")
			if tt.mode == 0 {
				tt.mode = 0o600
			}
			if tt.identity == "" {
				tt.identity = identity
			}
			if err := os.WriteFile(path, tt.content, tt.mode); err != nil {
				t.Fatal(err)
			}
			f := newFile(t, path, tt.identity)
			for what, err := range map[string]error{
				"Secret": second(f.Secret(t.Context(), "a")), "Known": last(f.Known(t.Context())), "Refs": last(f.Refs(t.Context())),
				"Set": f.Set(t.Context(), "b", sallyport.NewSecret("second value")),
			} {
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "first value") || strings.Contains(err.Error(), "SECRET-KEY-1QQ") {
					t.Errorf("%s = %v, want %q and no value", what, err, tt.want)
				}
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, tt.content) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

func second(_ sallyport.Secret, _ bool, err error) error { return err }

func last[T any](_ T, err error) error { return err }

func TestFileRefusesValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets.age")
	f := newFile(t, path, newIdentity(t))
	setValue(t, f, "largest", strings.Repeat("x", 64<<10))
	tests := []struct{ name, ref, value, want string }{
		{"short", "a", "1234567", "fewer than 8 bytes"},
		{"empty", "a", "", "fewer than 8 bytes"},
		{"huge", "a", strings.Repeat("x", 64<<10+1), "larger than 65536 bytes"},
		{"not text", "a", "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8", "not text in UTF-8"},
		{"blank", "a", "        ", "secret a is refused"},
		{"pattern", "a/*", "first value", "pattern"},
		{"two dots", "../a", "first value", "segment"},
	}
	for _, tt := range tests {
		err := f.Set(t.Context(), tt.ref, sallyport.NewSecret(tt.value))
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.value != "" && strings.Contains(err.Error(), tt.value) {
			t.Errorf("%s: Set = %v, want %q and no value", tt.name, err, tt.want)
		}
	}
	if refs, err := f.Refs(t.Context()); err != nil || !cmp.Equal(refs, []string{"largest"}) {
		t.Errorf("Refs = %v, %v, want the one before", refs, err)
	}
}

// TestFileOfSeveralRecipientsStays: sealing it again would shut the others out.
func TestFileOfSeveralRecipientsStays(t *testing.T) {
	path, identity := filepath.Join(t.TempDir(), "secrets.age"), newIdentity(t)
	ids, err := age.ParseIdentities(strings.NewReader(identity + newIdentity(t)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, ids[1].(*age.X25519Identity).Recipient(), ids[0].(*age.X25519Identity).Recipient())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte(`{"a":"first value"}`))
	_ = w.Close()
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFile(t, path, identity)
	if got, ok, err := f.Secret(t.Context(), "a"); err != nil || !ok || got.Reveal() != "first value" {
		t.Errorf("Secret(a) = %q, %t, %v, want the value", got.Reveal(), ok, err)
	}
	if err := f.Set(t.Context(), "b", sallyport.NewSecret("second value")); err == nil || !strings.Contains(err.Error(), "several recipients") {
		t.Errorf("Set = %v, want a refusal", err)
	}
}

func known(t *testing.T, s sallyport.SecretSource) []string {
	t.Helper()
	list, err := s.Known(t.Context())
	if err != nil {
		t.Fatalf("Known = %v", err)
	}
	var values []string
	for _, k := range list {
		values = append(values, k.Reveal())
	}
	return values
}
