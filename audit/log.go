package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport/internal/deadline"
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

	// prompt says that a commit waits for nothing, and is as durable as it can be:
	// who records commits, and the committer has nothing to do.
	prompt bool
	// committing is how many records wait for their commit.
	committing atomic.Int32
	// trier is the store where it can be asked for a commit that waits for nothing.
	trier triedStore

	// turn is for who commits, and owns what follows. Where the store is prompt, mu is.
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
		sealer: newSealer(key), disk: diskSyncer{store: store, timeout: opts.Timeout},
	}
	_, l.prompt = store.(promptStore)
	l.trier, _ = store.(triedStore)
	l.sealing = l.sealBatch
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
	if l.prompt {
		return l.commitAlone(p)
	}
	commit, err := l.commitRecord(ctx, p)
	if err == nil && e.Durable {
		err = l.disk.waitForCommit(ctx, commit)
	}
	if err != nil {
		return notKeptError(err)
	}
	return nil
}

// commitRecord commits p and returns the number of its commit: on this goroutine where
// no other record is to be committed, else together with those.
func (l *Log) commitRecord(ctx context.Context, p *queuedRecord) (commit uint64, err error) {
	defer l.committing.Add(-1)
	tried := false
	if l.committing.Add(1) == 1 {
		// Who is about to record shares the commit.
		if runtime.Gosched(); l.committing.Load() == 1 {
			tried, err = l.tryCommit(p)
		}
	}
	if !tried {
		if err := l.enqueueRecord(ctx, p); err != nil {
			return 0, err
		}
		select {
		case err = <-p.result:
		case <-ctx.Done():
			// The committer still holds p, so it is not used again.
			return 0, ctx.Err()
		}
	}
	commit = p.commit
	l.recycleRecord(p)
	return commit, err
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

// commitAll is the committer: it takes what waits and commits it at once.
func (l *Log) commitAll() {
	defer close(l.done)
	defer l.syncCommits()
	defer l.settle.Stop()
	for p := range l.queue {
		l.commitBatch(p)
	}
}

// commitBatch commits p and what waits behind it.
func (l *Log) commitBatch(p *queuedRecord) {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.batch = append(l.batch[:0], p)
	l.collectBatch()
	err := l.appendBatch()
	n := uint64(0)
	if err == nil {
		n = l.countCommit()
	}
	for _, p := range l.batch {
		p.commit = n
		p.result <- err
	}
	if err != nil {
		l.failWaiting(err)
	} else {
		l.trimStore()
	}
	clear(l.batch)
}

// countCommit counts a commit, which the disk may lack, and returns its number.
func (l *Log) countCommit() uint64 {
	n := l.disk.countCommit()
	if l.settling.CompareAndSwap(false, true) {
		l.settle.Reset(l.o.Settle)
	}
	return n
}

// settleCommits is the work of the timer.
func (l *Log) settleCommits() {
	l.settling.Store(false) // before the look at what there is
	l.syncCommits()
}

// trimStore removes what a bounded store may not keep. A store that fails to is
// asked again after the next commit.
func (l *Log) trimStore() {
	s, ok := l.store.(Bounded)
	if !ok {
		return
	}
	cut, ok := s.Overflow()
	if !ok {
		return
	}
	// Records are numbered from 1 without gaps, so that their number is how many
	// there were.
	checkpoint, err := newCheckpoint(l.sealer, l.keyID, &cut, cut.Seq)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.o.Timeout)
	defer cancel()
	_ = s.Prune(ctx, checkpoint)
}

// syncCommits brings to the disk what it may lack. When that fails, the next
// sync or durable record tries it again, and the latter reports it.
func (l *Log) syncCommits() { _ = l.disk.waitForCommit(context.Background(), l.disk.newestCommit()) }

// collectBatch fills the batch with what already waits. It yields once to
// callers that the last commit has just woken, without which a full batch and
// one of one record would take turns; it never waits.
func (l *Log) collectBatch() {
	for yielded := false; len(l.batch) < l.o.Batch; {
		select {
		case p, ok := <-l.queue:
			if !ok {
				return
			}
			l.batch = append(l.batch, p)
		default:
			if yielded {
				return
			}
			yielded = true
			runtime.Gosched()
		}
	}
}

func (l *Log) appendBatch() error {
	ctx := new(deadline.Context)
	ctx.Start(context.Background(), time.Now().Add(l.o.Timeout))
	defer ctx.Cancel()
	// Waiters reuse their buffers once they hear the result.
	defer func() { clear(l.sealed) }()
	return l.store.Append(ctx, l.sealing)
}

// sealBatch seals the batch behind head.
func (l *Log) sealBatch(head Head) ([]Record, error) {
	l.sealed = l.sealed[:0]
	for _, p := range l.batch {
		r := p.rec
		r.Seq = head.Seq + 1
		r.Hash = l.sealer.sealRecord(head.Hash, &r)
		head = r.Head()
		l.sealed = append(l.sealed, r)
	}
	return l.sealed, nil
}

// failWaiting gives the error of a commit to all who wait for the next one,
// so that a store that hangs costs each record one timeout and not one per
// batch.
func (l *Log) failWaiting(err error) {
	for n := len(l.queue); n > 0; n-- {
		p, ok := <-l.queue
		if !ok {
			return
		}
		p.result <- err
	}
}
