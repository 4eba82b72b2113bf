package sqlite

import (
	"sync"
	"github.com/sallyport/sallyport"
)

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

