package signin

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// tryWindow is the time in which tries are counted. Of one address it takes
	// maxOwnTries, and maxTries of all together, so that no more addresses are kept.
	tryWindow             = time.Minute
	maxOwnTries, maxTries = 10, 300
)

// Attempts bounds how often people of an address try to sign in by a token or an issuer.
// It is safe for concurrent use.
type Attempts struct {
	now func() time.Time

	mu    sync.Mutex
	began time.Time
	all   int
	by    map[string]int
}

// NewAttempts returns the bound of a server; a nil clock means time.Now.
func NewAttempts(now func() time.Time) *Attempts {
	if now == nil {
		now = time.Now
	}
	return &Attempts{now: now}
}

// AdmitTry reports whether a try from an address with its port may be looked at, and counts
// it. wait is when the next one may be, after a refusal.
func (a *Attempts) AdmitTry(address string) (wait time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, from := a.now(), sourceOf(address)
	if a.by == nil || now.Before(a.began) || now.Sub(a.began) >= tryWindow {
		a.began, a.all, a.by = now, 0, map[string]int{}
	}
	if a.all >= maxTries || a.by[from] >= maxOwnTries {
		return a.began.Add(tryWindow).Sub(now), false
	}
	a.all++
	a.by[from]++
	return 0, true
}

// sourceOf returns what one party has of an address: all of IPv4, and of IPv6 the network,
// of which every host has 2^64 addresses.
func sourceOf(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return "" // one for all that have no address
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return ""
	}
	return network.String()
}
