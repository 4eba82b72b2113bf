package audit

import (
	"context"
	"sync"
	"time"
)

// diskSyncer brings commits to the disk. One of those who wait does it, for all who
// have committed until then; others go on committing. Durable records that come in the
// meantime are held: they can be on the disk with the next sync at the earliest, and
// one commit adds all of them before it. It is safe for concurrent use.
type diskSyncer struct {
	store   Store
	timeout time.Duration
	// most is how many records may be held.
	most int
	// commit commits records, reports to each that was not kept, and returns the others.
	commit func([]*queuedRecord) []*queuedRecord

	mu sync.Mutex
	// commits counts the commits that were made, kept those of them that are
	// on the disk.
	commits, kept uint64
	// running is the sync under way; nil when there is none. Then none are held.
	running *storeSync
	held    []*queuedRecord
}

// storeSync is one sync of the store. Who hears that it is done may read err.
type storeSync struct {
	upTo uint64
	done chan struct{}
	err  error
}

// countCommit counts a commit and returns its number.
func (f *diskSyncer) countCommit() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commits++
	return f.commits
}

func (f *diskSyncer) newestCommit() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commits
}

// waitForCommit waits until commit n and all before it are on the disk.
// Cancelling ctx ends the wait for others; a sync that it does itself ends in
// its own time.
func (f *diskSyncer) waitForCommit(ctx context.Context, n uint64) error {
	for {
		f.mu.Lock()
		if f.kept >= n {
			f.mu.Unlock()
			return nil
		}
		run := f.running
		if run == nil {
			run = &storeSync{upTo: f.commits, done: make(chan struct{})}
			f.running = run
			f.mu.Unlock()
			f.syncStore(ctx, run)
		} else {
			f.mu.Unlock()
			select {
			case <-run.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if run.upTo >= n {
			return run.err
		}
	}
}

// holdRecord holds a record while a sync is under way, and reports whether it does.
func (f *diskSyncer) holdRecord(p *queuedRecord) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running == nil || len(f.held) >= f.most {
		return false
	}
	f.held = append(f.held, p)
	return true
}

// syncStore runs one sync and notes what it has brought to the disk. Where records are
// held, the next one begins.
func (f *diskSyncer) syncStore(ctx context.Context, run *storeSync) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.timeout)
	defer cancel()
	run.err = f.store.Sync(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if run.err == nil {
		f.kept = run.upTo
	}
	f.running = nil
	close(run.done)
	if len(f.held) > 0 {
		f.running = &storeSync{done: make(chan struct{})}
		go f.syncHeld(f.running, f.held)
		f.held = nil
	}
}

// syncHeld commits the records that were held, and brings them to the disk.
func (f *diskSyncer) syncHeld(run *storeSync, held []*queuedRecord) {
	kept := f.commit(held)
	f.mu.Lock()
	run.upTo = f.commits
	f.mu.Unlock()
	f.syncStore(context.Background(), run)
	for _, p := range kept {
		p.result <- run.err
	}
}

// awaitEnd waits until no sync is under way. No record may be held any more.
func (f *diskSyncer) awaitEnd() {
	for {
		f.mu.Lock()
		run := f.running
		f.mu.Unlock()
		if run == nil {
			return
		}
		<-run.done
	}
}
