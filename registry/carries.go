package registry

import (
	"github.com/sallyport/sallyport/internal/effect"
)

// flowConcern says what the default flow rule looks at in a call.
type flowConcern int

const (
	// concernNothing: the call neither carries something out nor is final.
	concernNothing flowConcern = iota
	// concernPlaces: it only reads, and what it reads may be a place that untrusted
	// content named.
	concernPlaces
	// concernArguments: what it carries out may have come out of untrusted content.
	concernArguments
	// concernCall: it cannot be taken back, so that no argument makes it harmless.
	concernCall
)

// flowConcern returns what the default flow rule looks at. What neither the tool nor
// the operator declares follows from what the call may touch.
func (c *call) flowConcern() flowConcern {
	t := &c.entry.tool
	places := concernNothing
	if len(t.Destinations) > 0 {
		places = concernPlaces
	}
	switch {
	case effect.CarriesOut(t.Does):
		return concernArguments
	case effect.IsFinal(t.Does):
		return concernCall
	case len(t.Does) > 0:
		return places
	case !c.facts.Outward && t.Server() == "":
		return concernNothing // the gate itself holds it to hosts that the operator listed
	case !c.facts.Outward:
		return places
	case (t.ReadOnly || t.SaysReadOnly) && places != concernNothing:
		return places
	default:
		return concernArguments
	}
}

