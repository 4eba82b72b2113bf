package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/store"
)

// newKnownSets reads the sets of values of a configuration, which grow by what the
// state holds. The error has the place of each set that cannot be read.
func (rt *Runtime) newKnownSets(c *config.Config) (*known.Sets, error) {
	sets, err := known.New(knownSources(c), rt.grown())
	found, ok := errors.AsType[known.Faults](err)
	if !ok {
		return sets, err
	}
	var faults yamldoc.Faults
	for _, f := range found {
		key := "known." + f.Set
		if c.Known[f.Set].File != "" {
			key += ".file"
		}
		faults = append(faults, c.Fault("", key, -1, key+": the set cannot be read: "+f.Err.Error()))
	}
	return nil, faults
}

// grown returns what says by which values sets grew: now, or at the time of the call that
// is decided again.
func (rt *Runtime) grown() known.Grown {
	if rt.past == nil {
		return known.NewGrowth(cmp.Or[store.Settings](rt.trusted, rt.Settings), nil).Values
	}
	rt.past.lookAgain()
	return func(ctx context.Context, set string) (*known.Values, error) {
		return rt.past.growth.ValuesAt(ctx, set, rt.past.now)
	}
}

func knownSources(c *config.Config) map[string]known.Source {
	sources := map[string]known.Source{}
	for name, k := range c.Known {
		sources[name] = known.Source{Kind: k.Kind, List: k.List, File: k.File}
	}
	return sources
}

// taskScope is the scope of the store for what sessions were narrowed to.
const taskScope = "tasks"

// ErrSetUnknown: the configuration declares no set of this name.
var ErrSetUnknown = errors.New("the configuration declares no set of this name under known")

// KnownSet is a set of values with what it grew by.
type KnownSet struct {
	// Name is the name of the set.
	Name string `json:"set"`
	// Kind is what the members are.
	Kind sallyport.ValueKind `json:"kind"`
	// Listed is the number of members of the list and the file.
	Listed int `json:"listed"`
	// File is the path of the file; empty where there is none.
	File string `json:"file,omitempty"`
	// Grown are the members by which the set grew, the oldest first.
	Grown []known.Member `json:"grown"`
}

// KnownSets returns the sets of the configuration, by their names, or the one that is
// named. The error matches [ErrSetUnknown].
func (rt *Runtime) KnownSets(ctx context.Context, name string) ([]KnownSet, error) {
	names := slices.Sorted(maps.Keys(rt.Config.Known))
	if name != "" {
		if _, ok := rt.Config.Known[name]; !ok {
			return nil, fmt.Errorf("%+q: %w", name, ErrSetUnknown)
		}
		names = []string{name}
	}
	sources := knownSources(rt.Config)
	growth := known.NewGrowth(rt.Settings, nil)
	sets := []KnownSet{}
	for _, name := range names {
		from := sources[name]
		listed, err := from.Count()
		if err != nil {
			return nil, fmt.Errorf("known.%s: %w", name, err)
		}
		grown, err := growth.Members(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("known.%s: %w", name, err)
		}
		if grown == nil {
			grown = []known.Member{}
		}
		sets = append(sets, KnownSet{Name: name, Kind: from.Kind, Listed: listed, File: from.File, Grown: grown})
	}
	return sets, nil
}

// RemoveKnown removes a value from what a set grew by. There is an error when it did not
// grow by it.
func (rt *Runtime) RemoveKnown(ctx context.Context, set, value string) error {
	k, ok := rt.Config.Known[set]
	if !ok {
		return fmt.Errorf("%+q: %w", set, ErrSetUnknown)
	}
	gone, err := known.NewGrowth(rt.Settings, nil).Remove(ctx, set, func(m *known.Member) bool {
		return m.Value == value || m.Kind == k.Kind && provenance.Exact(m.Kind, m.Value) == provenance.Exact(k.Kind, value)
	})
	if err != nil {
		return fmt.Errorf("known.%s: %w", set, err)
	}
	if len(gone) == 0 {
		return fmt.Errorf("known.%s did not grow by %+q; what its list and file hold is changed there", set, value)
	}
	var faults []error
	for i := range gone {
		faults = append(faults, rt.RecordDone(ctx, ChangeEvent(audit.ActionDeny, "known."+set, fmt.Sprintf("%+q is no member any more", gone[i].Value)), ""))
	}
	return errors.Join(faults...)
}
