package auth

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// bodyFresh is how long after its head a body may end without another
	// look at the token. Bodies that come at once cost nothing more.
	bodyFresh = 100 * time.Millisecond
	// defaultStandingPause is how often the token of a request that is being
	// answered is looked at.
	defaultStandingPause = 250 * time.Millisecond
	// unknownWait is how long such a request goes on while the state, which says
	// whether its token counts, cannot be read.
	unknownWait = 5 * time.Second
)

// ErrWithdrawn is what the body of a request ends with, and the cause of the end
// of its context, when the token that let it in does not count any more, or
// stands for something else: neither who sends slowly nor who listens outlives a
// revocation.
var ErrWithdrawn = errors.New("auth: the token of the request does not count any more")

// principalCheck returns whose request it is now; a status other than 0
// refuses it.
type principalCheck func(ctx context.Context) (p sallyport.Principal, status int)

// watchedBody is the body of a request that is watched until it ends.
type watchedBody struct {
	io.ReadCloser
	watch *requestWatch
	ctx   context.Context // that of the request as it came
	since time.Time
	err   error // what it ended with
}

// Read ends with [ErrWithdrawn] in place of the end of the body when the
// caller is not who was let in.
func (a *watchedBody) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) && time.Since(a.since) > bodyFresh && !a.isSame() {
		err = ErrWithdrawn
	}
	a.err = err
	return n, err
}

// isSame reports whether the caller is who was let in, and may do the same.
func (a *watchedBody) isSame() bool {
	now, status := a.watch.again(a.ctx)
	return status == 0 && samePrincipal(&now, &a.watch.who)
}

// samePrincipal reports whether a principal is the same and may do the same.
func samePrincipal(a, b *sallyport.Principal) bool {
	return a.Name == b.Name && a.Delegation == b.Delegation && slices.Equal(a.Permissions, b.Permissions) &&
		slices.Equal(a.Personalities, b.Personalities) && (a.Personalities == nil) == (b.Personalities == nil) && a.Person == b.Person &&
		reflect.DeepEqual(a.Task, b.Task)
}

// watchRequest ends a request together with the token that let it in: a body
// before it is whole, when the token stands for something else by then, and
// every answer while it is open, be it a stream on which a client only
// listens or one that waits for a call. What a principal that holds less by
// now may still do is for others to say. Its context names the principal. The
// function that it returns has to be called at the end.
func (g *Guard) watchRequest(r *http.Request, who sallyport.Principal, again principalCheck) (held *http.Request, end func()) {
	now := time.Now()
	w := &requestWatch{guard: g, who: who, again: again, known: now, page: g.pages.hasRequest(r)}
	w.ctx, w.cancel = context.WithCancelCause(r.Context())
	if r.Body != nil && r.Body != http.NoBody {
		w.body = watchedBody{ReadCloser: r.Body, watch: w, ctx: r.Context(), since: now}
		r.Body = &w.body
	}
	// Most answers are there long before the timer fires.
	w.scheduleCheck()
	return r.WithContext(context.WithValue(w.ctx, principalKey{}, who)), w.stop
}

// requestWatch checks again and again whether a request may go on.
type requestWatch struct {
	guard  *Guard
	who    sallyport.Principal
	again  principalCheck
	page   bool // it is for a page
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   watchedBody
	known  time.Time // when it could be said last
	doubt  bool      // the last look said no

	mu    sync.Mutex
	over  bool
	timer *time.Timer
}

// stillAuthorized reports whether the token still lets its principal in.
func (w *requestWatch) stillAuthorized() bool {
	now, status := w.again(w.ctx)
	if status != 0 && status != http.StatusServiceUnavailable || status == 0 && now.Name != w.who.Name {
		return false
	}
	stands, err := w.page, error(nil)
	if status == 0 && !w.page {
		stands, err = w.guard.stands(w.ctx, &now)
	}
	if status != 0 || err != nil {
		return time.Since(w.known) < unknownWait
	}
	w.known = time.Now()
	return stands
}

// scheduleCheck schedules a check of the request after a pause, unless it is
// over. Requests that began together, as the streams of a page, do not look together:
// a pause is up to a quarter shorter.
func (w *requestWatch) scheduleCheck() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer = time.AfterFunc(w.guard.pause-rand.N(w.guard.pause/4+1), w.checkNow)
	}
}

// checkNow ends the request when two checks in a row have refused it.
func (w *requestWatch) checkNow() {
	if w.ctx.Err() != nil {
		return
	}
	// What runs for the request is ended by the gate, which knows why: only what
	// is still open at the second look is ended here.
	before := w.doubt
	if w.doubt = !w.stillAuthorized(); before && w.doubt && w.ctx.Err() == nil {
		w.cancel(&sallyport.Error{
			Code: sallyport.CodePermissionDenied, Detail: "the token of the request does not count any more, or its principal is stopped", Err: ErrWithdrawn,
		})
		return
	}
	w.scheduleCheck()
}

func (w *requestWatch) stop() {
	w.mu.Lock()
	w.over = true
	w.timer.Stop()
	w.mu.Unlock()
	w.cancel(nil)
}
