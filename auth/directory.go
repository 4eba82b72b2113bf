package auth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
)

// maxTokenBytes bounds a token of the directory; ours have 53 bytes.
const maxTokenBytes = 512

// Options refine a [Directory]. nil means the defaults.
type Options struct {
	// DefaultPermissions is what every principal holds.
	DefaultPermissions []string
	// LocalSHA256 is the hash of a token for the principal local; empty means
	// that there is none.
	LocalSHA256 string
	// LocalToken returns the hash of a token for the principal local, "" for
	// none, as it is now. It is asked at each use, so that a token that was
	// made later or elsewhere counts; nil means that LocalSHA256 is all.
	LocalToken func(ctx context.Context) (hash string, err error)
	// Now is the clock of expiry; nil means time.Now.
	Now func() time.Time
	// Logger receives what an operator must know of a refusal; nil discards
	// it. No token and no hash is written to it.
	Logger *slog.Logger
}

// Directory finds principals: those of the configuration, which are given,
// and those of the state, which are read at each use, so that a change by
// another process counts at once. It implements [Tokens] and is safe for
// concurrent use.
type Directory struct {
	store     Store
	o         Options
	static    atomic.Pointer[staticDirectory]
	revisions atomic.Uint64 // how many readings of a configuration there were
}

// staticDirectory holds the principals of the configuration. It is replaced,
// never changed.
type staticDirectory struct {
	revision uint64
	defaults []string
	byName   map[string]*Record
	byHash   map[string]*Record
}

// NewDirectory returns the principals of the configuration and of a store. A
// nil store has none. A name in both is an error: who it is would depend on
// the token. The records are copied.
func NewDirectory(ctx context.Context, records []Record, store Store, o *Options) (*Directory, error) {
	d := &Directory{store: store}
	if o != nil {
		d.o = *o
	}
	d.o.Logger = cmp.Or(d.o.Logger, slog.New(slog.DiscardHandler))
	if d.o.Now == nil {
		d.o.Now = time.Now
	}
	if d.o.LocalSHA256 != "" {
		if err := checkHash(d.o.LocalSHA256); err != nil {
			return nil, fmt.Errorf("auth: principal %s: %w", sallyport.LocalPrincipal, err)
		}
	}
	if err := d.Replace(ctx, records, d.o.DefaultPermissions); err != nil {
		return nil, err
	}
	return d, nil
}

// Replace puts other records and default permissions in the place of the
// configuration's, all at once. After an error the old ones stay in force.
func (d *Directory) Replace(ctx context.Context, records []Record, defaults []string) error {
	put, _, err := d.Prepare(ctx, records, defaults)
	if err == nil {
		put()
	}
	return err
}

// Prepare checks what Replace would put in force, and returns what does that: it
// cannot fail and waits for nothing, so that the callers can change together
// with what else a configuration says. The revision is that of the principals
// that are read from then on.
func (d *Directory) Prepare(ctx context.Context, records []Record, defaults []string) (put func(), revision uint64, err error) {
	next, err := compileRecords(records, defaults)
	if err != nil {
		return nil, 0, fmt.Errorf("auth: %w", err)
	}
	kept, err := d.storedRecords(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("auth: %w", err)
	}
	var faults []error
	for i := range kept {
		if _, both := next.byName[kept[i].Name]; both {
			faults = append(faults, fmt.Errorf("principal %q is in the configuration and in the state: "+
				"give the one in the configuration another name", kept[i].Name))
		}
	}
	if len(faults) > 0 {
		return nil, 0, fmt.Errorf("auth: %w", errors.Join(faults...))
	}
	next.revision = d.revisions.Add(1)
	return func() {
		next.noteRotations(d.static.Load(), d.o.Now())
		d.static.Store(next)
	}, next.revision, nil
}

// noteRotations notes when the tokens of a configuration took the place of
// others: what was begun with an old one does not stand any more.
func (s *staticDirectory) noteRotations(before *staticDirectory, now time.Time) {
	if before == nil {
		return
	}
	for name, r := range s.byName {
		switch old := before.byName[name]; {
		case old == nil:
		case old.TokenSHA256 != r.TokenSHA256:
			r.Rotated = now
		default:
			r.Rotated = old.Rotated
		}
	}
}

// Revision is that of the configuration in force.
func (d *Directory) Revision() uint64 { return d.static.Load().revision }

// compileRecords checks and copies the records of a configuration.
func compileRecords(records []Record, defaults []string) (*staticDirectory, error) {
	s := &staticDirectory{defaults: slices.Clone(defaults), byName: map[string]*Record{}, byHash: map[string]*Record{}}
	faults := []error{checkListed("default_permissions", defaults)}
	for i := range records {
		r := records[i].clone()
		faults = append(faults, r.Check())
		if s.byName[r.Name] != nil {
			faults = append(faults, fmt.Errorf("principal %q is there twice", r.Name))
		}
		s.byName[r.Name] = &r
		if r.TokenSHA256 == "" {
			continue
		}
		if other := s.byHash[r.TokenSHA256]; other != nil {
			faults = append(faults, fmt.Errorf("principals %q and %q have the same token", other.Name, r.Name))
		}
		s.byHash[r.TokenSHA256] = &r
	}
	return s, errors.Join(faults...)
}

func (d *Directory) storedRecords(ctx context.Context) ([]Record, error) {
	if d.store == nil {
		return nil, nil
	}
	return d.store.All(ctx)
}

