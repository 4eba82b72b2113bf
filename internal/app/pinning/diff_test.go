package pinning

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/lock"
)

// TestAcceptCommandsCanBePasted uses names from another party in a command that the
// user pastes into a shell.
func TestAcceptCommandsCanBePasted(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("a", 64)
	for _, tt := range []struct {
		scope lock.Scope
		want  string
	}{
		{lock.Scope{}, "sallyport lock accept --config 'my file.yaml' --expect " + digest},
		{lock.Scope{Server: "notes"}, "sallyport lock accept --config 'my file.yaml' notes --expect " + digest},
		{lock.Scope{Server: "notes", Tool: "issues/create"}, "sallyport lock accept --config 'my file.yaml' notes/issues/create --expect " + digest},
		{lock.Scope{Server: "notes", Tool: "$(rm -rf ~)"}, "sallyport lock accept --config 'my file.yaml' 'notes/$(rm -rf ~)' --expect " + digest},
		{lock.Scope{Server: "notes", Tool: "a';b'"}, `sallyport lock accept --config 'my file.yaml' 'notes/a'\'';b'\''' --expect ` + digest},
	} {
		if got := acceptCommand([]string{"my file.yaml"}, tt.scope, digest); got != tt.want {
			t.Errorf("acceptCommand(%v) = %s, want %s", tt.scope, got, tt.want)
		}
	}
}

// TestNextNamesEveryServerThatWasNotStarted requires every name: with only one,
// the launches of the others would not be accepted.
func TestNextNamesEveryServerThatWasNotStarted(t *testing.T) {
	t.Parallel()
	d := &LockDiff{Servers: []ServerState{{Server: "a", State: StateChanged}, {Server: "b", State: StatePinned}}}
	if got := d.nextServers(lock.Scope{}); !strings.Contains(got, "sallyport diff a shows what it offers") {
		t.Errorf("next = %s", got)
	}
	d.Servers[1].State = StateChanged
	if got := d.nextServers(lock.Scope{}); !strings.Contains(got, "sallyport diff shows what a, b offer") {
		t.Errorf("next = %s", got)
	}
	d.Servers[0].Started, d.Servers[1].Started = true, true
	if got := d.nextServers(lock.Scope{}); got != "" {
		t.Errorf("next = %s, want nothing", got)
	}
}
