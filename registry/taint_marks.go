package registry

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/facts"
)

// factWait bounds how long the store of facts may take. A store on this machine
// waits half as long for another process.
const factWait = 10 * time.Second

// conversationFacts reads and records the facts of sessions and principals.
type conversationFacts struct {
	store sallyport.FactStore
	// unstored is what the store could not take, missed that there is some. It
	// counts like the rest as long as the registry lives.
	unstored *facts.Memory
	missed   atomic.Bool
}

func newConversationFacts(store sallyport.FactStore) *conversationFacts {
	k := &conversationFacts{store: store, unstored: facts.NewMemory()}
	if store == nil {
		k.store = facts.NewMemory()
	}
	return k
}

// knownMarks returns what is known of a caller's principal and session. A
// caller without a session has one of its own, of which nothing is known.
func (k *conversationFacts) knownMarks(ctx context.Context, caller *sallyport.Caller) ([]sallyport.FactMark, error) {
	ctx, cancel := context.WithTimeout(ctx, factWait)
	defer cancel()
	known, err := k.store.Facts(ctx, caller.Principal.Name, caller.Session)
	return k.addUnstored(ctx, caller, known, err)
}

// recordMarks records marks and returns what was known before.
func (k *conversationFacts) recordMarks(ctx context.Context, caller *sallyport.Caller, marks []sallyport.FactMark) ([]sallyport.FactMark, error) {
	ctx, cancel := context.WithTimeout(ctx, factWait)
	defer cancel()
	before, err := k.store.Note(ctx, caller.Principal.Name, caller.Session, marks)
	return k.addUnstored(ctx, caller, before, err)
}

// addUnstored adds the marks that the store refused to those that it has.
func (k *conversationFacts) addUnstored(ctx context.Context, caller *sallyport.Caller, known []sallyport.FactMark, err error) ([]sallyport.FactMark, error) {
	if err != nil || !k.missed.Load() {
		return known, err
	}
	more, err := k.unstored.Facts(ctx, caller.Principal.Name, caller.Session)
	return append(known, more...), err
}

// rememberUnstored keeps in memory the marks that the store refused.
func (k *conversationFacts) rememberUnstored(ctx context.Context, caller *sallyport.Caller, marks []sallyport.FactMark) error {
	k.missed.Store(true)
	_, err := k.unstored.Note(context.WithoutCancel(ctx), caller.Principal.Name, caller.Session, marks)
	return err
}

// newestMark returns the newest mark of a fact that still counts, nil for none.
func newestMark(known []sallyport.FactMark, f sallyport.Fact) (found *sallyport.FactMark) {
	now := time.Now()
	for i := range known {
		m := &known[i]
		if m.Fact == f && m.Counts(now) && (found == nil || m.Time.After(found.Time) || m.Session && m.Time.Equal(found.Time)) {
			found = m
		}
	}
	return found
}
