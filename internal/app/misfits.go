package app

import (
	"slices"

	"github.com/sallyport/sallyport/registry"
)

// CollectMisfits collects the declarations that ask for more than their personality
// grants.
func CollectMisfits(rt *Runtime) registry.Faults {
	all := registry.Faults{}
	for _, name := range rt.Config.Names() {
		all = append(all, slices.DeleteFunc(rt.Registry.Misfits(name), func(m registry.Fault) bool { return ServerOf(m.Tool) != "" })...)
		all = append(all, rt.MisfitsOf(name)...)
	}
	return append(all, rt.ProgramFaults()...)
}
