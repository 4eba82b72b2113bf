package registry

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/deadline"
	"github.com/sallyport/sallyport/internal/facts"
)

// factWait bounds how long the store of facts may take. A store on this machine
// waits half as long for another process.
const factWait = 10 * time.Second

// recordedFacts is a store that reads in the records of calls what they bring.
type recordedFacts interface {
	sallyport.FactStore
	// BeforeRecord returns what returns, once the intent of a call is recorded, what
	// Facts would have returned just before that. It has to be called in any case.
	BeforeRecord(ctx context.Context, principal, session, call string) (before func() ([]sallyport.FactMark, error), err error)
}

// conversationFacts reads and records the facts of sessions and principals.
type conversationFacts struct {
	store sallyport.FactStore
	// recorded is the store when it reads what the recorder writes; else nil.
	recorded recordedFacts
	// unstored is what the store could not take yet.
	unstored *facts.Unstored
}

func newConversationFacts(o *Options, unstored *facts.Unstored) *conversationFacts {
	k := &conversationFacts{store: o.Facts, unstored: unstored}
	if k.store == nil {
		k.store = facts.NewMemory()
	}
	if o.FactsInRecords && o.Recorder != nil {
		k.recorded, _ = k.store.(recordedFacts)
	}
	return k
}

// boundFactWait bounds the wait for a store. A store that knows the answer waits for
// nothing, and no timer is made for it.
func boundFactWait(ctx context.Context) *deadline.Context {
	waiting := new(deadline.Context)
	waiting.Start(ctx, time.Now().Add(factWait))
	return waiting
}

// moveUnstored has the store take what it could not take before, at the end of a registry.
func (k *conversationFacts) moveUnstored(ctx context.Context) {
	waiting := boundFactWait(context.WithoutCancel(ctx))
	defer waiting.Cancel()
	k.unstored.MoveAll(waiting, k.store)
}

// knownMarks returns what is known of a caller's principal and session. A
// caller without a session has one of its own, of which nothing is known.
func (k *conversationFacts) knownMarks(ctx context.Context, caller *sallyport.Caller) ([]sallyport.FactMark, error) {
	waiting := boundFactWait(ctx)
	defer waiting.Cancel()
	k.unstored.Move(waiting, k.store)
	return k.addUnstored(caller, func() ([]sallyport.FactMark, error) {
		return k.store.Facts(waiting, caller.Principal.Name, caller.Session)
	})
}

// recordMarks records marks and returns what was known before.
func (k *conversationFacts) recordMarks(ctx context.Context, caller *sallyport.Caller, marks []sallyport.FactMark) ([]sallyport.FactMark, error) {
	waiting := boundFactWait(ctx)
	defer waiting.Cancel()
	return k.addUnstored(caller, func() ([]sallyport.FactMark, error) {
		return k.store.Note(waiting, caller.Principal.Name, caller.Session, marks)
	})
}

// watchCall is BeforeRecord with a bound on its time.
func (k *conversationFacts) watchCall(ctx context.Context, caller *sallyport.Caller, call string) (func() ([]sallyport.FactMark, error), error) {
	waiting := boundFactWait(ctx)
	defer waiting.Cancel()
	return k.recorded.BeforeRecord(waiting, caller.Principal.Name, caller.Session, call)
}

// addUnstored adds the marks that the store could not take to those that read finds in it.
func (k *conversationFacts) addUnstored(caller *sallyport.Caller, read func() ([]sallyport.FactMark, error)) ([]sallyport.FactMark, error) {
	more := k.unstored.Facts(caller.Principal.Name, caller.Session)
	known, err := read()
	return append(known, more...), err
}

// rememberUnstored keeps in memory the marks that the store could not take.
func (k *conversationFacts) rememberUnstored(caller *sallyport.Caller, marks []sallyport.FactMark) error {
	return k.unstored.Note(caller.Principal.Name, caller.Session, marks)
}

// newestMark returns the newest mark of a fact that counts at a time, nil for none.
func newestMark(known []sallyport.FactMark, f sallyport.Fact, now time.Time) (found *sallyport.FactMark) {
	for i := range known {
		m := &known[i]
		if m.Fact == f && m.Counts(now) && (found == nil || m.Time.After(found.Time) || m.Session && m.Time.Equal(found.Time)) {
			found = m
		}
	}
	return found
}
