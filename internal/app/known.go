package app

import (
	"cmp"
	"context"
	"errors"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/known"
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
	growth := known.NewGrowth(cmp.Or[store.Settings](rt.trusted, rt.Settings), nil)
	if rt.past == nil {
		return growth.Values
	}
	return func(ctx context.Context, set string) (*known.Values, error) {
		return growth.ValuesAt(ctx, set, rt.past.now)
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

