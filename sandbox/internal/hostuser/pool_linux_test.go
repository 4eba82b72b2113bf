package hostuser

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// base is the first number of the tests: those of the machine may be in use.
const base = 1_900_000_000

// noMap is for tests that make no mount.
func noMap(int) (*os.File, error) { return os.Open(os.DevNull) }

func openAt(t *testing.T, at poolPlace) *Pool {
	t.Helper()
	p, err := openPool(noMap, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func acquire(t *testing.T, p *Pool) *User {
	t.Helper()
	u, err := p.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestA3_TwoGatesNeverGiveOutOneUser(t *testing.T) {
	t.Parallel()
	o := poolPlace{first: base, count: 4, locks: filepath.Join(t.TempDir(), "dir", "uids"), accounts: t.TempDir()}
	a, b := openAt(t, o), openAt(t, o)
	seen := map[int]bool{}
	var last *User
	for _, p := range []*Pool{a, b, b, a} {
		last = acquire(t, p)
		if seen[last.ID] {
			t.Errorf("%d was given out twice", last.ID)
		}
		seen[last.ID] = true
	}
	for _, p := range []*Pool{a, b} {
		if u, err := p.Acquire(); !errors.Is(err, ErrNone) {
			t.Errorf("Acquire() = %v, %v when all are in use, want ErrNone", u, err)
		}
	}
	last.Release()
	last.Release()
	if u := acquire(t, b); u.ID != last.ID {
		t.Errorf("Acquire() = %d, want the one that was released, %d", u.ID, last.ID)
	}
	a.Close()
	acquire(t, b)
}

func TestUsersOfTheMachineAreNotGivenOut(t *testing.T) {
	t.Parallel()
	accounts := t.TempDir()
	write(t, filepath.Join(accounts, "passwd"), "root:x:0:0::/root:/bin/sh\nu:x:1900000000:1900000001::/:/bin/sh\nbroken\n+::::\n")
	write(t, filepath.Join(accounts, "group"), "g:x:1900000002:\n")
	write(t, filepath.Join(accounts, "subuid"), "u:1900000003:2\n")
	write(t, filepath.Join(accounts, "subgid"), "u:1899999000:1006\n")
	p := openAt(t, poolPlace{first: base, count: 8, locks: filepath.Join(t.TempDir(), "uids"), accounts: accounts})
	if u := acquire(t, p); u.ID != base+6 {
		t.Errorf("Acquire() = %d, want %d", u.ID, base+6)
	}
}

// A gate that was killed leaves its lock before its children are gone.
func TestAUserWithAProcessIsNotGivenOut(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const far = base + 200
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: far, Gid: far}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	if !hasProcess(far) || hasProcess(far+1) {
		t.Errorf("hasProcess = %v and %v, want true and false", hasProcess(far), hasProcess(far+1))
	}
	p := openAt(t, poolPlace{first: base, count: 256, locks: filepath.Join(t.TempDir(), "uids"), accounts: t.TempDir()})
	for {
		u, err := p.Acquire()
		if errors.Is(err, ErrNone) {
			break
		}
		if err != nil || u.ID == far {
			t.Fatalf("Acquire() = %v, %v", u, err)
		}
	}
}

// What killed gates left is never waited for in some containers. A child gets another
// user, and the next child the same one when it is free.
func TestUsersThatKilledGatesLeftLeaveOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const far, left = base + 1000, 3
	for i := range left {
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(far + i), Gid: uint32(far + i)}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Wait() }() // and not before
	}
	maps := 0
	p, err := openPool(func(id int) (*os.File, error) { maps++; return noMap(id) },
		poolPlace{first: far - 1, count: left + 2, start: 1, locks: filepath.Join(t.TempDir(), "uids"), accounts: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 3 {
		u := acquire(t, p)
		if u.ID != far+left {
			t.Errorf("Acquire() = %d, want %d, which is the first free one from the start on", u.ID, far+left)
		}
		u.Release()
	}
	if maps != 1 {
		t.Errorf("%d maps were made for one user", maps)
	}
	acquire(t, p)
	if u := acquire(t, p); u.ID != far-1 {
		t.Errorf("Acquire() = %d, want %d before the start", u.ID, far-1)
	}
	if u, err := p.Acquire(); !errors.Is(err, ErrNone) {
		t.Errorf("Acquire() = %v, %v, want ErrNone: what was left has the others", u, err)
	}
}

// The range holds what killed gates leave in a machine that waits for none of it.
func TestTheRangeIsThatOfAContainer(t *testing.T) {
	t.Parallel()
	if Count < 1<<16 || First < 1879048192 || First+Count > 1<<31 {
		t.Errorf("the range has %d users from %d on", Count, First)
	}
}

func TestWhatCannotBeReadGivesNoUsers(t *testing.T) {
	t.Parallel()
	accounts := t.TempDir()
	if err := os.Mkdir(filepath.Join(accounts, "passwd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := openPool(noMap, poolPlace{locks: filepath.Join(t.TempDir(), "uids"), accounts: accounts}); err == nil {
		t.Error("Open with unreadable accounts: no error")
	}
	p, err := openPool(func(int) (*os.File, error) { return nil, errors.New("no map") }, poolPlace{first: base, count: 1, locks: filepath.Join(t.TempDir(), "uids"), accounts: "/etc"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		if _, err := p.Acquire(); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("Acquire without a map = %v, want why there is none", err)
		}
	}
}

func TestSwapCoversEveryUserOnce(t *testing.T) {
	t.Parallel()
	var inside, outside, size int
	for i, m := range Swap(First) {
		if m.ContainerID != inside {
			t.Errorf("line %d begins at %d, want %d", i, m.ContainerID, inside)
		}
		inside += m.Size
		outside += m.HostID
		size += m.Size
	}
	if size != maxID || outside != First+1+First+1 {
		t.Errorf("the lines have %d users, want %d", size, maxID)
	}
}
