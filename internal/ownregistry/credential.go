package ownregistry

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/sallyport/sallyport"
)

// ReadCredential returns what the settings of this machine send to a package registry,
// "npm" or "pypi", in the form in which [SecretRef] finds it: a token, or a user and a
// password with a colon between them. ok is false when they hold none, when the
// registry that they name is another one, and when the value could not be sent as it is.
func ReadCredential(m Machine, registry, address string) (value sallyport.Secret, ok bool) {
	text := ""
	switch registry {
	case "npm":
		all := m.listNPM()
		text = findUser(all, address, func(s *setting) (string, bool) {
			return expandVariables(s.value, m.Lookup), s.name == "registry"
		})
		if c := findNPMCredential(all, address); c != nil && text == "" {
			text = c.joinFields(m.Lookup)
		}
	case "pypi":
		text = findUser(m.listPip(), address, func(s *setting) (string, bool) { return s.value, s.isIndex() })
	}
	// The installation sends no value with one of these.
	if text == "" || strings.ContainsAny(text, " \t\r\n\x00\"'#;") || strings.Contains(text, "${") {
		return sallyport.Secret{}, false
	}
	return sallyport.NewSecret(text), true
}

// findUser returns the user and the password in the address of a registry: that of the
// first setting which is one, when it means the registry of an address.
func findUser(all []setting, address string, readRegistry func(*setting) (text string, ok bool)) string {
	for k := range all {
		text, ok := readRegistry(&all[k])
		if !ok {
			continue
		}
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil || u.User == nil || newSource(text, "").URL != address {
			return ""
		}
		password, _ := u.User.Password()
		return joinUser(u.User.Username(), password)
	}
	return ""
}

// joinUser returns a user and a password with a colon between them, or an empty text
// when one is missing or the user has a colon.
func joinUser(user, password string) string {
	if user == "" || password == "" || strings.Contains(user, ":") {
		return ""
	}
	return user + ":" + password
}

// npmCredential is what the files of npm hold for one address and everything below
// it, as it is written there.
type npmCredential struct {
	// token is _authToken, pair is _auth, password is _password.
	token, pair, user, password string
}

// isWhole reports whether npm would send it.
func (c *npmCredential) isWhole() bool {
	return c != nil && (c.token != "" || c.pair != "" || c.user != "" && c.password != "")
}

// setField sets the field that a setting names. The first setting of a name wins, as
// in npm.
func (c *npmCredential) setField(name, value string) {
	field := map[string]*string{"_authToken": &c.token, "_auth": &c.pair, "username": &c.user, "_password": &c.password}[name]
	if field != nil && *field == "" {
		*field = value
	}
}

// joinFields returns the value that npm would send, or an empty text when a variable in
// it is not set, or when it cannot be told from one of another kind.
func (c *npmCredential) joinFields(lookup func(string) (string, bool)) string {
	set := true
	expand := func(text string) string {
		return expandVariables(text, func(name string) (string, bool) {
			value, ok := lookup(name)
			set = set && ok
			return value, ok
		})
	}
	token, pair, user, password := expand(c.token), expand(c.pair), expand(c.user), expand(c.password)
	switch {
	case !set || strings.Contains(token, ":"):
		return ""
	case token != "":
		return token
	case pair != "":
		user, password, _ = strings.Cut(decodeBase64(pair), ":")
		return joinUser(user, password)
	default:
		return joinUser(user, decodeBase64(password))
	}
}

// decodeBase64 decodes a text with padding or without. What is none is empty.
func decodeBase64(text string) string {
	value, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return ""
	}
	return string(value)
}

// findNPMCredential returns the credential that npm sends to a registry: that of the
// longest address that is the registry's or above it. Both are compared with a slash
// at the end, so that no address begins with another host or folder. It is nil when
// there is none.
func findNPMCredential(all []setting, registry string) *npmCredential {
	byAddress := map[string]*npmCredential{}
	for _, s := range all {
		colon := strings.LastIndexByte(s.name, ':')
		if colon < 0 || !strings.HasPrefix(s.name, "//") {
			continue
		}
		address := strings.TrimSuffix(s.name[:colon], "/") + "/"
		if byAddress[address] == nil {
			byAddress[address] = &npmCredential{}
		}
		byAddress[address].setField(s.name[colon+1:], s.value)
	}
	address := strings.TrimPrefix(registry, schemeOf(registry))
	for len(address) > len("//") {
		if c := byAddress[address]; c.isWhole() {
			return c
		}
		address = address[:strings.LastIndexByte(strings.TrimSuffix(address, "/"), '/')+1]
	}
	return nil
}
