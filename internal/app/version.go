package app

import (
	"cmp"
	"runtime/debug"
	"time"

	"golang.org/x/mod/module"
)

// path is the path of this module.
const path = "github.com/sallyport/sallyport"

// Build is what the linker recorded of this program.
type Build struct {
	// Version is the version of this module, or dev when it was built from a folder
	// that no version names.
	Version string
	// Commit is the revision, as far as it is recorded, which -trimpath does not
	// change; empty when it is not, as in a build from an archive.
	Commit string
	// Date is when the commit was made; the zero time when it is not recorded.
	Date time.Time
	// Modified is true when the folder differed from the commit.
	Modified bool
}

// Version returns the version of this module, as the linker recorded it. In the program
// of another module it is the version that this program requires.
func Version() string { return ReadBuild().Version }

// ReadBuild returns what the linker recorded of this program.
func ReadBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: "dev"}
	}
	return describeBuild(info)
}

func describeBuild(info *debug.BuildInfo) (b Build) {
	v, own := info.Main.Version, true
	for _, m := range info.Deps {
		if m.Path == path {
			v, own = m.Version, false
			if m.Replace != nil {
				v = m.Replace.Version
			}
		}
	}
	if v == "(devel)" {
		v = ""
	}
	b.Version = cmp.Or(v, "dev")
	if module.IsPseudoVersion(v) {
		// Both fail for other texts only.
		b.Commit, _ = module.PseudoVersionRev(v)
		b.Date, _ = module.PseudoVersionTime(v)
	}
	if !own {
		return b // what else is recorded is of the other module
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			// A time that cannot be read is none.
			b.Date, _ = time.Parse(time.RFC3339, s.Value)
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns the version, with commit and date when they are known.
func (b Build) String() string {
	s := b.Version
	if b.Commit != "" {
		s += ", commit " + b.Commit[:min(len(b.Commit), 12)]
		if b.Modified {
			s += " with changes"
		}
	}
	if !b.Date.IsZero() {
		s += ", " + b.Date.UTC().Format(time.RFC3339)
	}
	return s
}
