package clients_test

import (
	"path/filepath"
	"strings"
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

func TestB7_CredentialsInCommandsAreSeen(t *testing.T) {
	for _, tt := range []struct {
		command []string
		want    bool
	}{
		{[]string{"curl", "-u", "ada:hunter2"}, true},
		{[]string{"curl", "--user", "ada:hunter2"}, true},
		{[]string{"curl", "--user=ada:hunter2"}, true},
		{[]string{"tool", "--password=hunter2"}, true},
		{[]string{"tool", "--dbpassword", "hunter2"}, true},
		{[]string{"tool", "--client-secret", "hunter2"}, true},
		{[]string{"tool", "-token", "hunter2"}, true},
		{[]string{"mysql", "-phunter2"}, true},
		{[]string{"redis-cli", "-a", "hunter2"}, true},
		{[]string{"sh", "-c", "PGPASSWORD=hunter2 exec tool"}, true},
		{[]string{"bash", "-lc", "export pw='hunter2'; tool"}, true},
		{[]string{"sh", "-c", `cd /x && LOGIN="ada" tool`}, true},
		{[]string{"env", "login=hunter2", "tool"}, true},
		{[]string{"docker", "run", "-e", "LOGIN=hunter2", "x"}, true},
		{[]string{"tool", "postgres://ada:hunter2@db/x"}, true},
		{[]string{"tool", "https://ada@db.example/x"}, true},
		{[]string{"tool", "--url=https://ada:p%zz@db.example/x"}, true},
		{[]string{"tool", "--header", "X-Api-Key: hunter2"}, true},
		{[]string{"tool", "--creds", "hunter2"}, true},
		{[]string{"tool", "--pw", "hunter2"}, true},
		{[]string{"tool", "host=db user=ada pw=hunter2"}, true},
		{[]string{"tool", "https://h.example/?pw=hunter2"}, true},
		{[]string{"tool", `{"pw":"hunter2"}`}, true},

		{[]string{"sh", "-c", "tool --password hunter2"}, true},
		{[]string{"sh", "-c", "cd /x && mysql -phunter2"}, true},
		{[]string{"bash", "-lc", "exec curl -u 'ada:hunter2' https://h.example"}, true},
		{[]string{"sh", "-c", "echo hunter2 | tool"}, true},
		{[]string{"sh", "-c", `printf '%s' "hunter2" > /tmp/x; tool`}, true},
		{[]string{"bash", "-c", "tool <<< hunter2"}, true},
		{[]string{"fish", "-c", "set -x PGPASSWORD hunter2; tool"}, true},
		{[]string{"timeout", "10", "sshpass", "-p", "hunter2", "tool"}, true},
		{[]string{"tool", "password", "hunter2"}, true},
		{[]string{"tool", "--header", "Authorization", "hunter2"}, true},
		{[]string{"tool", "--header", "X-Custom: hunter2"}, true},
		{[]string{"tool", "--header=X-Custom: hunter2"}, true},
		{[]string{"tool", "-HX-Custom: hunter2"}, true},
		{[]string{"tool", "--connection-string", "hunter2"}, true},
		{[]string{"docker", "run", "-elogin=hunter2", "x"}, true},
		{[]string{"docker", "run", "--env=login=hunter2", "x"}, true},
		{[]string{"tool", "--config", `"{\"apiKey\":\"hunter2\"}"`}, true},
		{[]string{"perl", "-e", "$ENV{PGPASSWORD}='hunter2'; exec 'tool'"}, true},
		{[]string{"tool", "ada:hunter2@db/x"}, true},
		{[]string{"tool", "ada:hunter2@tcp(127.0.0.1:3306)/x"}, true},
		{[]string{"tool", "https://hooks.slack.example/services/T/B/hunter2"}, true},
		{[]string{"tool", "https://h.example/?code=hunter2"}, true},

		{[]string{"npx", "-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "/home"}, false},
		{[]string{"npx", "-p", "typescript", "tsc"}, false},
		{[]string{"node", "server.js", "--port", "8080", "--max-tokens=4096"}, false},
		{[]string{"tool", "-u", "ada"}, false},
		{[]string{"tool", "--user", "1000:1000"}, false},
		{[]string{"sh", "-c", "NODE_ENV=production exec tool --flag=value"}, false},
		{[]string{"sh", "-c", "NAME=$OTHER exec tool"}, false},
		{[]string{"git", "clone", "ssh://git@git.example/x"}, false},
		{[]string{"tool", "--origins=https://a.example,https://b.example"}, false},
		{[]string{"sh", "-c", "cd /x && exec node server.js --port 8080 2>&1 | tee /tmp/log"}, false},
		{[]string{"bash", "-c", `source "$HOME/.nvm/nvm.sh" && npx -y tool@1.2.3`}, false},
		{[]string{"sh", "-c", "echo starting >&2; exec tool"}, false},
		{[]string{"sh", "-c", `printf '%s' "$TOKEN" | tool`}, false},
		{[]string{"deno", "run", "npm:@x/tool@1.2.3"}, false},
		{[]string{"bunx", "npm:tool@1.2.3"}, false},
		{[]string{"tool", "--contact", "mailto:ada@a.example"}, false},
		{[]string{"tool", "git@git.example:x/y"}, false},
		{[]string{"docker", "run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.example/x:1.0@sha256:aa"}, false},
		{[]string{"tool", "--header", "Accept: application/json"}, false},
		{[]string{"npx", "-y", "@x/auth-server@1.0.0", "start"}, false},
		{[]string{"uv", "--directory", "/x", "run", "server.py"}, false},
	} {
		why := ""
		for i := 1; i < len(tt.command); i++ {
			if w := clients.Credential(tt.command, i); w != "" {
				why = w
			}
		}
		if (why != "") != tt.want {
			t.Errorf("Credential(%q) = %q, want %v", tt.command, why, tt.want)
		}
		if strings.Contains(why, "hunter2") {
			t.Errorf("Credential(%q) = %q shows the value", tt.command, why)
		}
	}
}
