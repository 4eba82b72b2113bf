package app

import "runtime/debug"

// Version returns the module's version and revision as the linker recorded
// them.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "dev"
	}
	return v
}
