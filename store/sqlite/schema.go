package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/sallyport/sallyport/internal/sqlfile"
	"github.com/sallyport/sallyport/store"
)

// applicationID marks our files (PRAGMA application_id): "SALY".
const applicationID = 0x53414c59

// migrations bring a file from version i to version i+1. One that was
// released is never changed.
var migrations = [...]string{
	// Columns that are compared come before the body, which may fill many
	// pages. Names from callers are bytes, so that nothing is converted.
	`CREATE TABLE audit(
		seq INTEGER PRIMARY KEY,
		time INTEGER NOT NULL,
		kind TEXT NOT NULL,
		call TEXT NOT NULL,
		tool TEXT NOT NULL,
		principal TEXT NOT NULL,
		denied INTEGER NOT NULL,
		hash BLOB NOT NULL,
		body TEXT NOT NULL
	) STRICT;
	CREATE INDEX audit_call ON audit(call);

	CREATE TABLE kv(
		scope BLOB NOT NULL,
		key BLOB NOT NULL,
		expires INTEGER,
		value BLOB NOT NULL,
		PRIMARY KEY(scope, key)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX kv_expires ON kv(expires) WHERE expires IS NOT NULL;

	CREATE TABLE reads(
		id INTEGER PRIMARY KEY,
		session BLOB NOT NULL,
		path BLOB NOT NULL,
		identity BLOB NOT NULL,
		digest BLOB NOT NULL,
		time INTEGER NOT NULL
	) STRICT;
	CREATE UNIQUE INDEX reads_path ON reads(session, path);
	CREATE INDEX reads_identity ON reads(session, identity);
	CREATE INDEX reads_time ON reads(time);

	CREATE TABLE settings(
		name TEXT PRIMARY KEY,
		value TEXT NOT NULL
	) STRICT, WITHOUT ROWID;`,

	limitsSchema + approvalsSchema + principalsSchema,

	factsSchema,

	placesSchema,

	recordsSchema,

	forgottenSchema,

	leasesSchema,

	blocksSchema,
}

// recordsVersion is the version from which on the record is in a log.
const recordsVersion = 5

// migrateSchema brings the file to the present version, or refuses it.
func (c *conn) migrateSchema(ctx context.Context) error {
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	version, err := c.schemaVersion()
	if err != nil || version == len(migrations) {
		return c.wrapError(ctx, err)
	}
	if version == 0 {
		// Before the first table: pages that pruning frees can go back to
		// the disk.
		if err := c.Exec("PRAGMA auto_vacuum=INCREMENTAL"); err != nil {
			return c.wrapError(ctx, err)
		}
	}
	if err := sqlfile.EnterWAL(ctx, c.Conn, c.busy); err != nil {
		return c.wrapError(ctx, err)
	}
	return c.inWriteTx(ctx, true, func(c *conn) error { return c.applyMigrations(ctx) })
}

// schemaVersion returns the version of the schema, 0 for an empty file.
func (c *conn) schemaVersion() (int, error) {
	if tables, err := c.readInt("SELECT count(*) FROM sqlite_schema"); err != nil || tables == 0 {
		return 0, err
	}
	if id, err := c.readInt("PRAGMA application_id"); err != nil {
		return 0, err
	} else if id != applicationID {
		return 0, &store.Error{Reason: store.ErrForeign}
	}
	version, err := c.readInt("SELECT max(version) FROM migrations")
	if err != nil {
		return 0, err
	}
	if version > int64(len(migrations)) {
		return 0, &store.Error{
			Reason: store.ErrNewer,
			Err:    fmt.Errorf("its schema has version %d, this program knows %d", version, len(migrations)),
		}
	}
	return int(version), nil
}

// applyMigrations runs in a write transaction; another process may have been
// first.
func (c *conn) applyMigrations(ctx context.Context) error {
	version, err := c.schemaVersion()
	if err != nil {
		return err
	}
	if version == 0 {
		first := fmt.Sprintf("PRAGMA application_id=%d;", applicationID) +
			"CREATE TABLE migrations(version INTEGER PRIMARY KEY, applied INTEGER NOT NULL) STRICT;"
		if err := c.Exec(first); err != nil {
			return err
		}
	}
	for ; version < len(migrations); version++ {
		var taken *indexMark
		if version+1 == recordsVersion {
			if taken, err = c.takeOver(ctx); err != nil {
				return err
			}
		}
		if err := c.Exec(migrations[version]); err != nil {
			return err
		}
		if taken != nil {
			if err := c.writeMark(taken); err != nil {
				return err
			}
		}
		if _, err := c.exec("INSERT INTO migrations VALUES(?1, ?2)", version+1, time.Now().UnixNano()); err != nil {
			return err
		}
	}
	return nil
}
