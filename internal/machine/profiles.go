package machine

import (
	_ "embed"
	"fmt"
)

//go:generate go test -run TestPackagingHoldsTheProfiles -update

//go:embed profiles/apparmor
var appArmorProfile []byte

//go:embed profiles/seccomp.json
var seccompProfile []byte

// Profile returns the profile of a kind: "apparmor" for Ubuntu, "seccomp" for
// containers. The caller must not change the bytes.
func Profile(kind string) ([]byte, error) {
	switch kind {
	case "apparmor":
		return appArmorProfile, nil
	case "seccomp":
		return seccompProfile, nil
	}
	return nil, fmt.Errorf("no profile %q: expected apparmor or seccomp", kind)
}
