package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
)

const (
	// sweepEvery is how often a process that writes removes what expired.
	sweepEvery = time.Minute
	// sweepRows bounds one sweep to a millisecond or two.
	sweepRows = 500
)

// KV implements sallyport.KVFactory.
func (db *DB) KV(_ context.Context, scope string) (sallyport.KV, error) {
	if err := db.limits.CheckScope(scope); err != nil {
		return nil, err
	}
	return &kvStore{db, blob(scope)}, nil
}

// kvStore is the store of one scope. Scopes, keys and values are bytes in the
// engine: compared byte by byte, converted never.
type kvStore struct {
	db    *DB
	scope blob
}

func (k *kvStore) Get(ctx context.Context, key string) (value string, ok bool, err error) {
	if err := k.db.limits.CheckKey(key); err != nil {
		return "", false, err
	}
	now := k.db.o.Now().UnixNano()
	err = k.db.runQueries(ctx, func(c *conn) error {
		return c.query(`SELECT value FROM kv WHERE scope = ?1 AND key = ?2 AND (expires IS NULL OR expires > ?3)`,
			[]any{k.scope, blob(key), now}, func(s *sqlite3.Stmt) (bool, error) {
				value, ok = string(s.ColumnRawBlob(0)), true
				return false, nil
			})
	})
	if err != nil {
		return "", false, err
	}
	return value, ok, nil
}

func (k *kvStore) Set(ctx context.Context, key, value string, ttl time.Duration) error {
	if err := k.db.limits.CheckSet(key, value, ttl); err != nil {
		return err
	}
	now := k.db.o.Now()
	var expires any
	if ns, ok := store.Expiry(now, ttl); ok {
		expires = ns
	}
	return k.db.inWriteTx(ctx, true, func(c *conn) error {
		if err := k.db.sweepExpired(c, now); err != nil {
			return err
		}
		_, err := c.exec(`INSERT INTO kv(scope, key, expires, value) VALUES(?1, ?2, ?3, ?4)
			ON CONFLICT(scope, key) DO UPDATE SET expires = excluded.expires, value = excluded.value`,
			k.scope, blob(key), expires, blob(value))
		return err
	})
}

func (k *kvStore) Delete(ctx context.Context, key string) error {
	if err := k.db.limits.CheckKey(key); err != nil {
		return err
	}
	_, err := k.db.execDurable(ctx, `DELETE FROM kv WHERE scope = ?1 AND key = ?2`, k.scope, blob(key))
	return err
}

func (k *kvStore) List(ctx context.Context, prefix string) (keys []string, err error) {
	sql := `SELECT key FROM kv WHERE scope = ?1 AND key >= ?2 AND (expires IS NULL OR expires > ?3)`
	args := []any{k.scope, blob(prefix), k.db.o.Now().UnixNano()}
	if end, ok := prefixEnd(prefix); ok {
		sql += ` AND key < ?4`
		args = append(args, blob(end))
	}
	err = k.db.runQueries(ctx, func(c *conn) error {
		keys = nil
		return c.query(sql+` ORDER BY key`, args, func(s *sqlite3.Stmt) (bool, error) {
			keys = append(keys, string(s.ColumnRawBlob(0)))
			return true, nil
		})
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// prefixEnd returns the least string that is greater than all with the prefix;
// ok is false when there is none.
func prefixEnd(prefix string) (end string, ok bool) {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1]), true
		}
	}
	return "", false
}

// sweepExpired removes some of what expired, now and then.
func (db *DB) sweepExpired(c *conn, now time.Time) error {
	last := db.swept.Load()
	if last != 0 && now.UnixNano()-last < int64(sweepEvery) || !db.swept.CompareAndSwap(last, now.UnixNano()) {
		return nil
	}
	_, err := c.exec(withLimit(`DELETE FROM kv WHERE (scope, key) IN
		(SELECT scope, key FROM kv WHERE expires <= ?1 LIMIT %d)`, sweepRows), now.UnixNano())
	if err != nil {
		return err
	}
	_, err = c.exec(withLimit(`DELETE FROM reads WHERE id IN (SELECT id FROM reads WHERE time < ?1 LIMIT %d)`, sweepRows),
		now.Add(-db.limits.ReadAge).UnixNano())
	return err
}
