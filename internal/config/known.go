package config

import (
	"errors"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
)

// KnownSet is a set of values that roles name in their ceilings over arguments.
type KnownSet struct {
	// Kind is what the members are.
	Kind sallyport.ValueKind
	// List holds members as they are written; nil holds none.
	List []string
	// File is the absolute path of a file with a member on each line; empty reads
	// none.
	File string
}

func knownKeys() []row {
	const k = "known.<name>"
	set := func(store func(*KnownSet, value)) func(*scope, value) {
		return func(s *scope, v value) { editElement(&s.cfg.Known, s.name, func(k *KnownSet) { store(k, v) }) }
	}
	var kinds []string
	for _, kind := range effect.Kinds() {
		kinds = append(kinds, string(kind))
	}
	return []row{
		{KeyDoc: KeyDoc{"known", TypeNames, false, true, "none", "Sets of values that ceilings over arguments name, such as payees or contacts. What they hold does not count as untrusted.", "{contacts: {kind: mail, list: [ann@example.com]}}"}},
		{
			KeyDoc: KeyDoc{k, TypeMapping, false, true, "", "One set; the name has 1 to 64 letters, digits, `_` or `-`. Without `list` and `file` it grows by approvals alone.", "{kind: mail, list: [ann@example.com]}"},
			set:    set(func(*KnownSet, value) {}),
		},
		{
			KeyDoc: KeyDoc{k + ".kind", TypeText, true, true, "", "What the members are, and so when two values are the same.", "mail"},
			words:  kinds, set: set(func(k *KnownSet, v value) { k.Kind = sallyport.ValueKind(v.text) }),
		},
		{
			KeyDoc: KeyDoc{k + ".list", TypeTexts, false, true, "none", "Members.", "[ann@example.com]"},
			check:  (*scope).knownMember, set: set(func(k *KnownSet, v value) { k.List = v.list }),
		},
		{
			KeyDoc: KeyDoc{k + ".file", TypeText, false, true, "none", "File with a member on each line; blank lines and lines that begin with `#` do not count. It is read again when it has changed.", "payees.txt"},
			check:  (*scope).resolvePath, set: set(func(k *KnownSet, v value) { k.File = v.text }),
		},
	}
}

func (s *scope) knownMember(v string) (string, error) {
	if v == "" {
		return "", errors.New("an empty member")
	}
	return v, nil
}
