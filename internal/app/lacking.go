package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/secrets"
)

// tryWait bounds the trial of one connection.
const tryWait = 10 * time.Second

// Lack is something that the configuration names and that calls would not find.
type Lack struct {
	// What is "secret", "database", "mail", "set" or "permission".
	What string `json:"what"`
	// Name is its reference or its name in the configuration.
	Name string `json:"name"`
	// Why says what is wrong, without credentials.
	Why string `json:"why"`
	// Source is the place of the rule that names it, as file:line:column.
	Source string `json:"source,omitempty"`
	// Fix is the command or edit that adds it.
	Fix string `json:"fix,omitempty"`
}

// FindLacks looks for every secret that the configuration names, and connects to
// every database and mail relay whose secrets are there. Each connection is
// recorded before it is made. Nothing is queried but the members of sets, and nothing is
// sent.
func (rt *Runtime) FindLacks(ctx context.Context) []Lack {
	var list []Lack
	missing := map[string]bool{}
	for _, u := range rt.secretUses() {
		if why := rt.whySecretMissing(ctx, u.ref); why != "" {
			missing[u.ref] = true
			list = append(list, Lack{What: "secret", Name: u.ref, Why: strings.Join(u.by, ", ") + ": " + why, Source: u.source, Fix: rt.fixSecret(u.ref)})
		}
	}
	list = append(list, rt.findBadSigners(ctx)...)
	list = append(list, rt.tryConnections(ctx, missing)...)
	return append(list, rt.findUnreadSets(ctx, list)...)
}

// secretUse is a secret, what needs it, and the place of the first that names it.
type secretUse struct {
	ref    string
	by     []string
	source string
}

// secretUses lists the secrets that the configuration names exactly, once each.
// Tokens of OAuth servers come from logins and are not among them.
func (rt *Runtime) secretUses() (list []secretUse) {
	c := rt.InForce().Config
	add := func(by, source string, refs ...string) {
		for _, ref := range refs {
			i := slices.IndexFunc(list, func(u secretUse) bool { return u.ref == ref })
			switch {
			case ref == "" || reach.ParseExactRef(ref) != nil:
			case i < 0:
				list = append(list, secretUse{ref, []string{by}, source})
			case !slices.Contains(list[i].by, by):
				list[i].by = append(list[i].by, by)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Databases)) {
		add("database "+name, c.Source("databases."+name+".url_secret"), c.Databases[name].URLSecret)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Mail)) {
		add("mail relay "+name, c.Source("mail."+name+".user_secret"), c.Mail[name].UserSecret)
		add("mail relay "+name, c.Source("mail."+name+".password_secret"), c.Mail[name].PasswordSecret)
	}
	if o := c.Security.OIDC; o != nil && o.Page != nil {
		add("sign-in at the page", c.Source("security.oidc.page.client_secret_secret"), o.Page.ClientSecret)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Notices)) {
		add("webhook "+name, c.Source("notices."+name+".secret"), c.Notices[name].Secret)
	}
	if c.Telemetry != nil {
		for _, name := range slices.Sorted(maps.Keys(c.Telemetry.Headers)) {
			add("telemetry", c.Source("telemetry.otlp.headers."+name+".secret"), c.Telemetry.Headers[name].Secret)
		}
	}
	for i := range c.Audit.Push {
		for _, name := range slices.Sorted(maps.Keys(c.Audit.Push[i].Headers)) {
			add("push of the record", c.Source(fmt.Sprintf("audit.push.%d.otlp.headers.%s.secret", i, name)), c.Audit.Push[i].Headers[name].Secret)
		}
	}
	for _, role := range c.Names() {
		for _, tool := range rt.InForce().Registry.List(&sallyport.Caller{Personality: role}) {
			if ServerOf(tool.Name) == "" {
				add("tool "+tool.Name, tool.Sources[""], tool.Capabilities.Secrets...)
			}
		}
	}
	for i := range rt.InForce().Servers.Declared {
		s := &rt.InForce().Servers.Declared[i]
		if len(rt.InForce().RolesWith(s.Name)) == 0 {
			continue
		}
		by, source := "MCP server "+s.Name, s.Sources[""]
		add(by, source, s.Capabilities.Secrets...)
		for _, h := range s.Headers {
			add(by, source, h.Secret)
		}
		for _, e := range s.Secrets {
			add(by, source, e.Ref)
		}
	}
	return list
}

