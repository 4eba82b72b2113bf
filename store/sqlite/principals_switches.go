package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/auth"
)

// Switches returns the kill switches.
func (db *DB) Switches() auth.SwitchStore { return switchStore{db} }

type switchStore struct{ db *DB }

func (w switchStore) Stop(ctx context.Context, sw *auth.Switch) error {
	if err := sw.Check(); err != nil {
		return err
	}
	return w.db.changeLeased(ctx, func(c *conn) error {
		count, err := c.readInt(`SELECT count(*) FROM switches`)
		if err != nil {
			return err
		}
		if count >= auth.MaxSwitches {
			return fmt.Errorf("at most %d things can be stopped at once", auth.MaxSwitches)
		}
		_, err = c.exec(`INSERT INTO switches(kind, name, reason, since) VALUES(?1, ?2, ?3, ?4)
			ON CONFLICT(kind, name) DO UPDATE SET reason = excluded.reason`,
			string(sw.Kind), blob(sw.Name), sw.Reason, sw.Since.UnixNano())
		return err
	})
}

func (w switchStore) Start(ctx context.Context, kind auth.SwitchKind, name string) (was bool, err error) {
	return w.db.execLeased(ctx, `DELETE FROM switches WHERE kind = ?1 AND name = ?2`, string(kind), blob(name))
}

// Stopped implements auth.SwitchStore. The order of the kinds is that of the
// alphabet.
func (w switchStore) Stopped(ctx context.Context, principal, sessionKey, tool string) (sw auth.Switch, ok bool, err error) {
	few, _, err := w.db.switches.lookUpOrAsk(ctx, w.db, struct{}{}, func(c *conn) ([]auth.Switch, bool, error) {
		few, err := c.listSwitches(withLimit(`ORDER BY kind, name LIMIT %d`, fewSwitches+1))
		return few, true, err
	})
	if err != nil {
		return sw, false, err
	}
	if sw, ok = firstMatching(few, principal, sessionKey, tool); ok || len(few) <= fewSwitches {
		return sw, ok, nil
	}
	at := auth.SwitchTargets(principal, sessionKey, tool)
	list, err := w.listWhere(ctx, `
		WHERE kind = 'everything' AND name = ?1 OR kind = 'principal' AND name = ?2 OR kind = 'server' AND name = ?3
			OR kind = 'session' AND name = ?4 OR kind = 'tool' AND name = ?5
		ORDER BY kind LIMIT 1`, blob(at[0].Name), blob(at[1].Name), blob(at[2].Name), blob(at[3].Name), blob(at[4].Name))
	if err != nil || len(list) == 0 {
		return sw, false, err
	}
	return list[0], true, nil
}

func (w switchStore) All(ctx context.Context) ([]auth.Switch, error) {
	return w.listWhere(ctx, `ORDER BY kind, name`)
}

func (w switchStore) listWhere(ctx context.Context, where string, args ...any) (list []auth.Switch, err error) {
	err = w.db.runQueries(ctx, func(c *conn) (err error) {
		list, err = c.listSwitches(where, args...)
		return err
	})
	return list, err
}

func (c *conn) listSwitches(where string, args ...any) (list []auth.Switch, err error) {
	err = c.query(`SELECT kind, name, reason, since FROM switches `+where, args, func(s *sqlite3.Stmt) (bool, error) {
		list = append(list, auth.Switch{
			Kind: auth.SwitchKind(s.ColumnText(0)), Name: string(s.ColumnRawBlob(1)),
			Reason: s.ColumnText(2), Since: timeAt(s, 3),
		})
		return true, nil
	})
	return list, err
}

// fewSwitches is how many are leased; with more, each call asks for its own.
const fewSwitches = 64

// firstMatching returns the first of a list, by kind and name, that stops a call.
func firstMatching(list []auth.Switch, principal, sessionKey, tool string) (auth.Switch, bool) {
	if len(list) == 0 {
		return auth.Switch{}, false
	}
	targets := auth.SwitchTargets(principal, sessionKey, tool)
	for i := range list {
		if slices.Contains(targets[:], auth.SwitchTarget{Kind: list[i].Kind, Name: list[i].Name}) {
			return list[i], true
		}
	}
	return auth.Switch{}, false
}
