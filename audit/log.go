package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNotKept matches every error of [Log.Record]: the record is not, or not
// known to be, in the store. A call with effects must not run then.
var ErrNotKept = errors.New("the audit record cannot be kept")

// errClosed is the cause when a log is closed.
var errClosed = errors.New("the audit log is closed")

// ErrOtherKey matches the error of [New] when the chain was sealed with
// another key than the one given.
var ErrOtherKey = errors.New("the audit log was sealed with another key")

// Defaults of Options.
const (
	// defaultWaiting lets every call of a few thousand wait for the disk
	// once without blocking on the queue itself.
	defaultWaiting = 4096
	// defaultBatch keeps one transaction to some milliseconds.
	defaultBatch = 512
	// defaultSettle is short enough that a loss of power takes no more than
	// a person would miss, and long enough that under load the intents of
	// later calls carry the outcomes of earlier ones to the disk.
	defaultSettle = 50 * time.Millisecond
	// defaultTimeout is longer than a store's own wait for a lock, whose
	// error says more than a deadline.
	defaultTimeout = 10 * time.Second
)

// Options refine a Log. nil means the defaults.
type Options struct {
	// Now gives the time of events that bring none; nil means time.Now.
	Now func() time.Time
	// Waiting is how many records may wait for a commit before Record
	// blocks; 0 means 4096.
	Waiting int
	// Batch is how many records one commit may hold; 0 means 512.
	Batch int
	// Settle is how long a record that need not be durable may be
	// kept from the disk; 0 means 50 ms.
	Settle time.Duration
	// Timeout bounds one commit; 0 means 10 seconds. Records that wait for
	// it fail with it.
	Timeout time.Duration
}

func (o *Options) withDefaults() (Options, error) {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Waiting < 0 || d.Batch < 0 || d.Settle < 0 || d.Timeout < 0 {
		return d, errors.New("audit: options: waiting, batch, settle and timeout must not be negative")
	}
	d.Waiting = cmp.Or(d.Waiting, defaultWaiting)
	d.Batch = cmp.Or(d.Batch, defaultBatch)
	d.Settle = cmp.Or(d.Settle, defaultSettle)
	d.Timeout = cmp.Or(d.Timeout, defaultTimeout)
	if d.Now == nil {
		d.Now = time.Now
	}
	return d, nil
}

// Log adds records to a chain. Records that wait at the same time share one
// commit. It is safe for concurrent use.
type Log struct {
	store Store
	keyID string
	o     Options

	// mu lets Close wait for senders; the committer never takes it.
	mu     sync.RWMutex
	closed bool
	queue  chan *queuedRecord
	done   chan struct{}
	pool   sync.Pool
	grants grantTexts

	disk diskSyncer
	// settle brings to the disk what it may lack, Options.Settle after the first
	// commit that it may lack: then settling is true.
	settle   *time.Timer
	settling atomic.Bool
	settlers sync.WaitGroup

	// trier is the store where it can be asked for a commit that waits for nothing.
	trier triedStore

	// turn is for who commits, and owns what follows.
	turn    sync.Mutex
	sealer  *recordSealer
	batch   []*queuedRecord
	sealed  []Record
	sealing func(Head) ([]Record, error) // is sealBatch
}

type queuedRecord struct {
	rec    Record
	body   []byte
	result chan error
	// commit is the number of the commit that the record is in.
	commit uint64
}

// New returns a log over store, sealing with key. It fails with an error
// that matches [ErrOtherKey] when the newest record was sealed with another
// one. The log owns a goroutine until Close; the store stays the caller's.
func New(store Store, key Key, o *Options) (*Log, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if store == nil || key.IsZero() {
		return nil, errors.New("audit: a log needs a store and a key")
	}
	ctx, cancel := context.WithTimeout(context.Background(), opts.Timeout)
	defer cancel()
	if err := checkKey(ctx, store, key); err != nil {
		return nil, err
	}
	l := &Log{
		store: store, keyID: key.ID(), o: opts,
		queue: make(chan *queuedRecord, opts.Waiting), done: make(chan struct{}),
		sealer: newSealer(key), disk: diskSyncer{store: store, timeout: opts.Timeout, most: opts.Waiting},
	}
	l.trier, _ = store.(triedStore)
	l.sealing, l.disk.commit = l.sealBatch, l.commitHeld
	l.settle = time.AfterFunc(opts.Settle, l.settleCommits)
	l.pool.New = func() any { return &queuedRecord{result: make(chan error, 1)} }
	go l.commitAll()
	return l, nil
}

// checkKey compares the key that the newest record names with key. It does
// not verify: a chain with a bad record goes on, and Verify keeps naming it.
func checkKey(ctx context.Context, r Reader, key Key) error {
	for rec, err := range r.Read(ctx, Query{Last: 1}) {
		if err != nil {
			return fmt.Errorf("audit: newest record: %w", err)
		}
		if id := rec.keyID(); id != "" && id != key.ID() {
			return fmt.Errorf("audit: %w: the chain names key %s, the key file holds %s", ErrOtherKey, id, key.ID())
		}
	}
	return nil
}

// Record adds an event and returns when it is kept, as [Event.Durable] asks,
// or with an error that matches [ErrNotKept]. The event is copied. Cancelling ctx ends the wait,
// not the recording: detach an outcome's context from that of its call, and
// give it a deadline.
func (l *Log) Record(ctx context.Context, e *Event) error {
	if err := ctx.Err(); err != nil {
		return notKeptError(err)
	}
	p := l.pool.Get().(*queuedRecord)
	if err := l.encodeEvent(p, e); err != nil {
		return notKeptError(err)
	}
	var err error
	if e.Durable {
		err = l.recordDurably(ctx, p)
	} else {
		_, err = l.commitRecord(ctx, p)
	}
	if err != nil {
		return notKeptError(err)
	}
	return nil
}

func notKeptError(err error) error { return fmt.Errorf("%w: %w", ErrNotKept, err) }

func (l *Log) encodeEvent(p *queuedRecord, e *Event) error {
	b, err := e.boundedCopy()
	if err != nil {
		return err
	}
	if e.Time.IsZero() {
		b.Time = l.o.Now().UTC().Round(0)
	}
	b.KeyID = l.keyID
	var grant grantText
	if b.Grant != nil {
		if grant, err = l.grants.find(b.Grant); err != nil {
			return err
		}
		if b.GrantDigest = grant.digest; b.GrantDigest != "" {
			b.Grant = nil
		}
	}
	if p.body, err = b.appendBody(p.body[:0], grant.text); err != nil {
		return err
	}
	p.rec = Record{Body: p.body}
	p.rec.setFields(&b)
	return nil
}

// enqueueRecord hands p to the committer. Holding the read lock keeps Close
// from closing the queue under it.
func (l *Log) enqueueRecord(ctx context.Context, p *queuedRecord) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return errClosed
	}
	select {
	case l.queue <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recycleRecord recycles p for another record unless its buffer grew out of
// the ordinary.
func (l *Log) recycleRecord(p *queuedRecord) {
	const keep = 16 << 10
	if cap(p.body) > keep {
		p.body = nil
	}
	p.rec = Record{}
	l.pool.Put(p)
}

// Close waits until every record that was handed over is durable or has failed.
// Record fails afterwards. The store stays open. Closing twice is safe.
func (l *Log) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	<-l.done
	return nil
}
