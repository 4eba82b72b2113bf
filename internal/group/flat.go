package group

import "github.com/sallyport/sallyport"

// FlatKey is the short spelling of a list of a personality, in one level.
type FlatKey struct {
	// Flat is the short key, Long the one that it stands for; both below the
	// personality.
	Flat, Long string
}

// FlatKeys returns the short spellings. They are shared: read only.
func FlatKeys() []FlatKey { return flatKeys[:] }

var flatKeys = [...]FlatKey{
	{"tools", "toolset"},
	{"read", "fs_reach.read"},
	{"write", "fs_reach.write"},
	{"hosts", "safety.network.allow"},
	{"secrets", "safety.secrets.allow"},
	{"bins", "safety.process.allow"},
}

// SpellKey returns a long key of a personality as its file spells it. A list that is
// not there yet is spelled as the others are.
func SpellKey(p *sallyport.Personality, long string) string {
	if p == nil {
		return long
	}
	short, isFlat := "", false
	for _, k := range flatKeys {
		_, written := p.Sources[k.Flat]
		isFlat = isFlat || written
		if k.Long == long {
			if written {
				return k.Flat
			}
			short = k.Flat
		}
	}
	if _, written := p.Sources[long]; short == "" || written || !isFlat {
		return long
	}
	return short
}
