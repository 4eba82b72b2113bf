package postgres

import (
	"net"
	"strings"
	"testing"

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
