package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/store"
)

// principalsSchema is the tables of this file. A revoked principal has no
// token. Names of switches are callers' texts and therefore bytes.
const principalsSchema = `
	CREATE TABLE principals(
		name TEXT PRIMARY KEY,
		token TEXT UNIQUE,
		expires INTEGER,
		permissions TEXT NOT NULL,
		personalities TEXT NOT NULL,
		created INTEGER NOT NULL,
		rotated INTEGER,
		revoked INTEGER
	) STRICT, WITHOUT ROWID;

	CREATE TABLE switches(
		kind TEXT NOT NULL,
		name BLOB NOT NULL,
		reason TEXT NOT NULL,
		since INTEGER NOT NULL,
		PRIMARY KEY(kind, name)
	) STRICT, WITHOUT ROWID;`

// Principals returns the principals that the command line made.
func (db *DB) Principals() auth.Store { return principalStore{db} }

type principalStore struct{ db *DB }

const principalColumns = `name, coalesce(token, ''), expires, permissions, personalities, created, rotated, revoked`

func (p principalStore) Add(ctx context.Context, r *auth.Record) error {
	if err := r.Check(); err != nil {
		return err
	}
	return p.db.changeLeased(ctx, func(c *conn) error {
		count, err := c.readInt(`SELECT count(*) FROM principals`)
		if err != nil {
			return err
		}
		if count >= auth.MaxPrincipals {
			return fmt.Errorf("the state keeps at most %d principals", auth.MaxPrincipals)
		}
		if same, err := c.listPrincipals(`WHERE name = ?1 OR token = ?2`, r.Name, nullIfEmpty(r.TokenSHA256)); err != nil || len(same) > 0 {
			return errors.Join(err, auth.ErrTaken)
		}
		return c.writePrincipal(`INSERT INTO principals(name, token, expires, permissions, personalities, created, rotated, revoked)
			VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`, r)
	})
}

func (p principalStore) Update(ctx context.Context, name string, change func(r *auth.Record) error) error {
	return p.db.changeLeased(ctx, func(c *conn) error {
		list, err := c.listPrincipals(`WHERE name = ?1`, name)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return auth.ErrUnknown
		}
		r := &list[0]
		if err := change(r); err != nil {
			return err
		}
		r.Name = name
		if err := r.Check(); err != nil {
			return err
		}
		if same, err := c.listPrincipals(`WHERE token = ?1 AND name <> ?2`, nullIfEmpty(r.TokenSHA256), name); err != nil || len(same) > 0 {
			return errors.Join(err, auth.ErrTaken)
		}
		return c.writePrincipal(`UPDATE principals SET token = ?2, expires = ?3, permissions = ?4,
			personalities = ?5, created = ?6, rotated = ?7, revoked = ?8 WHERE name = ?1`, r)
	})
}

func (p principalStore) ByToken(ctx context.Context, hash string) (r auth.Record, ok bool, err error) {
	r, ok, err = p.db.tokens.lookUpOrAsk(ctx, p.db, hash, func(c *conn) (r auth.Record, ok bool, err error) {
		list, err := c.listPrincipals(`WHERE token = ?1`, hash)
		if err != nil || len(list) == 0 {
			return r, false, err
		}
		return list[0], true, nil
	})
	// The record that is kept serves other callers.
	r.Permissions, r.Personalities = slices.Clone(r.Permissions), slices.Clone(r.Personalities)
	return r, ok, err
}

func (p principalStore) All(ctx context.Context) (list []auth.Record, err error) {
	err = p.db.runQueries(ctx, func(c *conn) (err error) {
		list, err = c.listPrincipals(`ORDER BY name`)
		return err
	})
	return list, err
}

func (c *conn) writePrincipal(sql string, r *auth.Record) error {
	permissions, err := json.Marshal(r.Permissions)
	if err != nil {
		return err
	}
	personalities, err := json.Marshal(r.Personalities)
	if err != nil {
		return err
	}
	_, err = c.exec(sql, r.Name, nullIfEmpty(r.TokenSHA256), nullIfZero(r.Expires), string(permissions),
		string(personalities), r.Created.UnixNano(), nullIfZero(r.Rotated), nullIfZero(r.Revoked))
	return err
}

func (c *conn) listPrincipals(where string, args ...any) (list []auth.Record, err error) {
	err = c.query(`SELECT `+principalColumns+` FROM principals `+where, args, func(s *sqlite3.Stmt) (bool, error) {
		r := auth.Record{
			Name: s.ColumnText(0), TokenSHA256: s.ColumnText(1), Expires: timeAt(s, 2),
			Created: timeAt(s, 5), Rotated: timeAt(s, 6), Revoked: timeAt(s, 7),
		}
		for column, dest := range map[int]*[]string{3: &r.Permissions, 4: &r.Personalities} {
			if err := json.Unmarshal(s.ColumnRawText(column), dest); err != nil {
				return false, &store.Error{Reason: store.ErrDamaged, Err: err}
			}
		}
		list = append(list, r)
		return true, nil
	})
	return list, err
}

// nullIfEmpty stores an absent text as NULL, which is equal to nothing.
func nullIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// nullIfZero stores the zero time as NULL.
func nullIfZero(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func timeAt(s *sqlite3.Stmt, column int) time.Time {
	if s.ColumnType(column) == sqlite3.NULL {
		return time.Time{}
	}
	return time.Unix(0, s.ColumnInt64(column))
}
