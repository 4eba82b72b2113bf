package config

import (
	"strings"
	"testing"
)

func TestPackages(t *testing.T) {
	const bad, plain = "expected an address such as https://npm.example.com/", "expected https, or http to an address of this machine"
	tests := []struct {
		text string
		want Packages // of what is accepted
		err  string   // in the fault of what is not
	}{
		{text: "{}"},
		{text: `{npm: "https://npm.example.com/repository/npm/"}`, want: Packages{NPM: "https://npm.example.com/repository/npm/"}},
		{text: `{npm: "http://127.0.0.1:4873/", allow_private: true}`, want: Packages{NPM: "http://127.0.0.1:4873/", AllowPrivate: true}},
		{text: `{npm: "http://[::1]:4873/"}`, want: Packages{NPM: "http://[::1]:4873/"}},
		{text: `{pypi: "http://localhost:3141/root/pypi/+simple/", pypi_files: "https://files.example.com"}`, want: Packages{
			PyPI: "http://localhost:3141/root/pypi/+simple/", PyPIFiles: "https://files.example.com",
		}},
		{text: `{npm: "http://npm.example.com/"}`, err: plain},
		{text: `{npm: "http://127.0.0.1.example.com/"}`, err: plain},
		{text: `{npm: "http://10.0.0.1/"}`, err: plain},
		{text: `{pypi: "ftp://127.0.0.1/"}`, err: plain},
		{text: `{npm: "https://me:hunter2@npm.example.com/"}`, err: bad},
		{text: `{npm: "https://npm.example.com/?token=hunter2"}`, err: bad},
		{text: `{npm: "https://npm.example.com/#hunter2"}`, err: bad},
		{text: `{npm: "npm.example.com"}`, err: bad},
		{text: `{npm: "https:///path"}`, err: bad},
		{text: `{npm: "https://npm.example.com/` + strings.Repeat("x", 2<<10) + `"}`, err: bad},
		{text: `{npm: true}`, err: "expected text"},
		{text: `{gem: "https://x.example"}`, err: "unknown key"},
	}
	for _, tt := range tests {
		t.Run(tt.text[:min(len(tt.text), 60)], func(t *testing.T) {
			c, err := Parse("s.yaml", []byte("version: 1\npackages: "+tt.text+"\n"), testOptions())
			switch {
			case tt.err == "" && (err != nil || c.Packages != tt.want):
				t.Errorf("Parse = %+v, %v, want %+v", c, err, tt.want)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("Parse = %v, want %q", err, tt.err)
			case err != nil && strings.Contains(err.Error(), "hunter2"):
				t.Errorf("the fault shows a secret: %v", err)
			}
		})
	}
}
