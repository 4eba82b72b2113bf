package app

import (
	"slices"

	"github.com/sallyport/sallyport/gateway/install"
)

// PackageSource is a registry from which packages of servers are installed.
type PackageSource struct {
	// Registry is npm or pypi.
	Registry install.Registry `json:"registry"`
	// Host is its host, with the port where one is written.
	Host string `json:"host"`
	// AnyAddress says that the host may have any address but those of metadata
	// services, of the link and of multicast.
	AnyAddress bool `json:"any_address"`
}

// PackageSources lists the registries that the declared servers need.
func (rt *Runtime) PackageSources() (list []PackageSource) {
	i := rt.newInstaller(rt.InForce())
	for k := range rt.InForce().Servers.Declared {
		pkg := rt.InForce().Servers.Declared[k].Package
		if pkg == nil || slices.ContainsFunc(list, func(s PackageSource) bool { return s.Registry == pkg.Registry }) {
			continue
		}
		tool := rt.Packages.Tool(*pkg)
		list = append(list, PackageSource{pkg.Registry, tool.Capabilities.Network.AllowedHosts[0], i.roleFor(&tool)[installing].Network.AnyAddress})
	}
	return list
}
