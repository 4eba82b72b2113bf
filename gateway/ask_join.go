package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

// openQuestions are the questions about held calls that are put before people over
// sessions, so that nothing is asked twice: a call that is held while a question shows it
// waits for that answer, and calls that come while a question about another call of their
// shape is open are the next question together. The zero value has none. It is safe for
// concurrent use.
type openQuestions struct {
	mu    sync.Mutex
	byKey map[string]*questionLine
}

// questionLine are the calls of one shape, of which one question is open at a time.
type questionLine struct {
	users   int
	open    *openQuestion // nil for none
	waiting []*waitingCall
}

// openQuestion is a question that shows calls.
type openQuestion struct {
	shown map[string]bool // the ids of the calls
	done  chan struct{}   // closed at its end; what follows is set before

	answered  bool
	abandoned bool // the call that asked has gone: another one asks
}

// waitingCall is a call that waits for a question to show it, and for its answer.
type waitingCall struct {
	a    *sallyport.Approval
	gone <-chan struct{} // closed when its caller has gone
	q    *openQuestion   // that shows it; nil before
}

// hasGone reports whether the caller of the call has gone.
func (w *waitingCall) hasGone() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// askOnce reports whether there is an answer to the question about a held call. It calls
// ask for one call of a shape at a time, with all the calls that one answer is for.
func (o *openQuestions) askOnce(ctx context.Context, a *sallyport.Approval, ask func(batch []sallyport.Approval) bool) bool {
	key := approvals.QuestionKey(a)
	line := o.enterLine(key)
	defer o.leaveLine(key, line)
	w := &waitingCall{a: a, gone: ctx.Done()}
	for ctx.Err() == nil {
		q, batch := o.nextQuestion(line, w)
		if batch != nil {
			answered := ask(batch)
			o.endQuestion(line, q, answered, ctx.Err() != nil)
			return answered
		}
		select {
		case <-q.done:
		case <-ctx.Done():
		}
		if answered, over := o.readAnswer(line, w); over {
			return answered
		}
	}
	return false
}

func (o *openQuestions) enterLine(key string) *questionLine {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byKey == nil {
		o.byKey = map[string]*questionLine{}
	}
	line := o.byKey[key]
	if line == nil {
		line = &questionLine{}
		o.byKey[key] = line
	}
	line.users++
	return line
}

func (o *openQuestions) leaveLine(key string, line *questionLine) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if line.users--; line.users == 0 {
		delete(o.byKey, key)
	}
}

// nextQuestion returns the question that a call waits for, or a new one with the calls
// that it shows, which the caller asks.
func (o *openQuestions) nextQuestion(line *questionLine, w *waitingCall) (q *openQuestion, batch []sallyport.Approval) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case w.q != nil:
		return w.q, nil
	case line.open == nil:
		q = &openQuestion{shown: map[string]bool{}, done: make(chan struct{})}
		line.open = q
		return q, line.takeBatch(q, w)
	case line.open.shown[w.a.ID]:
		w.q = line.open
		line.remove(w)
	case !slices.Contains(line.waiting, w):
		line.waiting = append(line.waiting, w)
	}
	return line.open, nil
}

// takeBatch shows a call in a question, and those that wait.
func (l *questionLine) takeBatch(q *openQuestion, w *waitingCall) (batch []sallyport.Approval) {
	for _, one := range append([]*waitingCall{w}, l.waiting...) {
		if one != w && one.hasGone() {
			continue
		}
		if !q.shown[one.a.ID] {
			if len(batch) >= approvals.MaxBatch {
				continue
			}
			q.shown[one.a.ID] = true
			batch = append(batch, *one.a)
		}
		one.q = q
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(one *waitingCall) bool { return one.q != nil })
	return batch
}

func (l *questionLine) remove(w *waitingCall) {
	l.waiting = slices.DeleteFunc(l.waiting, func(one *waitingCall) bool { return one == w })
}

func (o *openQuestions) endQuestion(line *questionLine, q *openQuestion, answered, abandoned bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q.answered, q.abandoned = answered, abandoned && !answered
	line.open = nil
	close(q.done)
}

// readAnswer returns the answer that a call waited for; over is false when it has to wait
// on, or to ask itself.
func (o *openQuestions) readAnswer(line *questionLine, w *waitingCall) (answered, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.hasGone() {
		line.remove(w)
		return false, true
	}
	if w.q == nil {
		return false, false
	}
	select {
	case <-w.q.done:
	default:
		return false, false // a later question shows it
	}
	if w.q.abandoned {
		w.q = nil
		return false, false
	}
	return w.q.answered, true
}
