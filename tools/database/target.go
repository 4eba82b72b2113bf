package database

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Target implements [sallyport.TargetNamer]. It reads the address, as a query
// does, and connects to nothing.
func (b *Backend) Target(ctx context.Context, connection string) (string, error) {
	c := b.conns[connection]
	if c == nil {
		return "", newNotAvailable(connection, "connection "+clipMessage(connection)+" is not configured")
	}
	return c.engine.describeTarget(ctx)
}

func (e *mysqlEngine) describeTarget(ctx context.Context) (string, error) {
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

func (e *postgresEngine) describeTarget(ctx context.Context) (string, error) {
	address, err := e.address(ctx)
	if err != nil {
		return "", err
	}
	config, err := e.parseConfig(address)
	if err != nil {
		return "", err
	}
	hosts := []string{fmt.Sprintf("%s:%d", config.Host, config.Port)}
	for _, f := range config.Fallbacks {
		// One host may stand there twice, with TLS and without.
		if host := fmt.Sprintf("%s:%d", f.Host, f.Port); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	text := fmt.Sprintf("postgres %s/%s as %s", strings.Join(hosts, ","), config.Database, config.User)
	if path, ok := config.RuntimeParams["search_path"]; ok {
		text += fmt.Sprintf(" with search_path %q", path)
	}
	return text, nil
}

// describeTarget follows links, so that an exchanged one is another target.
func (e *sqliteEngine) describeTarget(context.Context) (string, error) {
	path, err := filepath.EvalSymlinks(e.path)
	if err != nil {
		return "", errors.Join(errors.New("the file is not there"), err)
	}
	return "sqlite " + path, nil
}
