package sqlite

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// What calls bring into conversations is in the record, before they run. The table
// of facts has what the index has passed; what the record says since is held here,
// in each process. So a process knows all that any of them has recorded once it has
// looked at the end of the record, which is one read of a few bytes.

// factKey names the fact of a principal, or of one of its sessions by its digest.
type factKey struct {
	session string
	fact    sallyport.Fact
}

// freshMark is a mark that the table may not have yet.
type freshMark struct {
	sallyport.FactMark
	seq int64 // of the record
}

// tableFacts is what the table says of a principal and a session.
type tableFacts struct {
	stamp uint64 // of the record's log, from before the table was read
	marks []sallyport.FactMark
	// forgotten is the number of the newest record that does not count any more.
	forgotten int64
}

// recordFacts knows what the record says of conversations.
type recordFacts struct {
	starting sync.Mutex // held by who begins to watch

	mu       sync.Mutex
	watching bool
	gaps     int // how often records went by unseen
	drops    int // how often fresh marks were dropped
	fresh    map[string]map[factKey]freshMark
	tables   map[[2]string]*tableFacts
	waits    map[string]map[string]*factWait // by principal and call
}

// factWait gathers what is known of a conversation until the record of a call.
type factWait struct {
	session string // its digest
	marks   []sallyport.FactMark
	done    bool
	err     error
}

var (
	errFactsUnseen  = errors.New("records went by before they could be read")
	errNoSuchRecord = errors.New("the record of the call is not in the state")
)

