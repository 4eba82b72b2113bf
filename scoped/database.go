package scoped

import (
	"context"
	"slices"

	"github.com/sallyport/sallyport"
)

// databases is the database accessor of a call.
type databases struct{ b *Binding }

// Query runs a statement on a granted connection, in the granted mode. The
// statement and its arguments are in no decision: they may hold anything.
func (d databases) Query(ctx context.Context, connection, query string, args []any) (sallyport.Table, error) {
	if err := d.b.live(); err != nil {
		return sallyport.Table{}, err
	}
	s := d.b.scope
	g := s.grant.Database
	if !slices.Contains(g.Connections, connection) {
		d.b.refuse(capDatabase, connection, func(entry string) bool { return entry == connection })
		return sallyport.Table{}, notAvailable(connection, "connection "+clip(connection)+" is not in the declared connections")
	}
	mode := sallyport.ModeRead
	if g.Mode == sallyport.ModeWrite {
		mode = sallyport.ModeWrite
	}
	d.b.allow(capDatabase, connection, string(mode)+" on "+connection)
	table, err := s.backends.Databases.Query(ctx, connection, mode, query, args)
	if err != nil {
		return sallyport.Table{}, hide(err, "the query on "+connection+" failed")
	}
	return table, nil
}
