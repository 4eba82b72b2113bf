package safekeeping

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/importer"
)

const (
	registryURL = "https://npm.example.com/"
	registryRef = "registries/npm/npm.example.com"
	ownToken    = "token-of-the-registry"
	inFile      = "file .sallyport/secrets.age"
)

// newProject returns the environment of a project beside the home of a user, whose npm
// has a token.
func newProject(t *testing.T, secrets string) (*app.Environment, []string) {
	t.Helper()
	root := t.TempDir()
	env := &app.Environment{
		Stderr: io.Discard, Dir: filepath.Join(root, "project"), Home: filepath.Join(root, "home"),
		Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
		Ask: func(context.Context, string) (string, error) {
			t.Error("the user is asked")
			return "", errors.New("no answer")
		},
	}
	write(t, filepath.Join(env.Home, ".npmrc"), "registry="+registryURL+"\n//npm.example.com/:_authToken="+ownToken+"\n")
	write(t, filepath.Join(env.Dir, app.ConfigName), "version: 2\npersonalities:\n  default: {tools: []}\nsecrets: "+secrets+"\n")
	return env, []string{filepath.Join(env.Dir, app.ConfigName)}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// storedValue returns the value in the file of the configuration.
func storedValue(t *testing.T, env *app.Environment, paths []string) string {
	t.Helper()
	rt, err := app.OpenForSecrets(t.Context(), env, paths)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	file, err := FindStore(rt, Choice{Store: "file"})
	if err != nil {
		return ""
	}
	value, _, err := file.Source.Secret(t.Context(), registryRef)
	if err != nil {
		t.Fatal(err)
	}
	return value.Reveal()
}

// setValue stores a value as a user does.
func setValue(t *testing.T, env *app.Environment, paths []string, value string) {
	t.Helper()
	rt, err := app.OpenForSecrets(t.Context(), env, paths)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	file, err := FindStore(rt, Choice{})
	if err == nil {
		_, err = SetSecret(t.Context(), rt, file, registryRef, sallyport.NewSecret(value))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestStoreCredential(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, secrets string
		prepare       func(t *testing.T, env *app.Environment, paths []string)
		address       string
		want          importer.StoredCredential
		refused       string
		value         string
	}{
		{"a new file", "[{env: SALLYPORT_SECRET_}, {file: .sallyport/secrets.age}]", nil, registryURL, importer.StoredCredential{Source: inFile, Stored: true, Noted: true}, "", ownToken},
		{"another host", "[{file: .sallyport/secrets.age}]", nil, "https://npm.example.com.evil/", importer.StoredCredential{}, "not in a form", ""},
		{"a value in the file", "[{file: .sallyport/secrets.age}]", func(t *testing.T, env *app.Environment, paths []string) {
			setValue(t, env, paths, "the-users-own-token")
		}, registryURL, importer.StoredCredential{Source: inFile}, "", "the-users-own-token"},
		{"a value in a folder", "[{file: .sallyport/secrets.age}, {dir: ../secrets}]", func(t *testing.T, env *app.Environment, _ []string) {
			write(t, filepath.Join(env.Dir, "..", "secrets", registryRef), "the-users-own-token")
		}, registryURL, importer.StoredCredential{Source: "folder "}, "", ""},
		{"a value in a variable", "[{file: .sallyport/secrets.age}, {env: SALLYPORT_SECRET_}]", func(_ *testing.T, env *app.Environment, _ []string) {
			env.Pairs = func() []string {
				return []string{"SALLYPORT_SECRET_REGISTRIES_NPM_NPM_EXAMPLE_COM=the-users-own-token"}
			}
		}, registryURL, importer.StoredCredential{Source: "variable "}, "", ""},
		{"no file", "[{env: SALLYPORT_SECRET_}]", nil, registryURL, importer.StoredCredential{}, "names no file", ""},
		{"a file behind a keychain", "[{keychain: sallyport}, {file: .sallyport/secrets.age}]", nil, registryURL, importer.StoredCredential{Source: inFile, Stored: true, Noted: true}, "", ownToken},
		{"a keychain that it would hide", "[{file: .sallyport/secrets.age}, {keychain: sallyport}]", nil, registryURL, importer.StoredCredential{}, "another source", ""},
		{"a file with a passphrase", "[{file: .sallyport/secrets.age}]", func(t *testing.T, env *app.Environment, _ []string) {
			write(t, filepath.Join(env.Dir, app.StateDir, "secrets.age"), sealedByPassphrase(t))
		}, registryURL, importer.StoredCredential{}, "sealed by a passphrase", "locked"},
		{"a state that ends", "[{file: .sallyport/secrets.age}]\nstate: memory", nil, registryURL, importer.StoredCredential{}, "state in memory", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env, paths := newProject(t, tt.secrets)
			if tt.prepare != nil {
				tt.prepare(t, env, paths)
			}
			got, err := StoreCredential(t.Context(), env, paths, "cursor", "npm", tt.address)
			if kind, _, _ := strings.Cut(got.Source, " "); strings.HasSuffix(tt.want.Source, " ") && kind+" " == tt.want.Source {
				got.Source = tt.want.Source
			}
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) || strings.Contains(err.Error(), ownToken) || got.Stored {
					t.Errorf("StoreCredential = %+v, %v, want the error %q", got, err, tt.refused)
				}
			} else if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("StoreCredential (-want +got): %v\n%s", err, diff)
			}
			if tt.value == "locked" {
				return
			}
			if value := storedValue(t, env, paths); value != tt.value {
				t.Errorf("the file has %q, want %q", value, tt.value)
			}
		})
	}
}

