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
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store"
)

// openKnownSets reads the sets of values of a configuration, which grow by what the
// state holds. The error has the place of each set that cannot be read.
func (rt *Runtime) openKnownSets(t *Deployment, b *sallyport.Backends) error {
	t.warnWritable()
	db, err := rt.openMemberQueries(t, b)
	if err != nil {
		return err
	}
	c, sources := t.Config, knownSources(t.Config)
	for name, k := range c.Known {
		from := sources[name]
		from.Query = rt.memberQuery(db, name, k.Query)
		sources[name] = from
	}
	t.sets, err = known.New(sources, rt.grown())
	if err == nil {
		t.closers = append(t.closers, t.sets.Close)
		if rt.past != nil {
			t.sets.NeedQueries()
		}
	}
	found, ok := errors.AsType[known.Faults](err)
	if !ok {
		return err
	}
	var faults yamldoc.Faults
	for _, f := range found {
		key := "known." + f.Set
		if c.Known[f.Set].File != "" {
			key += ".file"
		}
		faults = append(faults, c.Fault("", key, -1, key+": the set cannot be read: "+f.Err.Error()))
	}
	return faults
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

// knownSources returns what files of the operator say of the sets.
func knownSources(c *config.Config) map[string]known.Source {
	sources := map[string]known.Source{}
	for name, k := range c.Known {
		sources[name] = known.Source{Kind: k.Kind, List: k.List, File: k.File}
	}
	return sources
}

// knownFiles lists the files of the sets, sorted.
func knownFiles(c *config.Config) (files []string) {
	for _, k := range c.Known {
		if k.File != "" {
			files = append(files, k.File)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// knownMisfits returns a fault for each set whose file lies where tools may write. The
// deny floor keeps the file while the gate runs, and nothing does before it starts.
func (t *Deployment) knownMisfits() (faults registry.Faults) {
	for _, name := range slices.Sorted(maps.Keys(t.Config.Known)) {
		file := t.Config.Known[name].File
		if file == "" {
			continue
		}
		if by := t.FindWriter(file); by != "" {
			faults = append(faults, registry.Fault{
				Tool: "known." + name, Capability: "file", Source: t.Config.Source("known." + name + ".file"),
				Message: fmt.Sprintf("its members are in %s: %s may write there, so an agent may have chosen what counts as known", file, by),
				Fix:     "move it to a folder that no tool may write",
			})
		}
	}
	return faults
}

// taskScope is the scope of the store for what sessions were narrowed to.
const taskScope = "tasks"

// ErrSetUnknown: the configuration declares no set of this name.
var ErrSetUnknown = errors.New("the configuration declares no set of this name under known")

// KnownSet is a set of values.
type KnownSet struct {
	// Name is the name of the set.
	Name string `json:"set"`
	// Kind is what the members are.
	Kind sallyport.ValueKind `json:"kind"`
	// Listed is the number of members of the list and the file.
	Listed int `json:"listed"`
	// File is the path of the file; empty where there is none.
	File string `json:"file,omitempty"`
	// Query is what its query gave; nil where there is none.
	Query *SetReading `json:"query,omitempty"`
	// Members are those of the list, the file and the query as they are written, of a
	// set that was asked for by its name.
	Members []ListedMember `json:"members,omitempty"`
	// Grown are the members by which the set grew, the oldest first.
	Grown []known.Member `json:"grown"`
}

// ListedMember is a member of a set that no approval gave.
type ListedMember struct {
	// Value is the value as it is written.
	Value string `json:"value"`
	// From is "list", "file" or "query".
	From string `json:"from"`
}

// OpenForSets returns a gate that reads the sets of values. It changes nothing.
func OpenForSets(ctx context.Context, env *Environment, paths []string) (*Runtime, error) {
	env, paths, err := findServer(env, paths)
	if err != nil {
		return nil, err
	}
	return OpenForView(ctx, env, paths)
}

// ListKnown returns the sets of the configuration, by their names, or the one that is
// named, with its members. The error matches [ErrSetUnknown].
func (rt *Runtime) ListKnown(ctx context.Context, name string) ([]KnownSet, error) {
	names := slices.Sorted(maps.Keys(rt.InForce().Config.Known))
	if name != "" {
		if err := rt.checkSet(name); err != nil {
			return nil, err
		}
		names = []string{name}
	} else {
		rt.InForce().sets.Start()
	}
	sets := []KnownSet{}
	for _, one := range names {
		set, err := rt.describeSet(ctx, one, name != "")
		if err != nil {
			return nil, fmt.Errorf("known.%s: %w", one, err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// checkSet returns an error that matches [ErrSetUnknown] for a set that the configuration
// does not declare.
func (rt *Runtime) checkSet(name string) error {
	if _, ok := rt.InForce().Config.Known[name]; !ok {
		return fmt.Errorf("%+q: %w", name, ErrSetUnknown)
	}
	return nil
}

// describeSet returns a set, with whole also the members that no approval gave.
func (rt *Runtime) describeSet(ctx context.Context, name string, whole bool) (set KnownSet, err error) {
	from := knownSources(rt.InForce().Config)[name]
	set = KnownSet{Name: name, Kind: from.Kind, File: from.File}
	if set.Listed, err = from.Count(); err != nil {
		return set, err
	}
	if set.Grown, err = rt.GrownMembers(ctx, name); err != nil {
		return set, err
	}
	reading, queried := rt.readSet(ctx, name)
	set.Query = reading
	if !whole {
		return set, nil
	}
	lines, err := from.Lines()
	for _, part := range []struct {
		from   string
		values []string
	}{{"list", from.List}, {"file", lines}, {"query", queried}} {
		for _, v := range part.values {
			set.Members = append(set.Members, ListedMember{v, part.from})
		}
	}
	return set, err
}

// GrownMembers returns the members by which a set grew, never nil. The error matches
// [ErrSetUnknown].
func (rt *Runtime) GrownMembers(ctx context.Context, set string) ([]known.Member, error) {
	if err := rt.checkSet(set); err != nil {
		return nil, err
	}
	grown, err := known.NewGrowth(cmp.Or[store.Settings](rt.trusted, rt.Settings), nil).Members(ctx, set)
	return append([]known.Member{}, grown...), err
}

// RemoveKnown removes a value from what a set grew by. There is an error when it did not
// grow by it.
func (rt *Runtime) RemoveKnown(ctx context.Context, set, value string) error {
	if err := rt.checkSet(set); err != nil {
		return err
	}
	k := rt.InForce().Config.Known[set]
	gone, err := known.NewGrowth(rt.Settings, nil).Remove(ctx, set, func(m *known.Member) bool {
		return m.Value == value || m.Kind == k.Kind && provenance.Exact(m.Kind, m.Value) == provenance.Exact(k.Kind, value)
	})
	if err != nil {
		return fmt.Errorf("known.%s: %w", set, err)
	}
	if len(gone) == 0 {
		return fmt.Errorf("known.%s did not grow by %+q; what its list, file and query hold is changed there", set, value)
	}
	var faults []error
	for i := range gone {
		faults = append(faults, rt.RecordDone(ctx, ChangeEvent(audit.ActionDeny, "known."+set, fmt.Sprintf("%+q is no member any more", gone[i].Value)), ""))
	}
	return errors.Join(faults...)
}
