package database

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

func TestPostgresAddress(t *testing.T) {
	t.Setenv("PGSSLMODE", "disable")
	t.Setenv("PGOPTIONS", "-c search_path=evil")
	t.Setenv("PGPASSWORD", "of-the-environment")
	e := &postgresEngine{engine.Settings{Dial: new(net.Dialer).DialContext}}
	for _, c := range []struct {
		address  string
		tls, ok  bool
		fallback int
	}{
		{"postgres://u:p@db.example.com/d", true, true, 0},
		{"postgres://u:p@db.example.com/d?sslmode=disable", false, true, 0},
		{"postgres://u:p@db.example.com/d?sslmode=require", true, true, 0},
		{"postgres://u:p@127.0.0.1/d", true, true, 1},
		{"postgres://u@[::1]:5433/d?search_path=s", true, true, 1},
		{"postgres://u:p@/d?host=/var/run/postgresql", false, true, 0},
		{"postgres://u:p@127.0.0.1/d?host=db.example.com", false, false, 0},
		{"postgres://u:p@/d?host=127.0.0.1&host=db.example.com", false, false, 0},
		{"postgres://u:p@localhost,db.example.com/d", true, true, 1},
		{"postgres://u:p@/d?host=localhost,db.example.com", true, true, 1},
		{"postgres://u:p@db.example.com/d?options=-crole=postgres", false, false, 0},
		{"postgres://u:p@db.example.com/d?passfile=/etc/passwd", false, false, 0},
		{"postgres://u:p@db.example.com/", false, false, 0},
		{"postgres:///d", false, false, 0},
		{"mysql://u:p@db.example.com/d", false, false, 0},
		{"host=db.example.com user=u dbname=d", false, false, 0},
	} {
		config, err := e.parseConfig(c.address)
		if (err == nil) != c.ok {
			t.Errorf("config(%s) = %v, want ok %t", c.address, err, c.ok)
		}
		if err != nil {
			continue
		}
		if (config.TLSConfig != nil) != c.tls || len(config.Fallbacks) != c.fallback {
			t.Errorf("config(%s): TLS %t and %d fallbacks, want %t and %d", c.address, config.TLSConfig != nil, len(config.Fallbacks), c.tls, c.fallback)
		}
		if config.Password == "of-the-environment" || strings.Contains(config.RuntimeParams["options"], "evil") {
			t.Errorf("config(%s) takes settings of the environment", c.address)
		}
		if c.tls && c.fallback == 0 && strings.HasSuffix(c.address, "/d") && config.TLSConfig.ServerName != "db.example.com" {
			t.Errorf("config(%s) does not check the server's name", c.address)
		}
	}
}

func TestMySQLAddress(t *testing.T) {
	for _, c := range []struct {
		address, tls string
		ok           bool
	}{
		{"mysql://u:p@db.example.com/d", "true", true},
		{"mariadb://u:p@db.example.com:3307/d?tls=skip-verify", "skip-verify", true},
		{"mysql://u:p@db.example.com/d?tls=false", "false", true},
		{"mysql://u:p@127.0.0.1/d", "", true},
		{"u:p@tcp(db.example.com:3306)/d", "true", true},
		{"u:p@tcp(127.0.0.1:3306)/d?multiStatements=true&allowAllFiles=true&interpolateParams=true&allowCleartextPasswords=true&sql_mode=x", "", true},
		{"u:p@unix(/run/mysqld/mysqld.sock)/d", "", true},
		{"mysql://u:p@db.example.com/d?allowAllFiles=true", "", false},
		{"mysql://u:p@db.example.com/d?tls=preferred", "", false},
		{"mysql://db.example.com/d", "", false},
		{"nothing", "", false},
	} {
		config, err := mysqlConfig(c.address)
		if (err == nil) != c.ok {
			t.Errorf("mysqlConfig(%s) = %v, want ok %t", c.address, err, c.ok)
		}
		if err != nil {
			continue
		}
		if config.TLSConfig != c.tls {
			t.Errorf("mysqlConfig(%s): tls %q, want %q", c.address, config.TLSConfig, c.tls)
		}
		if config.MultiStatements || config.AllowAllFiles || config.InterpolateParams || config.AllowCleartextPasswords || config.Params != nil {
			t.Errorf("mysqlConfig(%s) = %+v, want nothing that a query could misuse", c.address, config)
		}
	}
}

