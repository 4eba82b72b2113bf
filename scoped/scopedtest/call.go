// Package scopedtest makes calls for the tests of tools: real accessors over
// backends in memory and a temporary folder, and a record of what the tool
// touched.
//
// Start with [NewCall], run the tool with it, and compare [Touched] and
// [Unused] with what the tool ought to touch. The accessors grant exactly what
// the options declare, so that a tool that reaches further is refused in its
// test as it would be in the gate. Only the network is imitated: hosts are
// http.Handlers, and no packet leaves the process.
package scopedtest

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/scoped"
)

// Options says what a call brings and what its backends answer. The zero value
// is a call of a tool that touches nothing.
type Options struct {
	// Tool is the name of the tool; empty means "tool".
	Tool string
	// Capabilities is the declaration, granted as it stands: "*" reaches the
	// hosts of Hosts, from-personality the workspace.
	Capabilities sallyport.Capabilities
	// Args is the JSON text of the arguments; empty means {}.
	Args json.RawMessage
	// Session is the session's id; empty means "session".
	Session string
	// Personality is the name of the role; it may be empty.
	Personality string
	// Files is what the workspace, a fresh temporary folder, holds: contents
	// by path relative to it.
	Files map[string]string
	// Hosts answers requests, by canonical host or host:port.
	Hosts map[string]http.Handler
	// Dial answers DialContext for granted addresses; nil fails.
	Dial func(address string) (net.Conn, error)
	// Secrets is values by reference. Values have at least eight bytes.
	Secrets map[string]string
	// KV keeps the store, so that calls can share it; nil means a fresh one.
	KV *KV
	// Spawn plays the processes; nil means that each ends at once with exit
	// code 0 and no output. Its context ends when the process is stopped.
	Spawn func(context.Context, Spawned) (sallyport.ProcessResult, error)
	// Query plays the databases; nil means empty answers.
	Query func(Queried) (sallyport.Table, error)
	// Answer plays the caller; nil means that the caller cannot be asked.
	Answer func(sallyport.Question) sallyport.Answer
	// Attachments is what the turn brings.
	Attachments []sallyport.Attachment
	// Contents is the contents of the attachments by ref.
	Contents map[string]string
}

// TB is what NewCall needs of a *testing.T.
type TB interface {
	// Helper marks the caller as a helper.
	Helper()
	// Fatalf ends the test.
	Fatalf(format string, args ...any)
	// Cleanup runs a function when the test ends.
	Cleanup(func())
	// TempDir returns a fresh folder that is removed when the test ends.
	TempDir() string
}

// NewCall returns a call whose accessors work. What it opens is closed when
// the test ends. [RecordOf] and the functions that take a call need it as it
// was returned.
func NewCall(t TB, o *Options) *sallyport.Call {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	r := &Record{declared: o.Capabilities, workspace: newWorkspace(t, o.Files)}
	c := &sallyport.Call{
		ID: "call", Tool: cmp.Or(o.Tool, "tool"), Args: o.Args,
		Session:     cmp.Or(o.Session, "session"),
		Principal:   sallyport.Principal{Name: sallyport.LocalPrincipal},
		Personality: o.Personality, Platform: sallyport.PlatformGo,
		Workspace: r.workspace, Turn: 1, ResultBudget: 80_000,
		Emit:   func(p sallyport.Progress) { r.runLocked(func() { r.progress = append(r.progress, p) }) },
		Detach: func() {},
	}
	c.SessionKey = sallyport.SessionKey(c.Principal.Name, c.Session)
	if len(c.Args) == 0 {
		c.Args = json.RawMessage("{}")
	}
	grant, err := r.newGrant(o)
	failOn(t, err)
	scope, err := scoped.New(c.Tool, grant, r.newBackends(t, o))
	failOn(t, err)
	t.Cleanup(scope.Close)
	note := func(d sallyport.Decision) { r.runLocked(func() { r.decisions = append(r.decisions, d) }) }
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	_, err = scope.Bind(ctx, c, scoped.Turn{Attachments: o.Attachments, Input: o.newCaller()}, note)
	failOn(t, err)
	failOn(t, r.wrapAccessors(c, o))
	return c
}

func failOn(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("scopedtest: %v", err)
	}
}

// newGrant returns the declaration as a grant. The network is imitated: its
// hosts are in the grant for what is not the network accessor, such as the
// hosts that receive a child's secrets.
func (r *Record) newGrant(o *Options) (*sallyport.Grant, error) {
	d := o.Capabilities
	g := &sallyport.Grant{}
	for _, one := range group.All() {
		if one.Grant != nil && one.Named(&d) {
			one.Grant(&d, g)
		}
	}
	if d.Network != nil {
		hosts, err := reach.ParseHosts(d.Network.AllowedHosts)
		if err != nil {
			return nil, err
		}
		for _, h := range hosts {
			g.Network.Allow = append(g.Network.Allow, h.String())
		}
	}
	if d.FSReach != nil {
		var err error
		g.FS.Mode = d.FSReach.Mode
		if g.FS.Read, err = r.expandPaths(d.FSReach.Read); err != nil {
			return nil, err
		}
		if g.FS.Write, err = r.expandPaths(d.FSReach.Write); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (r *Record) expandPaths(l sallyport.PathList) ([]string, error) {
	if l.FromPersonality {
		return []string{r.workspace}, nil
	}
	var paths []string
	for _, p := range l.Paths {
		abs, err := reach.Expand(p, map[string]string{"workspace": r.workspace})
		if err != nil {
			return nil, err
		}
		paths = append(paths, abs)
	}
	return paths, nil
}

// newWorkspace writes the files into a fresh folder. Its links are resolved
// because temporary folders are links on some systems.
func newWorkspace(t TB, files map[string]string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	failOn(t, err)
	for name, content := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		failOn(t, os.MkdirAll(filepath.Dir(file), 0o755))
		failOn(t, os.WriteFile(file, []byte(content), 0o644))
	}
	return folder
}
