package app

import "runtime/debug"

// path is the path of this module.
const path = "github.com/sallyport/sallyport"

// Version returns the version of this module, with its revision, as the linker
// recorded it. In the program of another module it is the version that this
// program requires.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	v := info.Main.Version
	for _, m := range info.Deps {
		if m.Path == path {
			v = m.Version
			if m.Replace != nil {
				v = m.Replace.Version
			}
		}
	}
	if v == "" || v == "(devel)" {
		v = "dev"
	}
	return v
}