// whySecretMissing returns why calls would not get a secret; empty when they would.
func (rt *Runtime) whySecretMissing(ctx context.Context, ref string) string {
	if rt.InForce().secretsOf == nil {
		return "the configuration names no source of secrets"
	}
	_, ok, err := rt.InForce().secretsOf.Secret(ctx, ref)
	if e, refused := errors.AsType[*sallyport.Error](err); refused {
		return e.Detail
	}
	switch {
	case err != nil:
		return "it cannot be read: " + rt.ExplainSecret(err)
	case !ok:
		return "it is not set"
	}
	return ""
}

// fixSecret returns what puts a secret into the first source of the
// configuration that can hold it.
func (rt *Runtime) fixSecret(ref string) string {
	if stores := rt.SecretStores(""); len(stores) > 0 {
		return rt.setCommand(ref)
	}
	for _, b := range rt.InForce().Config.Secrets {
		if b.Dir != "" {
			return "write the value to " + filepath.Join(b.Dir, filepath.FromSlash(ref)) + ", readable by its owner alone"
		}
		if name, ok := secrets.Variable(b.EnvPrefix, ref); ok {
			return "export " + name + "=… where sallyport starts"
		}
	}
	return "add secrets: [{file: .sallyport/secrets.age}] to the configuration, then " + rt.setCommand(ref)
}

// tryConnections connects to the databases and relays whose secrets are there,
// all at the same time.
func (rt *Runtime) tryConnections(ctx context.Context, missing map[string]bool) []Lack {
	var trials []Lack
	var tries []func(context.Context) error
	for _, name := range slices.Sorted(maps.Keys(rt.InForce().Config.Databases)) {
		d := rt.InForce().Config.Databases[name]
		if missing[d.URLSecret] {
			continue
		}
		trials = append(trials, Lack{What: "database", Name: name, Source: rt.InForce().Config.Source("databases." + name), Fix: "correct " + describeAddress(d.URLSecret, d.Path) + ", or start the database"})
		tries = append(tries, func(ctx context.Context) error {
			mode := sallyport.ModeRead
			if d.Write {
				mode = sallyport.ModeWrite
			}
			return rt.InForce().databases.Check(ctx, name, mode)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(rt.InForce().Config.Mail)) {
		r := rt.InForce().Config.Mail[name]
		if missing[r.UserSecret] || missing[r.PasswordSecret] {
			continue
		}
		trials = append(trials, Lack{What: "mail", Name: name, Source: rt.InForce().Config.Source("mail." + name + ".host"), Fix: fmt.Sprintf("correct mail.%s, or start the relay %s", name, r.Host)})
		tries = append(tries, func(ctx context.Context) error { return rt.InForce().relays.Check(ctx, name) })
	}
	var running sync.WaitGroup
	for i := range trials {
		running.Go(func() { trials[i].Why = rt.tryConnection(ctx, &trials[i], tries[i]) })
	}
	running.Wait()
	return slices.DeleteFunc(trials, func(l Lack) bool { return l.Why == "" })
}

// describeAddress names where the address of a database stands.
func describeAddress(ref, path string) string {
	if path != "" {
		return "its path " + path
	}
	return "the secret " + ref
}

// tryConnection records a trial and makes it. It returns why it failed.
func (rt *Runtime) tryConnection(ctx context.Context, l *Lack, try func(context.Context) error) string {
	ctx, cancel := context.WithTimeout(ctx, tryWait)
	defer cancel()
	if err := rt.recordChange(ctx, ChangeEvent(audit.ActionTry, l.What+" "+l.Name, "check")); err != nil {
		return "it was not tried, since that cannot be recorded: " + err.Error()
	}
	if err := try(ctx); err != nil {
		return err.Error()
	}
	return ""
}
