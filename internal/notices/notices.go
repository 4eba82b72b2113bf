// Package notices tells people of held calls where they are: by webhooks and by mail.
// A notice decides nothing. What is sent is what the gate knows of the call, cleaned; what
// a receiver answers is not read.
//
// Start with [New]. No call waits for a receiver, and no receiver for another one: each
// has a bounded queue and a goroutine of its own.
package notices

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/setting"
)

// maxFollowed bounds the held calls whose end is looked for. A state has at most half as
// many that wait.
const maxFollowed = 2 * sallyport.MaxPendingApprovalsTotal

// Options say what a sender works with. Every field is required unless it says
// otherwise.
type Options struct {
	// Get returns a held call as it is now.
	Get func(ctx context.Context, id string) (sallyport.Approval, error)
	// Waiting returns the held calls that wait for a person.
	Waiting func(ctx context.Context) ([]sallyport.Approval, error)
	// Settings remember which receivers were told of what, for later servers of the state.
	Settings setting.Store
	// Secret finds the secret of a receiver, for each try anew.
	Secret func(ctx context.Context, ref string) (s sallyport.Secret, ok bool, err error)
	// Known lists the secrets that must not appear in a notice.
	Known func(ctx context.Context) ([]sallyport.Secret, error)
	// SendMail hands a mail to a relay.
	SendMail func(ctx context.Context, relay string, m sallyport.Message) error
	// Network is how hosts are reached; the zero value means the system's.
	Network sallyport.NetworkBackend
	// Page returns the address of the page, without a final slash; empty where none is
	// served.
	Page func(ctx context.Context) string
	// Command returns the command that allows a held call.
	Command func(id string) string
	// Clean returns a line as a person may read it.
	Clean func(s string) string
	// RecordLoss is told of notices that could not be sent, by the name of the receiver.
	RecordLoss func(name string, count int64)
	// Logger receives what could not be sent.
	Logger *slog.Logger

	pauses pauses // the zero value means the documented ones
}

// Sender sends notices. It is safe for concurrent use.
type Sender struct {
	o       Options
	working sync.WaitGroup
	end     context.CancelFunc // of everything that runs
	ctx     context.Context    // ends with the sender

	mu        sync.Mutex
	receivers map[string]*receiver
	followed  []string        // the held calls that were announced and wait, the next to look at first
	known     map[string]bool // those of followed
	following bool            // the announced calls are looked at
	closed    bool
}

// New returns a sender without receivers, which does nothing. The owner calls [Sender.Close].
func New(o *Options) *Sender {
	s := &Sender{o: *o, receivers: map[string]*receiver{}, known: map[string]bool{}}
	s.o.pauses = s.o.pauses.withDefaults()
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Replace puts other receivers in place of the present ones. One that is unchanged keeps
// what waits for it, and is tried again where it had said that it is gone. What waits
// for one that is no more is dropped.
func (s *Sender) Replace(list map[string]config.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for name, r := range s.receivers {
		if c, ok := list[name]; ok && reflect.DeepEqual(c, r.c) {
			r.takeAgain()
			continue
		}
		delete(s.receivers, name)
		r.cancel()
		s.working.Go(func() { <-r.done; r.recordLoss() })
	}
	for name, c := range list {
		if s.receivers[name] == nil {
			s.receivers[name] = s.startReceiver(name, c, s.newChannel(c))
		}
	}
	if len(s.receivers) == 0 {
		s.followed, s.known = nil, map[string]bool{}
	} else if !s.following {
		s.following = true
		s.working.Go(s.followCalls)
	}
}

// newChannel returns the way to a receiver.
func (s *Sender) newChannel(c config.Notice) channel {
	if c.URL != "" {
		return &hook{s: s, c: c}
	}
	return &postbox{s: s, c: c}
}

// Announce says that a call is held, once for each. It never waits.
func (s *Sender) Announce(a *sallyport.Approval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.receivers) == 0 || s.known[a.ID] {
		return
	}
	s.followCall(a.ID)
	s.queueEvent(config.NoticeHeld, a)
}

// AnnounceWaiting says of the calls that wait already that they are held, to each receiver
// that was not told: those that were held before the server started, or before the receiver
// was configured. It returns before they are sent. What has no place in the queue of a
// receiver comes once there is room; the calls that expire first come first.
func (s *Sender) AnnounceWaiting(ctx context.Context) {
	waiting, err := s.o.Waiting(ctx)
	if err != nil {
		s.o.Logger.Warn("no notice is sent of the calls that waited before", "error", err)
		return
	}
	slices.SortStableFunc(waiting, func(a, b sallyport.Approval) int { return a.Expires.Compare(b.Expires) })
	known := s.readTold(ctx, waiting)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.receivers) == 0 {
		return
	}
	for i := range waiting {
		if !s.known[waiting[i].ID] {
			s.followCall(waiting[i].ID)
		}
	}
	for _, r := range s.receivers {
		r.addWaiting(waiting, known)
	}
}

// followCall looks for the end of a held call. The caller holds the lock.
func (s *Sender) followCall(id string) {
	if len(s.followed) >= maxFollowed {
		delete(s.known, s.followed[0])
		s.followed = s.followed[1:]
	}
	s.followed, s.known[id] = append(s.followed, id), true
}

// queueEvent hands an event to the receivers that want it. The caller holds the lock.
func (s *Sender) queueEvent(event string, a *sallyport.Approval) {
	for _, r := range s.receivers {
		if r.wantsEvent(event, a) {
			r.addNotice(newNotice(event, a, r.c.Arguments))
		}
	}
}

// Count is what became of the notices of a receiver.
type Count struct {
	// Sent, Lost and Waiting are how many notices were sent until now, could not be sent,
	// and wait.
	Sent, Lost, Waiting int64
}

// Counts returns what became of the notices, by receiver.
func (s *Sender) Counts() map[string]Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]Count{}
	for name, r := range s.receivers {
		counts[name] = r.countNotices()
	}
	return counts
}

// Close tries once more to send what waits, until ctx ends, and then ends everything.
func (s *Sender) Close(ctx context.Context) {
	s.mu.Lock()
	receivers := s.receivers
	s.closed, s.receivers = true, map[string]*receiver{}
	s.mu.Unlock()
	for _, r := range receivers {
		close(r.flush)
	}
	for _, r := range receivers {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	}
	s.end()
	s.working.Wait()
	var recording sync.WaitGroup
	for _, r := range receivers {
		recording.Go(r.recordLoss)
	}
	recording.Wait()
}
