package scoped

import (
	"context"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// databaseAccessor is the database accessor of a call.
type databaseAccessor struct{ b *Binding }

// Query runs a statement on a granted connection, in the granted mode. The
// statement and its arguments are in no decision: they may hold anything.
func (d databaseAccessor) Query(ctx context.Context, connection, query string, args []any) (sallyport.Table, error) {
	if err := d.b.checkLive(); err != nil {
		return sallyport.Table{}, err
	}
	s := d.b.scope
	if err := d.Probe("", connection); err != nil {
		return sallyport.Table{}, err
	}
	mode := sallyport.ModeRead
	if s.grant.Database.Mode == sallyport.ModeWrite {
		mode = sallyport.ModeWrite
	}
	d.b.recordConnection(newAllowed(group.Database, connection, string(mode)+" on "+connection))
	table, err := s.backends.Databases.Query(ctx, connection, mode, query, args)
	if err != nil {
		return sallyport.Table{}, hideBackendError(err, "the query on "+connection+" failed")
	}
	return table, nil
}

// Probe checks the name of a connection against the grant.
func (d databaseAccessor) Probe(_, connection string) error {
	if slices.Contains(d.b.scope.grant.Database.Connections, connection) {
		return nil
	}
	refusal := newRefusal(group.Database, connection)
	d.b.recordConnection(d.b.scope.explainDropped(refusal, func(entry string) bool { return entry == connection }))
	return notAvailable(connection, "connection "+clipItem(connection)+" is not in the declared connections")
}

type refusedDatabases struct{ note func(sallyport.Decision) }

func (d refusedDatabases) Query(_ context.Context, connection, _ string, _ []any) (sallyport.Table, error) {
	return sallyport.Table{}, d.Probe("", connection)
}

func (d refusedDatabases) Probe(_, connection string) error {
	sendDecision(d.note, newRefusal(group.Database, connection))
	return notAvailable(connection, "the tool declares no database")
}
