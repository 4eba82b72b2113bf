package hostuser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// The numbers that are given out. systemd calls those from 1879048192 to
// 2147483647 unused (systemd.io/UIDS-GIDS); Linux has 65534 for users that it
// cannot show. There are many more of them than children run at once: what a killed
// gate has left keeps its number until it is waited for, and the first process of a
// container, to which it falls, may never do so.
const (
	First = 2_000_000_000
	Count = 1 << 16
)

// poolPlace says where a pool looks: its numbers, which of them it tries first, the
// file by which the gates of a machine tell each other which are in use, a byte for
// each, and the folder of passwd, group, subuid and subgid.
type poolPlace struct {
	first, count, start int
	locks, accounts     string
}

// Pool gives out the users. It is safe for concurrent use.
type Pool struct {
	poolPlace
	file  *os.File
	known []numberRange
	// newMap makes the user namespace whose map swaps root and a number.
	newMap func(id int) (*os.File, error)

	mu   sync.Mutex
	used map[int]bool
	maps map[int]*os.File
}

// User is one user while a child has it. User and group have one number.
type User struct {
	// ID is the number.
	ID int
	// Map is the user namespace for [Clone].
	Map *os.File

	pool *Pool
}

// ErrNone says that other children have all numbers.
var ErrNone = errors.New("every user of the range for children is in use")

// Open prepares to give out users. newMap returns a user namespace with the
// lines of [Swap]; it is asked once for each number. The caller closes the pool.
func Open(newMap func(id int) (*os.File, error)) (*Pool, error) {
	// Where this process looks first, another one seldom has.
	return openPool(newMap, poolPlace{First, Count, os.Getpid() % Count, "/run/sallyport/uids", "/etc"})
}

func openPool(newMap func(id int) (*os.File, error), at poolPlace) (*Pool, error) {
	p := &Pool{poolPlace: at, newMap: newMap, used: map[int]bool{}, maps: map[int]*os.File{}}
	var err error
	if p.known, err = knownIDs(at.accounts); err != nil {
		return nil, err
	}
	if err = os.MkdirAll(filepath.Dir(at.locks), 0o700); err == nil {
		p.file, err = os.OpenFile(at.locks, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("the users of children: %w", err)
	}
	return p, nil
}

// Acquire takes a user that no account and no process of the machine has. A process
// that has ended and was not waited for has its user still. [ErrNone] means that there
// is none.
func (p *Pool) Acquire() (*User, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.maps { // these cost no new map
		if u, err := p.tryAcquire(id); u != nil || err != nil {
			return u, err
		}
	}
	for i := range p.count {
		if u, err := p.tryAcquire(p.first + (p.start+i)%p.count); u != nil || err != nil {
			return u, err
		}
	}
	return nil, ErrNone
}

// tryAcquire takes a user, nil when it is in use. The caller holds the lock.
func (p *Pool) tryAcquire(id int) (*User, error) {
	if p.used[id] || p.isKnown(id) {
		return nil, nil
	}
	i := id - p.first
	if err := p.lockByte(i, unix.F_WRLCK); errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, nil // another gate's
	} else if err != nil {
		return nil, fmt.Errorf("the users of children: %w", err)
	}
	if hasProcess(id) {
		// A gate that was killed left it, running or not waited for.
		_ = p.lockByte(i, unix.F_UNLCK)
		return nil, nil
	}
	if p.maps[id] == nil {
		users, err := p.newMap(id)
		if err != nil {
			_ = p.lockByte(i, unix.F_UNLCK)
			return nil, fmt.Errorf("the map of the users: %w", err)
		}
		p.maps[id] = users
	}
	p.used[id] = true
	return &User{ID: id, Map: p.maps[id], pool: p}, nil
}

// Release gives the user back when the last process that had it is gone. nil is
// no user.
func (u *User) Release() {
	if u == nil {
		return
	}
	p := u.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used[u.ID] {
		delete(p.used, u.ID)
		_ = p.lockByte(u.ID-p.first, unix.F_UNLCK) // closing the file unlocks as well
	}
}

// Close lets go of the maps. Users that were not released are free with it.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.maps {
		f.Close()
	}
	p.maps = map[int]*os.File{}
	// A program that is being started has the open file until it is executed.
	for id := range p.used {
		_ = p.lockByte(id-p.first, unix.F_UNLCK)
	}
	p.file.Close()
}

// lockByte locks or unlocks the byte of a number. The lock belongs to the open
// file (fcntl(2), "Open file description locks"): it ends with this process,
// and is seen by another pool of this process, too.
func (p *Pool) lockByte(i int, kind int16) error {
	l := unix.Flock_t{Type: kind, Start: int64(i), Len: 1}
	return unix.FcntlFlock(p.file.Fd(), unix.F_OFD_SETLK, &l)
}

// hasProcess reports whether a process of the machine has a user, be it one that
// has ended and was not waited for.
func hasProcess(id int) bool {
	_, err := unix.Getpriority(unix.PRIO_USER, id)
	return !errors.Is(err, unix.ESRCH)
}

func (p *Pool) isKnown(id int) bool {
	return slices.ContainsFunc(p.known, func(s numberRange) bool { return id >= s.first && id-s.first < s.count })
}

// numberRange is a run of numbers.
type numberRange struct{ first, count int }

// knownIDs reads which numbers the accounts of the machine have, and which are
// theirs to give out. Where a file does not exist there are none.
func knownIDs(dir string) (all []numberRange, err error) {
	for _, f := range []struct {
		name        string
		first, size int // the fields that hold them; no size means one
	}{{"passwd", 2, -1}, {"passwd", 3, -1}, {"group", 2, -1}, {"subuid", 1, 2}, {"subgid", 1, 2}} {
		data, err := os.ReadFile(filepath.Join(dir, f.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the accounts of the machine: %w", err)
		}
		for line := range strings.Lines(string(data)) {
			if s, ok := spanOf(strings.Split(strings.TrimSuffix(line, "\n"), ":"), f.first, f.size); ok {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

func spanOf(fields []string, first, size int) (s numberRange, ok bool) {
	s.count = 1
	for field, to := range map[int]*int{first: &s.first, size: &s.count} {
		if field < 0 {
			continue
		}
		if field >= len(fields) {
			return s, false
		}
		n, err := strconv.Atoi(fields[field])
		if err != nil || n < 0 {
			return s, false
		}
		*to = n
	}
	return s, true
}