// sealedByPassphrase returns a file without a secret.
func sealedByPassphrase(t *testing.T) string {
	t.Helper()
	to, err := age.NewScryptRecipient("a passphrase")
	if err != nil {
		t.Fatal(err)
	}
	to.SetWorkFactor(10)
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to)
	if err == nil {
		_, err = io.WriteString(w, "{}")
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return sealed.String()
}

// TestRemoveCredentials: what imports stored goes with the last client that needs it,
// and what the user stored or changed stays.
func TestRemoveCredentials(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		stored  []string // the clients whose imports store it
		after   string   // what the user sets then
		remove  []string
		refs    []string
		removed int
		value   string
	}{
		{"one client", []string{"cursor"}, "", []string{"cursor"}, nil, 1, ""},
		{"another client", []string{"cursor"}, "", []string{"zed"}, nil, 0, ownToken},
		{"the first of two", []string{"cursor", "zed"}, "", []string{"cursor"}, nil, 0, ownToken},
		{"both", []string{"cursor", "zed"}, "", []string{"zed", "cursor"}, nil, 1, ""},
		{"another reference", []string{"cursor"}, "", []string{"cursor"}, []string{"registries/npm/other"}, 0, ownToken},
		{"a changed value", []string{"cursor"}, "the-users-own-token", []string{"cursor"}, nil, 0, "the-users-own-token"},
		{"the same value, as the user's own", []string{"cursor"}, ownToken, []string{"cursor"}, nil, 0, ownToken},
		{"a value that no import stored", nil, ownToken, []string{"cursor"}, nil, 0, ownToken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env, paths := newProject(t, "[{file: .sallyport/secrets.age}]")
			for _, client := range tt.stored {
				if _, err := StoreCredential(t.Context(), env, paths, client, "npm", registryURL); err != nil {
					t.Fatal(err)
				}
			}
			if tt.after != "" {
				setValue(t, env, paths, tt.after)
			}
			removed := 0
			for _, client := range tt.remove {
				list, err := RemoveCredentials(t.Context(), env, paths, client, tt.refs)
				if err != nil {
					t.Fatal(err)
				}
				removed += len(list)
			}
			if value := storedValue(t, env, paths); value != tt.value || removed != tt.removed {
				t.Errorf("%d are removed and the file has %q, want %d and %q", removed, value, tt.removed, tt.value)
			}
		})
	}
}

// TestRemoveCredentialsMakesNoState: a rollback of an import that stored nothing leaves
// no state behind.
func TestRemoveCredentialsMakesNoState(t *testing.T) {
	t.Parallel()
	env, paths := newProject(t, "[{file: .sallyport/secrets.age}]")
	if list, err := RemoveCredentials(t.Context(), env, paths, "cursor", nil); err != nil || len(list) > 0 {
		t.Errorf("RemoveCredentials = %v, %v", list, err)
	}
	if _, err := os.Lstat(filepath.Join(env.Dir, app.StateDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the state: %v", err)
	}
}
