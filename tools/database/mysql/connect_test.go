package mysql

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

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
