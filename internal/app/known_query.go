package app

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/tools/database"
)

// openMemberQueries opens the connections that sets read their members from. They are
// apart from those of tools: an answer may have more rows, and calls of tools do not keep
// it waiting. The result is nil when no set has a query, and for a shadow, which connects to
// nothing.
func (rt *Runtime) openMemberQueries(t *Deployment, b *sallyport.Backends) (*database.Backend, error) {
	conns := map[string]database.Connection{}
	for _, k := range t.Config.Known {
		if k.Query != nil {
			conns[k.Query.Connection] = connectionOf(t.Config.Databases[k.Query.Connection])
		}
	}
	if len(conns) == 0 || rt.beside != nil {
		return nil, nil
	}
	db, err := database.Open(conns, &database.Options{
		Secrets: b.Secrets, Deny: b.Files.Deny, Dial: rt.dialOutside, MaxRows: known.MaxQueried, MaxBytes: known.MaxQueriedBytes,
	})
	if err != nil {
		return nil, t.Config.Fault("", "databases", -1, err.Error())
	}
	t.closers = append(t.closers, db.Close)
	return db, nil
}

// warnWritable says which sets read their members where tools may write: an agent there
// chooses what counts as known.
func (t *Deployment) warnWritable() {
	for _, name := range slices.Sorted(maps.Keys(t.Config.Known)) {
		q := t.Config.Known[name].Query
		if q == nil {
			continue
		}
		d, by := t.Config.Databases[q.Connection], "tools of mode write"
		if !d.Write {
			if d.Path == "" {
				continue
			}
			if by = t.FindWriter(d.Path); by == "" {
				continue
			}
		}
		t.warnings = append(t.warnings, t.Config.Fault("", "known."+name+".query", -1,
			"known."+name+".query: "+by+" may write to the connection "+q.Connection+", so that an agent may add members; read them over another one").Error())
	}
}

// connectionOf returns a connection as the configuration describes it.
func connectionOf(d config.Database) database.Connection {
	return database.Connection{Driver: databaseDrivers()[d.Driver], SecretRef: d.URLSecret, Path: d.Path}
}

// memberQuery returns how the members of a set are read, nil when it has no query. The
// session only reads.
func (rt *Runtime) memberQuery(db *database.Backend, name string, q *config.KnownQuery) *known.Query {
	switch {
	case q == nil:
		return nil
	case rt.beside != nil:
		return &known.Query{
			Refresh: besidePause,
			Read:    func(ctx context.Context) ([]string, error) { return rt.readBeside(ctx, name) },
		}
	}
	return &known.Query{
		Refresh: q.Refresh,
		Read: func(ctx context.Context) ([]string, error) {
			table, err := db.Query(ctx, q.Connection, sallyport.ModeRead, q.SQL, nil)
			if err != nil {
				return nil, err
			}
			return known.Members(table)
		},
		Tell: func(err error) {
			if err != nil {
				rt.Logger.Warn("known."+name+": the query cannot be read; what it gave last counts for three times its interval", "error", err)
				return
			}
			rt.Logger.Warn("known." + name + ": the query is read again")
		},
	}
}

// besidePause is how often a shadow asks the server for what its query gave.
const besidePause = 5 * time.Second

// readBeside returns the members that a server has read for the set of the same query. A
// shadow may name any database, and resolve any secret for it, before a person has accepted
// it: it asks none itself.
func (rt *Runtime) readBeside(ctx context.Context, set string) ([]string, error) {
	t := rt.beside.Live.Load().deployment.Load()
	if !sameQuery(rt.InForce().Config, t.Config, set) {
		return nil, errors.New("a shadow asks no database, and the configuration in force has no such query")
	}
	last, _, err := t.sets.Queried(ctx, set)
	return last.Values, err
}

// sameQuery reports whether two configurations read a set by the same query, of the same
// database.
func sameQuery(a, b *config.Config, set string) bool {
	x, y := a.Known[set].Query, b.Known[set].Query
	return x != nil && y != nil && x.Connection == y.Connection && x.SQL == y.SQL &&
		a.Databases[x.Connection] == b.Databases[y.Connection] && reflect.DeepEqual(a.Secrets, b.Secrets)
}

// SetReading is what the query of a set gave last.
type SetReading struct {
	// Set is the name of the set.
	Set string `json:"set"`
	// Connection is the connection that is asked.
	Connection string `json:"connection"`
	// Members is the number of members.
	Members int `json:"members"`
	// ReadAt is when they were read; the zero time when they are not known.
	ReadAt time.Time `json:"read_at,omitzero"`
	// Error says why they are not known, so that no value is a member of the set; empty
	// when they are.
	Error string `json:"error,omitempty"`
}

// ReadSets reads the queries of sets, or of all with nil, and returns what each gave.
// Sets without a query are left out.
func (rt *Runtime) ReadSets(ctx context.Context, names []string) (list []SetReading) {
	if names == nil {
		names = slices.Sorted(maps.Keys(rt.InForce().Config.Known))
	}
	for _, name := range names {
		if reading, _ := rt.readSet(ctx, name); reading != nil {
			list = append(list, *reading)
		}
	}
	return list
}

// readSet reads the query of one set; the reading is nil when it has none.
func (rt *Runtime) readSet(ctx context.Context, name string) (*SetReading, []string) {
	last, ok, err := rt.InForce().sets.Queried(ctx, name)
	if !ok {
		return nil, nil
	}
	reading := &SetReading{Set: name, Connection: rt.InForce().Config.Known[name].Query.Connection, Members: len(last.Values), ReadAt: last.At}
	if err != nil {
		reading.Error = text.OneLine(err.Error())
	}
	return reading, last.Values
}

// SetsOf returns the names of the sets that ceilings name, sorted.
func SetsOf(rows []ceiling.Row) []string {
	sets := []string{}
	for i := range rows {
		sets = append(sets, rows[i].Sets...)
	}
	slices.Sort(sets)
	return slices.Compact(sets)
}

// findUnreadSets tries the query of each set whose connection is not among those that do
// not answer.
func (rt *Runtime) findUnreadSets(ctx context.Context, down []Lack) (list []Lack) {
	for _, name := range slices.Sorted(maps.Keys(rt.InForce().Config.Known)) {
		q := rt.InForce().Config.Known[name].Query
		if q == nil || slices.ContainsFunc(down, func(l Lack) bool { return l.What == "database" && l.Name == q.Connection }) {
			continue
		}
		l := Lack{What: "set", Name: name, Source: rt.InForce().Config.Source("known." + name + ".query"), Fix: "correct known." + name + ".query, or what the account of the connection may read"}
		l.Why = rt.tryConnection(ctx, &l, func(ctx context.Context) error {
			_, _, err := rt.InForce().sets.Queried(ctx, name)
			return err
		})
		if l.Why != "" {
			l.Why += "; no value is a member of the set"
			list = append(list, l)
		}
	}
	return list
}
