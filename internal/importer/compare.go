package importer

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
)

// compareConfig checks that a configuration differs from the old one only by the
// servers and the personality of the plan.
func (i *clientImport) compareConfig(p *serverPlan, c *config.Config) error {
	servers := map[string]string{}
	for k := range c.Servers {
		servers[c.Servers[k].ID] = string(c.Servers[k].JSON)
	}
	for k := range i.config.Servers {
		if old := &i.config.Servers[k]; servers[old.ID] != string(old.JSON) {
			return fmt.Errorf("it would change the server %s", old.ID)
		}
		delete(servers, i.config.Servers[k].ID)
	}
	for _, s := range p.readyServers() {
		if _, ok := servers[s.name]; !ok {
			return fmt.Errorf("it would not declare the server %s", s.name)
		}
		delete(servers, s.name)
	}
	if len(servers) > 0 {
		return errors.New("it would declare another server")
	}
	if err := i.compareRoles(p, c); err != nil {
		return err
	}
	if c.Packages != p.withRegistries(i.config.Packages) {
		return errors.New("it would change packages")
	}
	a, b := reflect.ValueOf(i.config).Elem(), reflect.ValueOf(c).Elem()
	for k := range a.NumField() {
		field := a.Type().Field(k)
		if !field.IsExported() || slices.Contains([]string{"Files", "Servers", "Personalities", "Packages", "Digest", "Actions"}, field.Name) {
			continue
		}
		if !reflect.DeepEqual(a.Field(k).Interface(), b.Field(k).Interface()) {
			return fmt.Errorf("it would change %s", strings.ToLower(field.Name))
		}
	}
	same := func(a, b config.Part) bool { return a.ID == b.ID && bytes.Equal(a.JSON, b.JSON) }
	if !slices.EqualFunc(i.config.Actions, c.Actions, same) {
		return errors.New("it would change an action")
	}
	return nil
}

// compareRoles checks that the personalities differ from the old ones only by
// what the plan gives to one of them.
func (i *clientImport) compareRoles(p *serverPlan, c *config.Config) error {
	want := map[string]bool{p.role: true}
	for name, old := range i.config.Personalities {
		want[name] = true
		role, ok := c.Personalities[name]
		if !ok {
			return fmt.Errorf("it would remove the personality %s", name)
		}
		if name == p.role {
			now, was := *role, *old
			now.MCPServers, was.MCPServers, now.FSReach, was.FSReach = nil, nil, nil, nil
			role, old = &now, &was
		}
		if !sameRole(role, old) {
			return fmt.Errorf("it would change the personality %s", name)
		}
	}
	for name := range c.Personalities {
		if !want[name] {
			return fmt.Errorf("it would make the personality %s", name)
		}
	}
	role := c.Personalities[p.role]
	if role == nil || len(withoutItems(p.grantedServers(), role.MCPServers)) > 0 {
		return fmt.Errorf("it would not give the servers to the personality %s", p.role)
	}
	return nil
}

// sameRole compares two personalities and ignores where they are defined.
func sameRole(a, b *sallyport.Personality) bool {
	x, y := *a, *b
	x.Sources, y.Sources = nil, nil
	return reflect.DeepEqual(x, y)
}
