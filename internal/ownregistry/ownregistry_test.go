package ownregistry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/ownregistry"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files map[string]string
		env   map[string]string
		want  ownregistry.Registries
	}{
		{"nothing", nil, nil, ownregistry.Registries{}},
		{"the public registries", map[string]string{"home/.npmrc": "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=x", "etc/pip.conf": "[global]\nindex-url = https://pypi.org/simple"}, nil, ownregistry.Registries{}},
		{
			"files of the user",
			map[string]string{
				"home/.npmrc":               "; mine\nregistry = \"https://npm.example.com/all\"\n//npm.example.com/all/:_authToken=hunter2\n@acme:registry=https://other.example.com/\n",
				"home/.config/pip/pip.conf": "[global]\nindex_url = https://me:hunter2@pypi.example.com/simple?x=1\n[install]\nfind-links = /opt/wheels\n[list]\nindex-url = https://no.example.com\n",
				"etc/npmrc":                 "registry=https://machine.example.com/",
			},
			nil,
			ownregistry.Registries{
				NPM:  ownregistry.Source{URL: "https://npm.example.com/all/", At: "home/.npmrc", Credentials: true},
				PyPI: ownregistry.Source{URL: "https://pypi.example.com/simple/", At: "home/.config/pip/pip.conf", Credentials: true},
				Notes: []string{
					"home/.npmrc: the registry of the scope @acme is not used: one registry serves all packages",
					"home/.config/pip/pip.conf: find-links is not used: one index serves all packages",
				},
			},
		},
		{
			"files of the machine",
			map[string]string{"etc/npmrc": "registry=https://${HOST}/", "etc/pip.conf": "[global]\nindex-url = http://10.0.0.1/simple/"},
			map[string]string{"HOST": "npm.example.com"},
			ownregistry.Registries{NPM: ownregistry.Source{URL: "https://npm.example.com/", At: "etc/npmrc"}, PyPI: ownregistry.Source{URL: "http://10.0.0.1/simple/", At: "etc/pip.conf"}},
		},
		{
			"variables first",
			map[string]string{"home/.npmrc": "registry=https://npm.example.com/\n//first.example.com/:username=me\n//first.example.com/:_password=x"},
			map[string]string{"NPM_CONFIG_REGISTRY": "https://first.example.com", "PIP_INDEX_URL": "https://pip.example.com/simple"},
			ownregistry.Registries{NPM: ownregistry.Source{URL: "https://first.example.com/", At: "$NPM_CONFIG_REGISTRY", Credentials: true}, PyPI: ownregistry.Source{URL: "https://pip.example.com/simple/", At: "$PIP_INDEX_URL"}},
		},
		{"what is no address", map[string]string{"home/.npmrc": "registry=file:///etc\nregistry=https://npm.example.com/", "etc/pip.conf": strings.Repeat("x", 2<<20)}, nil, ownregistry.Registries{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for name, text := range tt.files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := ownregistry.Read(ownregistry.Machine{Home: filepath.Join(root, "home"), Root: root, Lookup: func(name string) (string, bool) {
				value, ok := tt.env[name]
				return value, ok
			}})
			for _, text := range []*string{&got.NPM.At, &got.PyPI.At} {
				*text = strings.TrimPrefix(*text, root+"/")
			}
			for i := range got.Notes {
				got.Notes[i] = strings.TrimPrefix(got.Notes[i], root+"/")
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("Read (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCredentialsOfNeighbours: a credential is for its own address and what lies below
// it, not for one whose text begins in the same way.
func TestCredentialsOfNeighbours(t *testing.T) {
	t.Parallel()
	for registry, want := range map[string]bool{
		"https://npm.example.com/team":           true,
		"https://npm.example.com/team/":          true,
		"https://npm.example.com/team/a":         true,
		"http://npm.example.com/team/a":          true,
		"https://npm.example.com":                false,
		"https://npm.example.com/teams":          false,
		"https://npm.example.com/team.evil/":     false,
		"https://npm.example.com.evil/team/":     false,
		"https://npm.example.com:8443/team/":     false,
		"https://evil/npm.example.com/team/":     false,
		"https://evil/?//npm.example.com/team/":  false,
		"https://port.example.com:8443/x":        true,
		"https://port.example.com/x":             false,
		"https://port.example.com:84430/x":       false,
		"https://pair.example.com/":              true,
		"https://no-password.example.com/":       false,
		"https://no-key.example.com/":            false,
		"https://no-slash.example.com/":          true,
		"https://no-slash.example.com.evil/":     false,
		"https://no-slash.example.community.org": false,
	} {
		home := t.TempDir()
		text := "registry=" + registry + "\n//npm.example.com/team/:_authToken=x\n//port.example.com:8443/:_auth=x\n" +
			"//pair.example.com/:username=me\n//pair.example.com/:_password=x\n//no-password.example.com/:username=me\n" +
			"//no-key.example.com/:=x\n//no-slash.example.com:_authToken=x\n"
		if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ownregistry.Read(ownregistry.Machine{Home: home, Root: home, Lookup: func(string) (string, bool) { return "", false }})
		if got.NPM.Credentials != want {
			t.Errorf("the settings hold a credential for %s: %v, want %v", registry, got.NPM.Credentials, want)
		}
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	r := ownregistry.Registries{NPM: ownregistry.Source{URL: "https://npm.example.com:8443/all/"}}
	for host, want := range map[string]bool{"registry.npmjs.org": true, "npm.example.com:8443": true, "npm.example.com": false, "": false, "169.254.169.254": false} {
		if got := r.Holds(host); got != want {
			t.Errorf("Holds(%q) = %v, want %v", host, got, want)
		}
	}
}
