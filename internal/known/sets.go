// Package known holds the sets of values that an operator keeps: payees, contacts,
// addresses. Ceilings over arguments name them, and what they hold does not count as
// untrusted.
package known

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxFile bounds the file of one set, in bytes.
	maxFile = 4 << 20
	// maxMembers bounds the members of one set.
	maxMembers = 100_000
)

// Lookup says what the sets of values hold that the ceilings over arguments name. It
// must be safe for concurrent use.
type Lookup interface {
	// Kind returns what the members of a set are; ok is false when there is no such
	// set.
	Kind(set string) (kind sallyport.ValueKind, ok bool)
	// Has reports whether a set has a value, compared by the kind of the set. On an
	// error the call does not run, unless it matches [ErrUnread]: then the set has no
	// value.
	Has(ctx context.Context, set, value string) (bool, error)
	// Holds reports whether any set has a piece of a text, in the form of
	// [provenance.Exact]: as a member of its kind, or for "text" within
	// a member of the kind text.
	Holds(ctx context.Context, kind sallyport.ValueKind, exact string) (bool, error)
}

// Source is where the members of one set come from.
type Source struct {
	// Kind is what the members are.
	Kind sallyport.ValueKind
	// List holds members; nil holds none.
	List []string
	// File is the path of a file with a member on each line; empty reads none.
	File string
	// Query reads further members; nil reads none.
	Query *Query
}

// Grown returns the values by which a set grew, nil for none. See [Growth.Values].
type Grown func(ctx context.Context, set string) (*Values, error)

// Sets are the sets of one configuration. It is safe for concurrent use. Close ends the
// reading of queries.
type Sets struct {
	byName map[string]*set
	grown  Grown // nil: sets do not grow
	needed bool  // see NeedQueries

	mu      sync.Mutex // nothing begins to be read after Close
	closing context.Context
	close   context.CancelFunc
	reading sync.WaitGroup
}

// set is one set as it was read last.
type set struct {
	Source
	reader *queryReader // nil without a query

	mu     sync.Mutex
	stamp  fileStamp
	listed *listed // of the list and the file; guarded where there is a file, else it stays
}

// listed are members ready to be compared. They do not change.
type listed struct {
	members map[string]bool // in the form of provenance.Exact
	texts   provenance.Index
}

func newListed(kind sallyport.ValueKind, values []string) *listed {
	l := &listed{members: make(map[string]bool, len(values))}
	for _, v := range values {
		exact := provenance.Exact(kind, v)
		if l.members[exact] || exact == "" {
			continue
		}
		l.members[exact] = true
		if kind == effect.Text {
			l.texts.Add(exact)
		}
	}
	return l
}

// has reports whether a value is a member, or with within in a member of the kind text.
func (l *listed) has(exact string, within bool) bool {
	return l.members[exact] || within && l.texts.Contains(exact)
}

// fileStamp says which content of a file was read.
type fileStamp struct {
	size     int64
	modified time.Time
	read     bool
}

// Fault is a set that cannot be read.
type Fault struct {
	// Set is its name.
	Set string
	// Err says why.
	Err error
}

// Faults lists the sets that cannot be read, by name. It is an error when it is not
// empty.
type Faults []Fault

// Error lists the faults, a line each.
func (f Faults) Error() string {
	return text.JoinLines(f, func(one Fault) string { return "known." + one.Set + ": " + one.Err.Error() })
}

// New reads the sets; what queries give is read later. The error is a [Faults].
func New(sources map[string]Source, grown Grown) (*Sets, error) {
	s := &Sets{byName: map[string]*set{}, grown: grown}
	s.closing, s.close = context.WithCancel(context.Background())
	var faults Faults
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		one := &set{Source: sources[name]}
		if one.Query != nil {
			one.reader = newQueryReader(one.Query, one.Kind)
		}
		if err := one.refresh(); err != nil {
			faults = append(faults, Fault{name, err})
		}
		s.byName[name] = one
	}
	if len(faults) > 0 {
		s.close()
		return nil, faults
	}
	return s, nil
}