// TestJudgeGrant has lines of MySQL 8 and MariaDB as their manuals show them.
func TestJudgeGrant(t *testing.T) {
	for _, c := range []struct {
		line, read, write string
	}{
		{"GRANT USAGE ON *.* TO `u`@`%`", "", ""},
		{"GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*2470'", "", ""},
		{"GRANT SELECT ON `shop`.* TO `u`@`%`", "", ""},
		{"GRANT SELECT (`a`, `b, INSERT`), SHOW VIEW ON `shop`.`t` TO `u`@`%`", "", ""},
		{"GRANT SELECT, SHOW VIEW ON `shop`.`odd TO ``name`` ON` TO `u`@`%`", "", ""},
		{"REVOKE SELECT ON `mysql`.* FROM `u`@`%`", "", ""},
		{"SET DEFAULT ROLE `r` FOR `u`@`%`", "", ""},
		{"GRANT SELECT (`a`), INSERT (`b`) ON `shop`.`t` TO `u`@`%`", "INSERT", ""},
		{"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER ON `shop`.* TO `u`@`%`", "INSERT", ""},
		{"GRANT ALL PRIVILEGES ON `shop`.* TO `u`@`%`", "ALL PRIVILEGES", ""},
		{"GRANT ALL PRIVILEGES ON *.* TO `u`@`%`", "ALL PRIVILEGES", "ALL PRIVILEGES"},
		{"GRANT ALL PRIVILEGES ON `mysql`.* TO `u`@`%`", "ALL PRIVILEGES", "ALL PRIVILEGES"},
		{"GRANT SELECT ON `shop`.* TO `u`@`%` WITH GRANT OPTION", "GRANT OPTION", "GRANT OPTION"},
		{"GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `u`@`%`", "EXECUTE", ""},
		{"GRANT FILE ON *.* TO `u`@`%`", "FILE", "FILE"},
		{"GRANT BACKUP_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO `u`@`%`", "BACKUP_ADMIN", "BACKUP_ADMIN"},
		{"GRANT `r`@`%` TO `u`@`%`", "role", "role"},
		{"GRANT ` ON `@`%` TO `u`@`%`", "role", "role"},
		{"GRANT PROXY ON ``@`%` TO `u`@`%`", "PROXY", "PROXY"},
		{"ALTER something", "not understood", "not understood"},
	} {
		for mode, want := range map[sallyport.AccessMode]string{sallyport.ModeRead: c.read, sallyport.ModeWrite: c.write} {
			got := checkGrant(c.line, mode)
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("judgeGrant(%s, %s) = %q, want %q", c.line, mode, got, want)
			}
		}
	}
}

func TestSecretByReference(t *testing.T) {
	b, err := Open(map[string]Connection{"db": {Driver: DriverPostgres, SecretRef: "db/main"}}, &Options{Secrets: source{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	e, ok := b.conns["db"].engine.(*postgresEngine)
	if !ok {
		t.Fatalf("engine = %T", b.conns["db"].engine)
	}
	if got, err := e.Address(t.Context()); err != nil || got != "address of db/main" {
		t.Errorf("address() = %q, %v", got, err)
	}
}

// source answers every reference.
type source struct{}

func (source) Secret(_ context.Context, ref string) (sallyport.Secret, bool, error) {
	return sallyport.NewSecret("address of " + ref), true, nil
}

func (source) Known(context.Context) ([]sallyport.Secret, error) { return nil, nil }
