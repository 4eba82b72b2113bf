package profiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
)

var (
	profileName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	packageName = regexp.MustCompile(`^(@[a-z0-9-]+/)?[a-z0-9][a-z0-9._-]*$`)
	exact       = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+$`)
	debianName  = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	optionName  = regexp.MustCompile(`^--?[A-Za-z][A-Za-z0-9-]*$`)
)

// faults collects what is wrong with a profile.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// checkProfile returns everything that is wrong with a profile.
func (p *Profile) checkProfile() error {
	var f faults
	if !profileName.MatchString(p.Name) {
		f.add("the name of the file is no name of a profile")
	}
	if p.Title == "" {
		f.add("title is missing")
	}
	p.checkMatch(&f)
	p.checkCapabilities(&f)
	for name, v := range p.Env {
		v.checkVariable(name, &f)
	}
	p.checkArguments(&f)
	p.checkEffects(&f)
	if p.Version != "" && !exact.MatchString(p.Version) {
		f.add("version %q is not exact", p.Version)
	}
	for _, name := range p.Beside {
		if !debianName.MatchString(name) {
			f.add("beside: %q is no name of a package", name)
		}
	}
	if p.Proof != nil && (p.Proof.Tool == "" || !bytes.HasPrefix(p.Proof.Arguments, []byte("{")) || !json.Valid(p.Proof.Arguments)) {
		f.add("proof needs a tool and arguments, an object")
	}
	if r := p.Remote; r != nil {
		checkAddress(&f, "remote", r.URL)
		if !slices.Contains([]Login{LoginNone, LoginOAuth, LoginToken}, r.Login) {
			f.add("remote: login %q is not none, oauth or token", r.Login)
		}
		if slices.Contains(r.Remarks, "") {
			f.add("a remark is empty")
		}
	}
	if slices.Contains(p.Remarks, "") {
		f.add("a remark is empty")
	}
	return errors.Join(f...)
}

func (p *Profile) checkMatch(f *faults) {
	m := &p.Match
	if len(m.NPM)+len(m.PyPI)+len(m.Images)+len(m.URLs) == 0 {
		f.add("match names nothing")
	}
	for _, name := range slices.Concat(m.NPM, m.PyPI) {
		if !packageName.MatchString(name) {
			f.add("match: %q is no name of a package", name)
		}
	}
	for _, name := range m.Images {
		if ImageName(name) != name || name == "" {
			f.add("match: %q is no name of an image without tag", name)
		}
	}
	for _, address := range m.URLs {
		checkAddress(f, "match", address)
	}
	if l := p.Instead; l != nil {
		n := 0
		for _, s := range []string{l.NPM, l.PyPI, l.URL} {
			if s != "" {
				n++
			}
		}
		if n != 1 || l.Bearer != "" && (l.URL == "" || !p.Env[l.Bearer].Secret) {
			f.add("instead needs exactly one of npm, pypi and url; bearer is for a url and names a secret of env")
		}
		if l.URL != "" {
			checkAddress(f, "instead", l.URL)
		}
	}
	if len(m.Images) > 0 && p.Launch() == nil && p.Refused == "" {
		f.add("match: nothing takes the place of an image: expected a package, instead or refused")
	}
}

func checkAddress(f *faults, where, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		f.add("%s: %q is no https address without query", where, address)
	}
}

func (v *Variable) checkVariable(name string, f *faults) {
	if !reach.IsEnvName(name) || reach.ReservedEnv(name) {
		f.add("env: %s is no variable that a server may get", name)
	}
	n := 0
	for _, set := range []bool{v.Secret, v.Plain, v.Host, v.Database, v.Path != "", v.Set != "", v.State != ""} {
		if set {
			n++
		}
	}
	if n != 1 {
		f.add("env: %s needs exactly one of secret, plain, host, database, path, set and state", name)
	}
	if v.Path != "" && v.Path != Read && v.Path != Write {
		f.add("env: %s: path is read or write", name)
	}
	if v.State != "" && (strings.HasPrefix(v.State, "/") || strings.Contains(v.State, "..")) {
		f.add("env: %s: %q is not below the state folder", name, v.State)
	}
	if strings.Contains(strings.TrimPrefix(v.Set, Chromium), "${") {
		f.add("env: %s: %q begins with %s alone", name, v.Set, Chromium)
	}
}

func (p *Profile) checkArguments(f *faults) {
	a := &p.Arguments
	if a.Paths != "" && a.Paths != Read && a.Paths != Write {
		f.add("arguments: paths is read or write")
	}
	for _, word := range a.Add {
		option, value, _ := strings.Cut(word, "=")
		if strings.Contains(strings.TrimPrefix(value, Chromium), "${") || option == "" {
			f.add("arguments: %q cannot be added", word)
		}
	}
	for option, name := range a.Secrets {
		if !optionName.MatchString(option) || !p.Env[name].Secret {
			f.add("arguments: secrets maps an option to a secret of env, found %s: %s", option, name)
		}
	}
}

// checkUnique refuses two profiles of one server.
func checkUnique(list []*Profile) error {
	var f faults
	seen := map[string]string{}
	for _, p := range list {
		for kind, names := range map[string][]string{"npm": p.Match.NPM, "pypi": p.Match.PyPI, "image": p.Match.Images, "url": p.Match.URLs} {
			for _, name := range names {
				key := kind + " " + name
				if other := seen[key]; other != "" {
					f.add("%s is matched by %s and %s", key, other, p.Name)
				}
				seen[key] = p.Name
			}
		}
	}
	return errors.Join(f...)
}
