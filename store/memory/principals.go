package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/auth"
)

// callerState is the part of a Store that says who may call. The zero value is
// empty.
type callerState struct {
	principals map[string]auth.Record
	switches   map[switchTarget]auth.Switch
}

type switchTarget struct {
	kind auth.SwitchKind
	name string
}

// Principals returns the principals that the command line made.
func (s *Store) Principals() auth.Store { return principalStore{s} }

type principalStore struct{ s *Store }

func (p principalStore) Add(ctx context.Context, r *auth.Record) error {
	if err := r.Check(); err != nil {
		return err
	}
	unlock, err := p.s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if len(p.s.who.principals) >= auth.MaxPrincipals {
		return fmt.Errorf("the state keeps at most %d principals", auth.MaxPrincipals)
	}
	if _, taken := p.s.who.principals[r.Name]; taken || p.tokenTaken(r) {
		return auth.ErrTaken
	}
	p.storeRecord(r)
	return nil
}

func (p principalStore) tokenTaken(r *auth.Record) bool {
	for name, have := range p.s.who.principals {
		if name != r.Name && have.TokenSHA256 != "" && have.TokenSHA256 == r.TokenSHA256 {
			return true
		}
	}
	return false
}

func (p principalStore) storeRecord(r *auth.Record) {
	if p.s.who.principals == nil {
		p.s.who.principals = map[string]auth.Record{}
	}
	p.s.who.principals[r.Name] = cloneRecord(r)
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
	unlock, err := p.s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	have, ok := p.s.who.principals[name]
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
	p.storeRecord(&r)
	return nil
}

func (p principalStore) ByToken(ctx context.Context, hash string) (r auth.Record, ok bool, err error) {
	unlock, err := p.s.lockOpen(ctx)
	if err != nil {
		return r, false, err
	}
	defer unlock()
	for _, r := range p.s.who.principals {
		if hash != "" && r.TokenSHA256 == hash {
			return cloneRecord(&r), true, nil
		}
	}
	return r, false, nil
}

func (p principalStore) All(ctx context.Context) ([]auth.Record, error) {
	unlock, err := p.s.lockOpen(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var list []auth.Record
	for _, r := range p.s.who.principals {
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
	unlock, err := w.s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if len(w.s.who.switches) >= auth.MaxSwitches {
		return fmt.Errorf("at most %d things can be stopped at once", auth.MaxSwitches)
	}
	if w.s.who.switches == nil {
		w.s.who.switches = map[switchTarget]auth.Switch{}
	}
	at, kept := switchTarget{sw.Kind, sw.Name}, *sw
	kept.Since = kept.Since.Round(0)
	if have, thrown := w.s.who.switches[at]; thrown {
		kept.Since = have.Since
	}
	w.s.who.switches[at] = kept
	return nil
}

func (w switchStore) Start(ctx context.Context, kind auth.SwitchKind, name string) (was bool, err error) {
	unlock, err := w.s.lockOpen(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	_, was = w.s.who.switches[switchTarget{kind, name}]
	delete(w.s.who.switches, switchTarget{kind, name})
	return was, nil
}

func (w switchStore) Stopped(ctx context.Context, principal, sessionKey, tool string) (sw auth.Switch, ok bool, err error) {
	unlock, err := w.s.lockOpen(ctx)
	if err != nil {
		return sw, false, err
	}
	defer unlock()
	for _, at := range auth.SwitchTargets(principal, sessionKey, tool) {
		if sw, ok = w.s.who.switches[switchTarget{at.Kind, at.Name}]; ok {
			return sw, true, nil
		}
	}
	return sw, false, nil
}

func (w switchStore) All(ctx context.Context) ([]auth.Switch, error) {
	unlock, err := w.s.lockOpen(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var list []auth.Switch
	for _, sw := range w.s.who.switches {
		list = append(list, sw)
	}
	slices.SortFunc(list, func(a, b auth.Switch) int {
		if c := strings.Compare(string(a.Kind), string(b.Kind)); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list, nil
}
