package sqlite

import (
	"context"
	"sync"
	"time"
)

const (
	// lease is how long an answer about what rarely changes may be used
	// without looking again. Who changes such a thing waits as long before it
	// says so: by then every process has looked again, and the change counts
	// from the next call on, as if nothing were kept. It is long enough that
	// under load most calls do not look, and shorter than the start of the
	// program that makes the change.
	lease = 5 * time.Millisecond
	// leasedMost bounds the answers that are kept of one kind.
	leasedMost = 1024
)

// answerLeases stores answers for the time of a lease. The zero value is empty.
// It is safe for concurrent use.
type answerLeases[K comparable, V any] struct {
	mu   sync.Mutex
	kept map[K]leasedAnswer[V]
}

// leasedAnswer is an answer and the time just before it was asked for.
type leasedAnswer[V any] struct {
	value V
	asked time.Time
}

// lookUpOrAsk returns the stored answer to key, or else that of ask. One that
// is not there is not stored, so that guesses fill nothing.
func (l *answerLeases[K, V]) lookUpOrAsk(ctx context.Context, db *DB, key K, ask func(c *conn) (V, bool, error)) (value V, ok bool, err error) {
	now := time.Now()
	l.mu.Lock()
	have, ok := l.kept[key]
	l.mu.Unlock()
	if ok && now.Sub(have.asked) < lease && ctx.Err() == nil && !db.isClosed() {
		return have.value, true, nil
	}
	err = db.runQueries(ctx, func(c *conn) (err error) {
		value, ok, err = ask(c)
		return err
	})
	if err == nil && ok {
		l.storeAnswer(key, leasedAnswer[V]{value, now})
	}
	return value, ok, err
}

func (l *answerLeases[K, V]) storeAnswer(key K, answer leasedAnswer[V]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil || len(l.kept) >= leasedMost {
		l.kept = make(map[K]leasedAnswer[V])
	}
	l.kept[key] = answer
}

// changeLeased runs a durable write transaction on what is leased. It returns
// when the former value is no longer in use.
func (db *DB) changeLeased(ctx context.Context, fn func(c *conn) error) error {
	err := db.inWriteTx(ctx, true, fn)
	time.Sleep(lease)
	return err
}

// execLeased is execDurable for what is leased.
func (db *DB) execLeased(ctx context.Context, sql string, args ...any) (changed bool, err error) {
	changed, err = db.execDurable(ctx, sql, args...)
	time.Sleep(lease)
	return changed, err
}
