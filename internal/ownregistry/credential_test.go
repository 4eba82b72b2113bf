package ownregistry_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport/internal/ownregistry"
)

func TestReadCredential(t *testing.T) {
	t.Parallel()
	const npm, pypi = "https://npm.example.com/team/", "https://pypi.example.com/simple/"
	env := map[string]string{"TOKEN": "token-of-the-variable", "EMPTY": ""}
	for _, tt := range []struct{ name, npmrc, pip, npm, pypi string }{
		{"nothing", "", "", "", ""},
		{"a token", "//npm.example.com/team/:_authToken=token-of-npm", "", "token-of-npm", ""},
		{"the longest address wins", "//npm.example.com/:_authToken=token-of-all\n//npm.example.com/team/:_authToken=token-of-team", "", "token-of-team", ""},
		{"the address above", "//npm.example.com/:_authToken=token-of-all\n//npm.example.com/other/:_authToken=token-of-other", "", "token-of-all", ""},
		{"the first of two", "//npm.example.com/team/:_authToken=first-token\n//npm.example.com/team/:_authToken=second-token", "", "first-token", ""},
		{"another host", "//npm.example.community/team/:_authToken=x-x-x-x\n//npm.example.com.evil/team/:_authToken=y-y-y-y\n//npm.example/:_authToken=z-z-z-z", "", "", ""},
		{"a variable", "//npm.example.com/:_authToken=${TOKEN}", "", "token-of-the-variable", ""},
		{"a variable that is not set", "//npm.example.com/:_authToken=${MISSING}x", "", "", ""},
		{"an empty variable", "//npm.example.com/:_authToken=${EMPTY}", "", "", ""},
		{"a pair", "//npm.example.com/:_auth=YW5uOnBhc3N3b3JkLW9mLWFubmFubg==", "", "ann:password-of-annann", ""},
		{"a pair without padding", "//npm.example.com/:_auth=YW5uOnBhc3N3b3JkLW9mLWFubmFubg", "", "ann:password-of-annann", ""},
		{"a pair that is none", "//npm.example.com/:_auth=token-in-plain", "", "", ""},
		{"user and password", "//npm.example.com/:username=ann\n//npm.example.com/:_password=cGFzczp3b3Jk", "", "ann:pass:word", ""},
		{"a password alone", "//npm.example.com/:_password=cGFzczp3b3Jk", "", "", ""},
		{"a password in plain", "//npm.example.com/:username=ann\n//npm.example.com/:_password=pass:word", "", "", ""},
		{"a token like a pair", "//npm.example.com/:_authToken=a:bcdefgh", "", "", ""},
		{"a token with a blank", "//npm.example.com/:_authToken=a b", "", "", ""},
		{"a user in the address", "registry=https://ann:secret-of-ann@npm.example.com/team", "", "ann:secret-of-ann", ""},
		{"another registry", "registry=https://ann:secret-of-ann@npm.example.com/other", "", "", ""},
		{"pip", "", "[global]\nindex-url = https://ann:p%40ss-word@pypi.example.com/simple", "", "ann:p@ss-word"},
		{"pip knows no variables in its file", "", "[global]\nindex-url = https://ann:${TOKEN}@pypi.example.com/simple", "", ""},
		{"npm does", "registry=https://ann:${TOKEN}@npm.example.com/team", "", "ann:token-of-the-variable", ""},
		{"a user of pip alone", "", "[global]\nindex-url = https://ann@pypi.example.com/simple", "", ""},
		{"another index", "", "[global]\nindex-url = https://ann:password@pypi.example.com.evil/simple", "", ""},
		{"another section", "", "[list]\nindex-url = https://ann:password@pypi.example.com/simple", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			for name, text := range map[string]string{".npmrc": tt.npmrc, "pip.conf": tt.pip} {
				if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m := ownregistry.Machine{Home: home, Root: home, Lookup: func(name string) (string, bool) {
				if name == "PIP_CONFIG_FILE" {
					return filepath.Join(home, "pip.conf"), true
				}
				value, ok := env[name]
				return value, ok
			}}
			for registry, want := range map[string]string{"npm": tt.npm, "pypi": tt.pypi} {
				value, ok := ownregistry.ReadCredential(m, registry, map[string]string{"npm": npm, "pypi": pypi}[registry])
				if value.Reveal() != want || ok != (want != "") {
					t.Errorf("ReadCredential of %s = %q, %v, want %q", registry, value.Reveal(), ok, want)
				}
			}
		})
	}
}