// refresh reads the members, again when the file has changed.
func (s *set) refresh() error {
	var stamp fileStamp
	if s.File != "" {
		info, err := os.Stat(s.File)
		switch {
		case err != nil:
			return err
		case fsx.IsPlaceholder(info):
			return fmt.Errorf("%s: %w", s.File, fs.ErrNotExist)
		case !info.Mode().IsRegular():
			return errors.New("not a plain file")
		case info.Size() > maxFile:
			return fmt.Errorf("the file has more than %d bytes", maxFile)
		}
		stamp = fileStamp{info.Size(), info.ModTime(), true}
	}
	if s.listed != nil && stamp == s.stamp {
		return nil
	}
	lines := s.List
	if s.File != "" {
		more, err := readLines(s.File)
		if err != nil {
			return err
		}
		lines = append(lines[:len(lines):len(lines)], more...)
	}
	if len(lines) > maxMembers {
		return fmt.Errorf("more than %d members", maxMembers)
	}
	s.stamp, s.listed = stamp, newListed(s.Kind, lines)
	return nil
}

// Count returns the number of members of the list and the file.
func (s Source) Count() (n int, err error) {
	one := &set{Source: s}
	if err := one.refresh(); err != nil {
		return 0, err
	}
	return len(one.listed.members), nil
}

// Lines returns the members of the file as they are written, nil without a file.
func (s Source) Lines() ([]string, error) {
	if s.File == "" {
		return nil, nil
	}
	return readLines(s.File)
}

func readLines(path string) (lines []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, maxFile)
	for scan.Scan() {
		if line := strings.TrimSpace(scan.Text()); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines, scan.Err()
}

// Kind returns what the members of a set are; ok is false when there is no such set.
func (s *Sets) Kind(name string) (kind sallyport.ValueKind, ok bool) {
	if one := s.byName[name]; one != nil {
		return one.Kind, true
	}
	return "", false
}

// Has reports whether a set has a value. The error is that the set cannot be read: then
// it has none. It matches [ErrUnread] when that is a matter of its query.
func (s *Sets) Has(ctx context.Context, name, value string) (bool, error) {
	one := s.byName[name]
	if one == nil {
		return false, fmt.Errorf("known.%s: %w", name, fs.ErrNotExist)
	}
	ok, err := s.look(ctx, name, one, provenance.Exact(one.Kind, value), false)
	if err = wrapSet(name, err); s.needed && errors.Is(err, ErrUnread) {
		return false, errors.New(err.Error())
	}
	return ok, err
}

// look reports whether a set has a value in its exact form as a member, or with within in
// a member of the kind text.
func (s *Sets) look(ctx context.Context, name string, one *set, exact string, within bool) (bool, error) {
	listed, err := one.current()
	if err != nil {
		return false, err
	}
	if r := one.reader; r != nil {
		s.begin(r)
		queried, _, err := r.current(ctx)
		if err != nil {
			return false, err
		}
		if queried.has(exact, within) {
			return true, nil
		}
	}
	if is := listed.has(exact, within); is || s.grown == nil {
		return is, nil
	}
	more, err := s.grown(ctx, name)
	if err != nil || !within {
		return err == nil && more.has(one.Kind, exact), err
	}
	return more.holds(one.Kind, exact), nil
}

func wrapSet(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("known.%s: %w", name, err)
}

// Holds reports whether a set of the kind has a member, or a member of a set of the kind
// text has it within.
func (s *Sets) Holds(ctx context.Context, kind sallyport.ValueKind, exact string) (bool, error) {
	var unread error
	for name, one := range s.byName {
		if one.Kind != kind {
			continue
		}
		ok, err := s.look(ctx, name, one, exact, true)
		if errors.Is(err, ErrUnread) {
			unread = wrapSet(name, err)
			continue // what it might hold counts as not held
		}
		if ok || err != nil {
			return ok, wrapSet(name, err)
		}
	}
	if s.needed && unread != nil {
		return false, errors.New(unread.Error())
	}
	return false, nil
}

// current returns the members of the list and the file as they are now. A list alone does not
// change.
func (s *set) current() (*listed, error) {
	if s.File == "" {
		return s.listed, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	return s.listed, nil
}
