package config

import (
	"slices"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// nameReference is a name that must exist under another key.
type nameReference struct {
	filePosition
	key, name, target string
}

// reportDangling reports names that exist nowhere.
func (l *loader) reportDangling() {
	defined := map[string][]string{}
	for _, ref := range l.refs {
		if l.faults.IsFull() {
			return
		}
		names, known := defined[ref.target]
		if !known {
			names = l.definedUnder(ref.target)
			defined[ref.target] = names
		}
		if _, ok := slices.BinarySearch(names, ref.name); !ok {
			l.addFault(ref.file, ref.at, ref.key, "%s: %s is not defined under %s%s", ref.key, yamldoc.Quote(ref.name), ref.target, yamldoc.AdviseName(ref.name, names, names))
		}
	}
}

// definedUnder returns the sorted names under a key.
func (l *loader) definedUnder(key string) (names []string) {
	if _, given := l.places[key]; key == "personalities" && !given {
		return []string{DefaultPersonality}
	}
	for k := range l.places {
		if parent, last := splitKey(k); parent == key {
			names = append(names, last)
		}
	}
	slices.Sort(names)
	return names
}
