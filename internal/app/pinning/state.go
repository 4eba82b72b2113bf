package pinning

import (
	"context"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
)

// The states of a server compared with its pins.
const (
	StatePinned   = "pinned"   // as it was pinned
	StateAdded    = "added"    // pinned by this command
	StateChanged  = "changed"  // is or offers something else
	StateUnknown  = "unknown"  // does not answer, or cannot be started
	StateUnpinned = "unpinned" // was never pinned
	StateUnlisted = "unlisted" // no personality lists it
)

// ServerState compares a server with its pins.
type ServerState struct {
	// Server is the name of the server in the configuration.
	Server string `json:"server"`
	// State is one of the constants of this package.
	State string `json:"state"`
	// Why describes the fault of the server.
	Why string `json:"why,omitempty"`
	// Offers counts what the server offers.
	Offers int `json:"offers"`
	// Started is false when the server was not started, because its launch
	// differs from the pinned one. What it offers is then taken from the lock
	// file.
	Started bool `json:"started"`
	// SHA256 is the digest to expect of the server.
	SHA256 string `json:"sha256,omitempty"`
	// Accept is the command that accepts the server.
	Accept string `json:"accept,omitempty"`
	// Left lists what the server offers and what cannot be pinned.
	Left []LeftOut `json:"left_out,omitempty"`
}

// observedLock holds the present state of servers in the form of the lock file.
type observedLock struct {
	file   *lock.File
	states []ServerState
}

// lookAt asks the wanted servers.
func lookAt(ctx context.Context, rt *app.Runtime, wanted func(server string) bool) *observedLock {
	rt.InForce().DiscoverServers(ctx, "", wanted)
	now := &observedLock{file: &lock.File{Servers: map[string]lock.Server{}}}
	offers := rt.InForce().Servers.ListOffers()
	for _, f := range rt.InForce().Servers.Found {
		now.addServer(observeServer(&rt.InForce().Servers, f, offers[f.Name]))
	}
	for _, p := range rt.InForce().Plugins {
		if wanted(p.Name) {
			now.addServer(observePlugin(&rt.InForce().Servers, p))
		}
	}
	slices.SortFunc(now.states, func(a, b ServerState) int { return strings.Compare(a.Server, b.Server) })
	return now
}

// addServer adds a server. The argument s is nil when nothing is known of the server.
func (n *observedLock) addServer(s *lock.Server, state ServerState) {
	if s != nil {
		n.file.Servers[state.Server] = *s
		state.Offers = len(s.Tools) + len(s.Prompts) + len(s.Resources) + len(s.Templates)
	}
	n.states = append(n.states, state)
}

// observeServer returns the present state of a server. A server that does not answer is
// reported and keeps its pinned definitions.
func observeServer(s *app.Servers, f *app.FoundServer, o *lock.Offer) (*lock.Server, ServerState) {
	st := ServerState{Server: f.Name, State: StatePinned}
	was, known := s.Pins.PinnedServer(f.Name)
	l := s.Pins.Servers[f.Name]
	switch {
	case known && l.Refused != "" && l.Attempted != nil:
		now, _, err := lock.Take(f.Name, &lock.Offer{Launch: *l.Attempted}, s.Cleaner)
		if err != nil {
			st.State, st.Why = StateUnknown, err.Error()
			return &was, st
		}
		is := was
		is.Launch = now.Launch
		return &is, st
	case f.Role != "" && f.Why == "" && o != nil && l.Attempted != nil:
		o.Launch, st.Started = *l.Attempted, true
		now, refused, err := lock.Take(f.Name, o, s.Cleaner)
		for _, r := range refused {
			st.Left = append(st.Left, LeftOut{string(r.Kind) + " " + r.Name, r.Why})
		}
		if err == nil {
			return &now, st
		}
		f.Why = err.Error()
	}
	st.State, st.Why = StateUnknown, f.Reason()
	switch {
	case f.Role == "":
		st.State = StateUnlisted
	case !known && s.Pins.Policy != app.AskNew:
		st.State, st.Why = StateUnpinned, "it is not pinned: "+s.Pins.Command("lock")+" starts it and pins what it is"
	}
	if known {
		return &was, st
	}
	return nil, st
}

// observePlugin returns the present state of a plugin.
func observePlugin(s *app.Servers, p *app.Plugin) (*lock.Server, ServerState) {
	st := ServerState{Server: p.Name, State: StatePinned, Started: true}
	was, known := s.Pins.PinnedServer(p.Name)
	switch {
	case p.Why != "":
		st.State, st.Why, st.Started = StateUnknown, p.Why+p.Fix, false
	case !known && s.Pins.Policy != app.AskNew:
		st.State, st.Why = StateUnpinned, "it is not pinned: "+s.Pins.Command("lock")+" pins what it is"
	default:
		now, refused, err := lock.Take(p.Name, p.Offer, nil)
		for _, r := range refused {
			st.Left = append(st.Left, LeftOut{string(r.Kind) + " " + r.Name, r.Why})
		}
		if err == nil {
			return &now, st
		}
		st.State, st.Why = StateUnknown, err.Error()
	}
	if known {
		return &was, st
	}
	return nil, st
}

// LeftOut is a tool that is not mounted.
type LeftOut struct {
	// Tool is the name of what is left out.
	Tool string `json:"tool"`
	// Why is the reason.
	Why string `json:"why"`
}
