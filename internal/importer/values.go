package importer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/secrets"
)

// isHarmless reports whether a value may be copied: either its name is known to
// hold no secret, or the profile or the user says so.
func (i *clientImport) isHarmless(p *plannedServer, name, value string) bool {
	return clients.Harmless(name, value) || p.isKnownPlain(name, value) || i.isSaidPlain(p, name)
}

// isSaidPlain reports whether the user says that a value holds no secret.
func (i *clientImport) isSaidPlain(p *plannedServer, name string) bool {
	return slices.ContainsFunc(p.flagValues(i.plains), func(plain string) bool { return strings.EqualFold(plain, name) })
}

// resolveDefaults replaces references by their defaults. It returns false when a
// reference has no default.
func (i *clientImport) resolveDefaults(p *plannedServer, name string, text *string, refs []clients.Ref) bool {
	if clients.SecretName(name) {
		return false
	}
	for _, r := range refs {
		if !r.HasDefault || clients.SecretName(r.Name) {
			return false
		}
	}
	for _, r := range refs {
		*text = strings.Replace(*text, r.Text, r.Default, 1)
		p.addNote("%s: the default took the place of the reference to %s", name, r.Name)
	}
	return true
}

// needSecret adds a secret whose value the client's file has; an empty value means that
// it has a reference.
func (i *clientImport) needSecret(p *plannedServer, name, ref, value string) {
	s := neededSecret{Name: name, Ref: ref, Stored: i.o.stored[ref], value: value}
	if s.Stored == "" {
		s.Put = i.secretInstruction(ref)
	}
	p.secrets = append(p.secrets, s)
}

// secretInstruction describes how the user stores the value of a secret.
func (i *clientImport) secretInstruction(ref string) string {
	for _, b := range i.config.Secrets {
		if b.File != "" {
			return "the encrypted file: sallyport secrets set " + text.ShellWord(ref)
		}
		if b.Keychain != "" {
			return "the keychain: sallyport secrets set " + text.ShellWord(ref)
		}
	}
	prefix := ""
	for _, b := range i.config.Secrets {
		if b.Dir != "" {
			file := filepath.Join(b.Dir, filepath.FromSlash(ref))
			return fmt.Sprintf("the file %s: (umask 077; mkdir -p %s; cat >%s)", file, text.ShellWord(filepath.Dir(file)), text.ShellWord(file))
		}
		if prefix == "" {
			prefix = b.EnvPrefix
		}
	}
	if prefix == "" {
		return "nothing yet: the configuration has no secrets, such as secrets: [{file: .sallyport/secrets.age}]"
	}
	name, ok := secrets.Variable(prefix, ref)
	if !ok {
		return "nothing yet: no variable can be named like " + ref + ", and secrets has no dir"
	}
	return "the variable " + name + ": export " + name + "=… where the client is started"
}
