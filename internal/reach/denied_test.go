package reach

import (
	"net/netip"
	"testing"
)

func TestADeniedAddressIsFoundInItsReason(t *testing.T) {
	t.Parallel()
	a := netip.MustParseAddr("2001:db8::1")
	for why, want := range map[string]string{
		"HOST_NOT_ALLOWED: h resolves to an address that " + WhyDenied + " (" + DescribeDenied("h", a, "").Error() + ")":              "2001:db8::1",
		"HOST_NOT_ALLOWED: h has an address of a host that " + WhyDenied + " (" + DescribeDenied("h", a, "bad.example").Error() + ")": "bad.example",
		"a child of sh was refused 2 times: resolves to an address that " + WhyDenied:                                                 "",
	} {
		if got, denied := FindDenied(why); !denied || got != want {
			t.Errorf("FindDenied(%q) = %q, %v, want %q", why, got, denied, want)
		}
	}
	if _, denied := FindDenied("h is a private address (" + DescribeDenied("h", a, "").Error() + ")"); denied {
		t.Error("what another rule refuses is on the deny list")
	}
}
