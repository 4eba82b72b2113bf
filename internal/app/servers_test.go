package app

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/registry"
)

// slowServers returns a deployment with more servers than are started at once, each of
// which takes its time to list its tools.
func slowServers(t *testing.T, takes time.Duration) *Deployment {
	t.Helper()
	role := &sallyport.Personality{Name: "ops"}
	c := &config.Config{Workspace: t.TempDir(), Personalities: map[string]*sallyport.Personality{"ops": role}}
	d := &Deployment{Config: c, Servers: Servers{
		Pins:      &LockPins{Policy: AskNew, Servers: map[string]*ServerLaunch{}},
		installer: &packageInstaller{progress: &plainProgress{w: io.Discard}},
	}}
	var discovery []sallyport.Tool
	for i := range 2*discoverAtOnce + 1 {
		s := upstream.Server{Name: fmt.Sprintf("server%d", i), Command: []string{"true"}}
		c.Servers, role.MCPServers = append(c.Servers, config.Part{ID: s.Name}), append(role.MCPServers, s.Name)
		d.Servers.Declared, d.Servers.Pins.Servers[s.Name] = append(d.Servers.Declared, s), &ServerLaunch{declared: s, mounted: s}
		discovery = append(discovery, sallyport.Tool{
			Name: upstream.DiscoveryName(s.Name), Description: "Takes its time.", AlwaysInclude: true, Timeout: time.Hour,
			Run: func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
				select {
				case <-time.After(takes):
					return sallyport.OK("1 tools"), nil
				case <-ctx.Done():
					return sallyport.Result{}, ctx.Err()
				}
			},
		})
	}
	var err error
	if d.Servers.Mounts, err = upstream.New(d.Servers.Declared, nil); err != nil {
		t.Fatal(err)
	}
	d.Servers.Finder, err = registry.New(&sallyport.Backends{Personalities: d.finderRoles()}, &registry.Options{Workspace: c.Workspace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Servers.Finder.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := d.Servers.Finder.Register(discovery...); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEachServerHasItsOwnTime: servers that wait behind others are heard out, too.
func TestEachServerHasItsOwnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := slowServers(t, serveWait-time.Second)
		d.DiscoverServers(t.Context(), "ops", EveryServer)
		if len(d.Servers.Found) != len(d.Servers.Declared) {
			t.Errorf("%d of %d servers were asked", len(d.Servers.Found), len(d.Servers.Declared))
		}
		for _, f := range d.Servers.Found {
			if f.Why != "" {
				t.Errorf("%s: %s", f.Name, f.Why)
			}
		}
	})
}

// TestServeWaitsForAllServersTogether: those that it does not wait for say why.
func TestServeWaitsForAllServersTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := slowServers(t, serveWait-time.Second)
		begin := time.Now()
		d.DiscoverForServing(t.Context(), "ops")
		if took := time.Since(begin); took > serveWait {
			t.Errorf("serve waited %v", took)
		}
		listed := 0
		for _, f := range d.Servers.Found {
			if f.Why == "" {
				listed++
			} else if f.Why != errServeWait.Error() {
				t.Errorf("%s: %s", f.Name, f.Why)
			}
		}
		if listed != discoverAtOnce {
			t.Errorf("%d servers were heard out, want the first %d", listed, discoverAtOnce)
		}
	})
}
