package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/store"
)

// Settings returns the named values of the program itself.
func (db *DB) Settings() store.Settings { return settingStore{db} }

type settingStore struct{ db *DB }

func (t settingStore) Get(ctx context.Context, name string) (value string, ok bool, err error) {
	return t.db.settings.lookUpOrAsk(ctx, t.db, name, func(c *conn) (string, bool, error) { return c.readSetting(name) })
}

func (c *conn) readSetting(name string) (value string, ok bool, err error) {
	err = c.query(`SELECT value FROM settings WHERE name = ?1`, []any{name}, func(s *sqlite3.Stmt) (bool, error) {
		value, ok = s.ColumnText(0), true
		return false, nil
	})
	return value, ok, err
}

func (t settingStore) Put(ctx context.Context, name, value string) error {
	return t.db.changeLeased(ctx, func(c *conn) error { return c.writeSetting(name, value) })
}

func (c *conn) writeSetting(name, value string) error {
	_, err := c.exec(`INSERT INTO settings(name, value) VALUES(?1, ?2)
		ON CONFLICT(name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

func (t settingStore) PutIfAbsent(ctx context.Context, name, value string) (existing string, stored bool, err error) {
	err = t.db.inWriteTx(ctx, true, func(c *conn) error {
		have, ok, err := c.readSetting(name)
		if err != nil || ok {
			existing = have
			return err
		}
		stored = true
		return c.writeSetting(name, value)
	})
	if err != nil {
		return "", false, err
	}
	return existing, stored, nil
}

func (t settingStore) Swap(ctx context.Context, name, old, value string) (swapped bool, err error) {
	return t.db.execLeased(ctx, `UPDATE settings SET value = ?3 WHERE name = ?1 AND value = ?2`, name, old, value)
}

func (t settingStore) Delete(ctx context.Context, name string) error {
	_, err := t.db.execLeased(ctx, `DELETE FROM settings WHERE name = ?1`, name)
	return err
}