// Principal implements [Tokens]. Nothing is cached: expiry, revocation and
// rotation are judged at each use.
func (d *Directory) Principal(ctx context.Context, token string) (p sallyport.Principal, ok bool, err error) {
	if token == "" || len(token) > maxTokenBytes {
		return p, false, nil
	}
	return d.FindHolder(ctx, HashToken(token))
}

// FindHolder returns whose token has a hash, as Principal does for the token itself: for
// those who keep the hash of a token that was shown to them once.
func (d *Directory) FindHolder(ctx context.Context, hash string) (p sallyport.Principal, ok bool, err error) {
	s := d.static.Load()
	if ok, err := d.isLocal(ctx, hash); ok || err != nil {
		return s.localPrincipal(), ok, err
	}
	// Looking a hash up takes a time that depends on the hash. Those who send
	// tokens learn nothing from it: SHA-256 does not let them choose the
	// hash that is looked up. The comparison after it says in constant time
	// that the index answered what it was asked.
	if r := s.byHash[hash]; r != nil && equalHashes(hash, r.TokenSHA256) {
		if !r.Live(d.o.Now()) {
			noteRefusal(ctx, r.whyEnded())
			return p, false, nil
		}
		return s.principalOf(r), true, nil
	}
	if d.store == nil {
		return p, false, nil
	}
	r, ok, err := d.store.ByToken(ctx, hash)
	if err != nil || !ok || !equalHashes(hash, r.TokenSHA256) {
		return p, false, err
	}
	if !r.Live(d.o.Now()) {
		noteRefusal(ctx, r.whyEnded())
		return p, false, nil
	}
	if s.isReserved(r.Name) {
		d.o.Logger.Warn("refused a token of the state whose name the configuration has", "principal", r.Name)
		noteRefusal(ctx, "the configuration has the name of the principal that the state gives this token")
		return p, false, nil
	}
	return s.principalOf(&r), true, nil
}

func (d *Directory) isLocal(ctx context.Context, hash string) (bool, error) {
	if equalHashes(hash, d.o.LocalSHA256) || d.o.LocalToken == nil {
		return equalHashes(hash, d.o.LocalSHA256), nil
	}
	kept, err := d.o.LocalToken(ctx)
	return err == nil && equalHashes(hash, kept), err
}

// equalHashes compares in constant time; empty equals nothing.
func equalHashes(hash, kept string) bool {
	return kept != "" && subtle.ConstantTimeCompare([]byte(hash), []byte(kept)) == 1
}

// isReserved reports whether a name may not be that of a principal of the
// state.
func (s *staticDirectory) isReserved(name string) bool {
	return s.byName[name] != nil || name == sallyport.LocalPrincipal
}

// localPrincipal returns the local user: the default permissions and what the
// configuration says about it.
func (s *staticDirectory) localPrincipal() sallyport.Principal {
	p := s.principalOf(cmp.Or(s.byName[sallyport.LocalPrincipal], &Record{Name: sallyport.LocalPrincipal}))
	p.Person = false
	return p
}

func (s *staticDirectory) principalOf(r *Record) sallyport.Principal {
	p := r.toPrincipal(s.defaults)
	p.Revision = s.revision
	return p
}

// DefaultPermissions returns what every principal holds now. The caller owns
// the slice.
func (d *Directory) DefaultPermissions() []string { return slices.Clone(d.static.Load().defaults) }

// Local returns the principal of the user who runs the program: the command line
// and a client that started the server itself. There it is a person; behind
// the local user's token over HTTP anything may be.
func (d *Directory) Local() sallyport.Principal {
	p := d.static.Load().localPrincipal()
	p.Person = true
	return p
}

// Named returns the principal of a name, for an operator who takes its place.
// A principal that expired or was revoked is not found; one without a token
// is.
func (d *Directory) Named(ctx context.Context, name string) (p sallyport.Principal, ok bool, err error) {
	if name == sallyport.LocalPrincipal {
		return d.Local(), true, nil
	}
	s := d.static.Load()
	r, err := d.liveRecord(ctx, s, name)
	if err != nil || r == nil {
		return p, false, err
	}
	return s.principalOf(r), true, nil
}

// Stands reports whether a principal who was let in at a moment may still call:
// it is there, and has the token that it had then. Rotating a token that
// leaked ends what was begun with the old one.
func (d *Directory) Stands(ctx context.Context, name string, since time.Time) (bool, error) {
	if name == sallyport.LocalPrincipal {
		return true, nil
	}
	r, err := d.liveRecord(ctx, d.static.Load(), name)
	return r != nil && !r.Rotated.After(since), err
}

// liveRecord returns the record of a principal that may call now, else nil.
func (d *Directory) liveRecord(ctx context.Context, s *staticDirectory, name string) (*Record, error) {
	if r := s.byName[name]; r != nil {
		if !r.Expires.IsZero() && !d.o.Now().Before(r.Expires) {
			return nil, nil
		}
		return r, nil
	}
	kept, err := d.storedRecords(ctx)
	if err != nil {
		return nil, err
	}
	i, found := slices.BinarySearchFunc(kept, name, func(r Record, name string) int { return strings.Compare(r.Name, name) })
	if !found || !kept[i].Live(d.o.Now()) {
		return nil, nil
	}
	return &kept[i], nil
}
