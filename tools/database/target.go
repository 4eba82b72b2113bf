package database

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// Target implements [sallyport.TargetNamer]. It reads the address, as a query
// does, and connects to nothing.
func (b *Backend) Target(ctx context.Context, connection string) (string, error) {
	c := b.conns[connection]
	if c == nil {
		return "", notAvailable(connection, "connection "+clip(connection)+" is not configured")
	}
	return c.engine.target(ctx)
}

func (e *mysqlEngine) target(ctx context.Context) (string, error) {
	address, err := e.address(ctx)
	if err != nil {
		return "", err
	}
	config, err := mysqlConfig(address)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("mysql %s/%s as %s", config.Addr, config.DBName, config.User), nil
}

func (e *postgresEngine) target(ctx context.Context) (string, error) {
	address, err := e.address(ctx)
	if err != nil {
		return "", err
	}
	config, err := e.config(address)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("postgres %s:%d/%s as %s", config.Host, config.Port, config.Database, config.User), nil
}

// target follows links, so that an exchanged one is another target.
func (e *sqliteEngine) target(context.Context) (string, error) {
	path, err := filepath.EvalSymlinks(e.path)
	if err != nil {
		return "", errors.Join(errors.New("the file is not there"), err)
	}
	return "sqlite " + path, nil
}