// see takes what a record says. The log calls it in the order of the records.
func (k *recordFacts) see(r *audit.Record) {
	var b *facts.Brought
	if r != nil {
		b = r.FindBrought()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r == nil {
		k.loseSight()
		return
	}
	if w := k.waits[r.Principal][r.Call]; w != nil && r.Kind == audit.KindIntent {
		w.done = true
	}
	if b == nil {
		return
	}
	for _, m := range b.Marks(r.Tool, r.Call, time.Unix(0, r.Time)) {
		k.addFresh(r.Principal, "", freshMark{m, r.Seq})
		if b.Session != "" {
			k.addFresh(r.Principal, b.Session, freshMark{m, r.Seq})
		}
	}
}

func (k *recordFacts) addFresh(principal, session string, m freshMark) {
	m.Session = session != ""
	if k.fresh[principal] == nil {
		if k.fresh == nil {
			k.fresh = map[string]map[factKey]freshMark{}
		}
		k.fresh[principal] = map[factKey]freshMark{}
	}
	k.fresh[principal][factKey{session, m.Fact}] = m
	for _, w := range k.waits[principal] {
		if !w.done && (session == "" || session == w.session) {
			w.marks = addMark(w.marks, m.FactMark)
		}
	}
}

// loseSight forgets what is fresh: it has to be read again.
func (k *recordFacts) loseSight() {
	k.watching = false
	k.gaps++
	k.drops++
	k.fresh, k.tables = nil, nil
	for _, calls := range k.waits {
		for _, w := range calls {
			w.err = errFactsUnseen
		}
	}
}

// drop forgets what the table has.
func (k *recordFacts) drop(indexed int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	dropped := false
	for principal, marks := range k.fresh {
		maps.DeleteFunc(marks, func(_ factKey, m freshMark) bool {
			dropped = dropped || m.seq <= indexed
			return m.seq <= indexed
		})
		if len(marks) == 0 {
			delete(k.fresh, principal)
		}
	}
	if dropped {
		k.drops++
		clear(k.tables) // which were read before
	}
}

// addMark adds a mark to a list that has one of each kind, the newest.
func addMark(list []sallyport.FactMark, m sallyport.FactMark) []sallyport.FactMark {
	i := slices.IndexFunc(list, func(old sallyport.FactMark) bool { return old.Fact == m.Fact && old.Session == m.Session })
	switch {
	case i < 0:
		return append(list, m)
	case !m.Time.Before(list[i].Time):
		list[i] = m
	}
	return list
}

// freshMarks returns the marks of a principal and a session that count, by a digest.
func (k *recordFacts) freshMarks(principal, session string, forgotten int64) (marks []sallyport.FactMark) {
	of := k.fresh[principal]
	if len(of) == 0 {
		return nil
	}
	for _, s := range [...]string{"", session} {
		for _, f := range [...]sallyport.Fact{sallyport.FactPrivate, sallyport.FactUntrusted} {
			if m, ok := of[factKey{s, f}]; ok && m.seq > forgotten {
				marks = addMark(marks, m.FactMark)
			}
		}
	}
	return marks
}

// watchFacts returns when all that was recorded before, by any process, is known.
func (db *DB) watchFacts(ctx context.Context) error {
	k := &db.facts
	k.mu.Lock()
	watching := k.watching
	k.mu.Unlock()
	if watching {
		return wrapError(db.records.CatchUp(ctx))
	}
	k.starting.Lock()
	defer k.starting.Unlock()
	k.mu.Lock()
	watching, gaps := k.watching, k.gaps
	k.mu.Unlock()
	if watching {
		return wrapError(db.records.CatchUp(ctx))
	}
	var m indexMark
	err := db.runQueries(ctx, func(c *conn) (err error) {
		m, _, err = c.readMark()
		return err
	})
	if err == nil {
		err = wrapError(db.records.Watch(ctx, m.at, m.Seq+1, k.see))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watching = err == nil && k.gaps == gaps
	return err
}

// lookUpFacts returns what is known of a conversation. With a call it also returns
// what gathers the rest, up to the record of the call.
func (db *DB) lookUpFacts(ctx context.Context, principal, session, call string) ([]sallyport.FactMark, *factWait, error) {
	k, digest := &db.facts, facts.Digest(session)
	for {
		if db.isClosed() {
			return nil, nil, errClosed
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		stamp, err := db.records.Stamp()
		if err == nil {
			err = db.watchFacts(ctx)
		}
		if err != nil {
			return nil, nil, wrapError(err)
		}
		k.mu.Lock()
		drops := k.drops
		if t := k.tables[[2]string{principal, session}]; t != nil && t.stamp == stamp && k.watching {
			marks := slices.Clone(t.marks)
			for _, m := range k.freshMarks(principal, digest, t.forgotten) {
				marks = addMark(marks, m)
			}
			w := k.addWait(principal, digest, call, marks)
			k.mu.Unlock()
			return marks, w, nil
		}
		k.mu.Unlock()
		t := &tableFacts{stamp: stamp}
		err = db.inSnapshot(ctx, func(c *conn) (err error) {
			t.marks, t.forgotten, err = c.listFacts(principal, session)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		k.mu.Lock()
		if k.drops == drops {
			if k.tables == nil || len(k.tables) >= leasedMost {
				k.tables = map[[2]string]*tableFacts{}
			}
			k.tables[[2]string{principal, session}] = t
		}
		k.mu.Unlock()
	}
}

// addWait adds what gathers the facts until the record of a call; nil without one.
func (k *recordFacts) addWait(principal, session, call string, marks []sallyport.FactMark) *factWait {
	if call == "" {
		return nil
	}
	if k.waits[principal] == nil {
		if k.waits == nil {
			k.waits = map[string]map[string]*factWait{}
		}
		k.waits[principal] = map[string]*factWait{}
	}
	w := &factWait{session: session, marks: slices.Clone(marks)}
	k.waits[principal][call] = w
	return w
}

// BeforeRecord returns what returns, once the intent of a call is recorded, what was
// known of its conversation just before that: of two calls, the one whose
// intent is later knows what the other brings. It has to be called in any case, and
// fails when the intent is not in the record of this state.
func (f factStore) BeforeRecord(ctx context.Context, principal, session, call string) (func() ([]sallyport.FactMark, error), error) {
	_, w, err := f.db.lookUpFacts(ctx, principal, session, call)
	if err != nil {
		return nil, err
	}
	k := &f.db.facts
	return func() ([]sallyport.FactMark, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if delete(k.waits[principal], call); len(k.waits[principal]) == 0 {
			delete(k.waits, principal)
		}
		switch {
		case w.done:
			return w.marks, nil
		case w.err != nil:
			return nil, w.err
		}
		return nil, errNoSuchRecord
	}, nil
}

// factRows gathers what some records say, the newest of each fact, for the table.
type factRows map[string]map[factKey]freshMark

func (rows *factRows) add(e *recordlog.Entry) {
	b := e.FindBrought()
	if b == nil {
		return
	}
	if *rows == nil {
		*rows = factRows{}
	}
	of := (*rows)[e.Principal]
	if of == nil {
		of = map[factKey]freshMark{}
		(*rows)[e.Principal] = of
	}
	for _, m := range b.Marks(e.Tool, e.Call, time.Unix(0, e.Time)) {
		of[factKey{"", m.Fact}] = freshMark{m, e.Seq}
		if b.Session != "" {
			of[factKey{b.Session, m.Fact}] = freshMark{m, e.Seq}
		}
	}
}

// storeFacts writes what was gathered, in the transaction that moves the index on, and forgets
// what is old and what is too much.
func (rows factRows) storeFacts(c *conn, now time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	for principal, of := range rows {
		forgotten, err := c.forgottenFacts(principal)
		if err != nil {
			return err
		}
		for key, m := range of {
			if m.seq <= forgotten {
				continue
			}
			if err := c.storeFact(principal, key.session, &m.FactMark); err != nil {
				return err
			}
		}
	}
	if newest := rows.newestTime(); newest.Before(now) {
		now = newest // a clock that is ahead forgets nothing that counts
	}
	if err := c.forgetOldFacts(now, oldFactsIndexed); err != nil {
		return err
	}
	for principal := range rows {
		if err := c.boundFacts(principal); err != nil {
			return err
		}
	}
	return nil
}

// newestTime returns the time of the newest record of which something was gathered.
func (rows factRows) newestTime() (newest time.Time) {
	for _, of := range rows {
		for _, m := range of {
			if m.Time.After(newest) {
				newest = m.Time
			}
		}
	}
	return newest
}
