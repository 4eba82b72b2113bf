package sandbox

import (
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport/sandbox/internal/hostuser"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// users says as whom children run on the host. A child of root has a user of its
// own; where the machine cannot give it one it shares that of the gate, as a
// child of an ordinary user does.
type users struct {
	once sync.Once
	// shared is whether the last child had to share.
	shared atomic.Bool

	mu     sync.Mutex
	opened *hostuser.Pool
	pool   *hostuser.Pool // the same; nil when all children share
	why    string         // why they do
	// points are the mounts of the host at a count of their changes, closed the
	// devices that could not be mapped then.
	points []survey.MountPoint
	closed map[uint64]error
	count  uint64
	known  bool
}

// errShared says that a child cannot have a user of its own, and why.
type errShared struct {
	path string
	err  error
}

func (e *errShared) Error() string {
	return "children run as the user of the gate because " + e.path + " cannot be shown as another user's: " + e.err.Error()
}

func (e *errShared) Unwrap() error { return e.err }
