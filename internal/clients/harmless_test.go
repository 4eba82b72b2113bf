package clients_test

import (
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport/internal/clients"
)

func TestB7_OnlyWhatIsKnownToBeHarmlessIsCopied(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name, value string
		want        bool
	}{
		{"PGPASSWORD", "hunter2", false},
		{"PGPASSWORD", "12345678", false},
		{"CLIENTSECRET", "hunter2", false},
		{"MYSQL_PWD", "true1", false},
		{"authtoken", "info", false},
		{"DBPASS", "production", false},
		{"GREETING", "hello", false},
		{"LOGIN", "ada", false},
		{"SLACK_WEBHOOK", "https://hooks.slack.example/services/T0/B0", false},
		{"DATABASE_URL", "postgres://me@db.example/x", false},
		{"API_URL", "https://api.example/v2?key=1", false},
		{"API_URL", "https://api.example/v2#x", false},
		{"API_URL", "https://me:p%zz@api.example/", false},
		{"PIN", "1234", false},
		{"FILE", "/no/such/place/at/all", false},
		{"FILE", "correct/horse", false},
		{"X-Custom", "abc", false},
		{"DB_PW", "48291374", false},
		{"PASSCODE", "482913", false},
		{"ADMIN_CREDS", "48291374", false},
		{"OTP", "482913", false},
		{"User-Agent", "hunter2", false},
		{"TOKEN", "83920183", false},
		{"API_KEY", "8392018399", false},
		{"ACCESS_CODE", "839201", false},
		{"ENDPOINT", "https://api.example/t/hunter2", false},

		{"EMPTY", "", true},
		{"NODE_ENV", "production", true},
		{"LOG_LEVEL", "DEBUG", true},
		{"MAX_TOKENS", "4096", true},
		{"TIMEOUT", "30s", true},
		{"LISTEN", "127.0.0.1:8080", true},
		{"USE_AUTH", "false", true},
		{"API_URL", "https://api.example.com/v2", true},
		{"API_URL", "https://api.example.com/api/v2.1/open-data/", true},
		{"MAX_OTP_AGE", "30", true},
		{"MAX_TOKENS", "1000000", true},
		{"HTTP_CODE", "200", true},
		{"USE_KEY", "true", true},
		{"DIR", dir, true},
		{"DIR", filepath.Join(dir, "memory.json"), true},
		{"SSL_KEY_FILE", "/etc/hosts", true},
		{"Accept", "application/json", true},
	} {
		if got := clients.Harmless(tt.name, tt.value); got != tt.want {
			t.Errorf("Harmless(%s, %s) = %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}
