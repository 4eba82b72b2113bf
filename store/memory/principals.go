package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/auth"
)

// Principals returns the principals that the command line made.
func (s *Store) Principals() auth.Store { return principalStore{s} }

type principalStore struct{ s *Store }

func (p principalStore) Add(ctx context.Context, r *auth.Record) error {
	if err := r.Check(); err != nil {
		return err
	}
	if err := p.s.lockOpen(ctx); err != nil {
		return err
	}
	defer p.s.mu.Unlock()
	if len(p.s.principals) >= auth.MaxPrincipals {
		return fmt.Errorf("the state keeps at most %d principals", auth.MaxPrincipals)
	}
	if _, taken := p.s.principals[r.Name]; taken || p.tokenTaken(r) {
		return auth.ErrTaken
	}
	p.s.principals[r.Name] = cloneRecord(r)
	return nil
}

func (p principalStore) tokenTaken(r *auth.Record) bool {
	for name, have := range p.s.principals {
		if name != r.Name && have.TokenSHA256 != "" && have.TokenSHA256 == r.TokenSHA256 {
			return true
		}
	}
	return false
}

// cloneRecord returns a copy that shares no list and no clock reading.
func cloneRecord(r *auth.Record) auth.Record {
	c := *r
	c.Permissions, c.Personalities = slices.Clone(r.Permissions), slices.Clone(r.Personalities)
	for _, t := range []*time.Time{&c.Expires, &c.Created, &c.Rotated, &c.Revoked} {
		*t = t.Round(0)
	}
	return c
}

func (p principalStore) Update(ctx context.Context, name string, change func(r *auth.Record) error) error {
	if err := p.s.lockOpen(ctx); err != nil {
		return err
	}
	defer p.s.mu.Unlock()
	have, ok := p.s.principals[name]
	if !ok {
		return auth.ErrUnknown
	}
	r := cloneRecord(&have)
	if err := change(&r); err != nil {
		return err
	}
	r.Name = name
	if err := r.Check(); err != nil {
		return err
	}
	if p.tokenTaken(&r) {
		return auth.ErrTaken
	}
	p.s.principals[name] = cloneRecord(&r)
	return nil
}

func (p principalStore) ByToken(ctx context.Context, hash string) (r auth.Record, ok bool, err error) {
	if err := p.s.lockOpen(ctx); err != nil {
		return r, false, err
	}
	defer p.s.mu.Unlock()
	for _, r := range p.s.principals {
		if hash != "" && r.TokenSHA256 == hash {
			return cloneRecord(&r), true, nil
		}
	}
	return r, false, nil
}

func (p principalStore) All(ctx context.Context) ([]auth.Record, error) {
	if err := p.s.lockOpen(ctx); err != nil {
		return nil, err
	}
	defer p.s.mu.Unlock()
	var list []auth.Record
	for _, r := range p.s.principals {
		list = append(list, cloneRecord(&r))
	}
	slices.SortFunc(list, func(a, b auth.Record) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Switches returns the kill switches.
func (s *Store) Switches() auth.SwitchStore { return switchStore{s} }

type switchStore struct{ s *Store }

func (w switchStore) Stop(ctx context.Context, sw *auth.Switch) error {
	if err := sw.Check(); err != nil {
		return err
	}
	if err := w.s.lockOpen(ctx); err != nil {
		return err
	}
	defer w.s.mu.Unlock()
	if len(w.s.switches) >= auth.MaxSwitches {
		return fmt.Errorf("at most %d things can be stopped at once", auth.MaxSwitches)
	}
	at, kept := auth.SwitchTarget{Kind: sw.Kind, Name: sw.Name}, *sw
	kept.Since = kept.Since.Round(0)
	if have, thrown := w.s.switches[at]; thrown {
		kept.Since = have.Since
	}
	w.s.switches[at] = kept
	return nil
}

func (w switchStore) Start(ctx context.Context, kind auth.SwitchKind, name string) (was bool, err error) {
	if err := w.s.lockOpen(ctx); err != nil {
		return false, err
	}
	defer w.s.mu.Unlock()
	at := auth.SwitchTarget{Kind: kind, Name: name}
	_, was = w.s.switches[at]
	delete(w.s.switches, at)
	return was, nil
}

func (w switchStore) Stopped(ctx context.Context, principal, sessionKey, tool string) (sw auth.Switch, ok bool, err error) {
	if err := w.s.lockOpen(ctx); err != nil {
		return sw, false, err
	}
	defer w.s.mu.Unlock()
	for _, at := range auth.SwitchTargets(principal, sessionKey, tool) {
		if sw, ok = w.s.switches[at]; ok {
			return sw, true, nil
		}
	}
	return sw, false, nil
}

func (w switchStore) All(ctx context.Context) ([]auth.Switch, error) {
	if err := w.s.lockOpen(ctx); err != nil {
		return nil, err
	}
	defer w.s.mu.Unlock()
	return slices.SortedFunc(maps.Values(w.s.switches), func(a, b auth.Switch) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	}), nil
}
