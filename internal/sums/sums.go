// Package sums counts amounts over windows, such as what an agent spent in a day.
//
// A bound is exact: of several processes on one state, and of several calls at once,
// those that are admitted never exceed it together.
package sums

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/setting"
)

const (
	// settingPrefix begins the name of each sum.
	settingPrefix = "sum."
	// steps is how exactly the times of amounts are kept: amounts of one step of the
	// window count as one, until the last of them leaves it. A sum is never too small
	// for that.
	steps = 500
	// maxEntries bounds what is kept of one bound. Beyond it amounts for a value that is
	// there count as one, until the last of them leaves the window, and a new value is not
	// admitted until another one has left it.
	maxEntries = 1000
)

// ErrFull: a bound counts too many amounts of its window.
var ErrFull = errors.New("the sum counts too many amounts in its window")

var errNoNumber = errors.New("a stored sum has an amount that is no number")

// A Bound names a bound of a tool, or of a rule over several, for a principal.
type Bound struct {
	// Tool is the ID of the tool.
	Tool string
	// Principal is who calls it.
	Principal string
	// Key is where the bound stands below the role.
	Key string
	// Window is its length.
	Window time.Duration
}

// settingName is under which name a bound is stored.
func (b *Bound) settingName() string {
	return settingPrefix + digest.Text(b.Tool+"\x00"+sallyport.SessionKey(b.Principal, "")+"\x00"+b.Key+"\x00"+b.Window.String())
}

// A Key names what is counted. A value for which a bound counts alone is a part of the
// same setting, so that agents cannot make settings by naming new values.
type Key struct {
	// Bound is what bounds the sum.
	Bound Bound
	// By is the value for which the bound counts alone; empty when it counts for all.
	By string
}

// Book keeps sums. It is safe for concurrent use.
type Book struct {
	settings setting.Store
	now      func() time.Time

	adding sync.Mutex // one at a time, since only one can win

	mu   sync.Mutex
	last map[Bound]*lastRead
}

// lastRead is what was read of a bound, ready to be asked again. It does not change.
type lastRead struct {
	name, text string
	least      int64               // the time of its earliest amount
	totals     map[string]*big.Rat // by the digests of values
	// by is the value that was asked about last, and digest its digest.
	by, digest string
	// bound is the bound that was asked about last, room what is left of it, and whole the
	// greatest whole number in that.
	bound, room *big.Rat
	whole       *big.Int
}

// maxLast bounds the bounds of which it is kept what was read.
const maxLast = 1024

// New returns the sums of a state. A nil now means time.Now.
func New(settings setting.Store, now func() time.Time) *Book {
	if now == nil {
		now = time.Now
	}
	return &Book{settings: settings, now: now}
}

// entry is what was added for a value in one step of the window.
type entry struct {
	// At is the time of the last amount, in milliseconds since 1970.
	At int64 `json:"t"`
	// Amount is their sum, as a fraction.
	Amount string `json:"a"`
	// By is the digest of the value.
	By string `json:"by,omitempty"`
}

// Total returns what counts of a key now.
func (b *Book) Total(ctx context.Context, k Key) (*big.Rat, error) {
	r, text, err := b.readLast(ctx, k)
	if err != nil {
		return nil, err
	}
	if r != nil {
		return new(big.Rat).Set(r.totalOf()), nil
	}
	entries, err := b.readEntries(text, k.Bound.Window)
	if err != nil {
		return nil, err
	}
	return totalOf(entries, k.digestBy())
}

// Fits reports whether a sum stays within a bound when an amount is added now. Nothing is
// added. The bound must not change.
func (b *Book) Fits(ctx context.Context, k Key, amount, bound *big.Rat) (bool, error) {
	r, _, err := b.readLast(ctx, k)
	switch {
	case err != nil:
		return false, err
	case r == nil:
		total, err := b.Total(ctx, k)
		return err == nil && total.Add(total, amount).Cmp(bound) <= 0, err
	case r.bound != bound:
		asked := *r
		asked.bound, asked.room = bound, new(big.Rat).Sub(bound, r.totalOf())
		asked.whole = new(big.Int).Div(asked.room.Num(), asked.room.Denom()) // rounds down
		r = &asked
		b.keepLast(k.Bound, r)
	}
	if amount.IsInt() {
		return amount.Num().Cmp(r.whole) <= 0, nil
	}
	return amount.Cmp(r.room) <= 0, nil
}

// readLast returns what is stored of a bound, asked about the value of the key; nil where
// some of it has left the window.
func (b *Book) readLast(ctx context.Context, k Key) (*lastRead, string, error) {
	b.mu.Lock()
	r := b.last[k.Bound]
	b.mu.Unlock()
	kept := r
	if r == nil {
		r = &lastRead{name: k.Bound.settingName(), least: math.MaxInt64}
	}
	text, _, err := b.settings.Get(ctx, r.name)
	if err != nil {
		return nil, "", err
	}
	if text != r.text {
		if r, err = readTotals(r.name, text); err != nil {
			return nil, "", err
		}
	}
	if k.By != r.by {
		asked := *r
		asked.by, asked.digest, asked.bound = k.By, k.digestBy(), nil
		r = &asked
	}
	if r != kept {
		b.keepLast(k.Bound, r)
	}
	if b.now().Add(-k.Bound.Window).UnixMilli() >= r.least {
		return nil, text, nil
	}
	return r, text, nil
}

// nothing is the sum of a value for which nothing was added.
var nothing = new(big.Rat)

// totalOf returns the sum for the value that was asked about.
func (r *lastRead) totalOf() *big.Rat {
	if t := r.totals[r.digest]; t != nil {
		return t
	}
	return nothing
}

// readTotals reads a stored sum.
func readTotals(name, text string) (*lastRead, error) {
	r := &lastRead{name: name, text: text, least: math.MaxInt64, totals: map[string]*big.Rat{}}
	entries, err := decodeEntries(text)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		r.least = min(r.least, e.At)
		amount, ok := new(big.Rat).SetString(e.Amount)
		switch total := r.totals[e.By]; {
		case !ok:
			r.least = math.MinInt64 // whose value it is decides
			return r, nil
		case total == nil:
			r.totals[e.By] = amount
		default:
			total.Add(total, amount)
		}
	}
	return r, nil
}

func (b *Book) keepLast(bound Bound, r *lastRead) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil || len(b.last) >= maxLast {
		b.last = map[Bound]*lastRead{}
	}
	b.last[bound] = r
}

// Add adds an amount to a key if the sum stays within the bound; a nil bound is
// none. It reports whether it did. On an error nothing was added that is known of.
func (b *Book) Add(ctx context.Context, k Key, amount, bound *big.Rat) (added bool, err error) {
	b.adding.Lock()
	defer b.adding.Unlock()
	err = setting.Change(ctx, b.settings, k.Bound.settingName(), func(was string, _ bool) (string, error) {
		added = false
		entries, err := b.readEntries(was, k.Bound.Window)
		if err != nil {
			return "", err
		}
		total, err := totalOf(entries, k.digestBy())
		if err != nil {
			return "", err
		}
		if bound != nil && total.Add(total, amount).Cmp(bound) > 0 {
			return was, nil
		}
		if entries, err = b.addEntry(entries, k.digestBy(), k.Bound.Window, amount); err != nil {
			return "", err
		}
		added = true
		text, err := json.Marshal(entries)
		return string(text), err
	})
	return added && err == nil, err
}

// TakeBack takes an amount off a key that was added to it at a time, or later, and was not
// used. What has left the window since is left alone.
func (b *Book) TakeBack(ctx context.Context, k Key, added time.Time, amount *big.Rat) error {
	b.adding.Lock()
	defer b.adding.Unlock()
	return setting.Change(ctx, b.settings, k.Bound.settingName(), func(was string, _ bool) (string, error) {
		entries, err := b.readEntries(was, k.Bound.Window)
		if err != nil || !takeFrom(entries, k.digestBy(), added.UnixMilli(), amount) {
			return was, err
		}
		text, err := json.Marshal(slices.DeleteFunc(entries, func(e entry) bool { return e.Amount == "0" }))
		return string(text), err
	})
}

// takeFrom takes an amount off the entry that it was added to, and reports whether there
// is one: amounts join later ones only, so it is the first that is not earlier.
func takeFrom(entries []entry, by string, added int64, amount *big.Rat) bool {
	var from *entry
	var left *big.Rat
	for i := range entries {
		e := &entries[i]
		if e.By != by || e.At < added || from != nil && from.At < e.At {
			continue
		}
		if has, ok := new(big.Rat).SetString(e.Amount); ok && has.Cmp(amount) >= 0 {
			from, left = e, has.Sub(has, amount)
		}
	}
	if from == nil {
		return false
	}
	from.Amount = left.RatString()
	return true
}

// Wait returns how long a caller has to wait until an amount stays within a bound, when
// nothing else is added: 0 when it does now, -1 when it never does.
func (b *Book) Wait(ctx context.Context, k Key, amount, bound *big.Rat) (time.Duration, error) {
	text, _, err := b.settings.Get(ctx, k.Bound.settingName())
	if err != nil {
		return 0, err
	}
	entries, err := b.readEntries(text, k.Bound.Window)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.At, b.At) })
	now := b.now()
	for wait := time.Duration(0); ; {
		total, err := totalOf(entries, k.digestBy())
		switch {
		case err != nil:
			return 0, err
		case total.Add(total, amount).Cmp(bound) <= 0:
			return wait, nil
		case len(entries) == 0:
			return -1, nil
		}
		wait = time.UnixMilli(entries[0].At).Add(k.Bound.Window).Sub(now)
		entries = entries[1:]
	}
}

// readEntries returns what still counts of a stored sum.
func (b *Book) readEntries(text string, window time.Duration) (kept []entry, err error) {
	if kept, err = decodeEntries(text); err != nil {
		return nil, err
	}
	oldest := b.now().Add(-window).UnixMilli()
	return slices.DeleteFunc(kept, func(e entry) bool { return e.At <= oldest }), nil
}

func decodeEntries(text string) (all []entry, err error) {
	if text == "" {
		return nil, nil
	}
	if err := setting.Decode(text, &all); err != nil {
		return nil, fmt.Errorf("a stored sum: %w", err)
	}
	return all, nil
}

// totalOf adds up the entries of a value.
func totalOf(entries []entry, by string) (*big.Rat, error) {
	total := new(big.Rat)
	for i := range entries {
		if entries[i].By != by {
			continue
		}
		amount, ok := new(big.Rat).SetString(entries[i].Amount)
		if !ok {
			return nil, errNoNumber
		}
		total.Add(total, amount)
	}
	return total, nil
}

// addEntry adds an amount to the entry of its value and step. An amount of nothing
// changes no sum, and is not kept.
func (b *Book) addEntry(entries []entry, by string, window time.Duration, amount *big.Rat) ([]entry, error) {
	if amount.Sign() == 0 {
		return entries, nil
	}
	now, step := b.now().UnixMilli(), max(window.Milliseconds()/steps, 1)
	for i := range entries {
		if e := &entries[i]; e.By == by && (e.At/step == now/step || len(entries) >= maxEntries) {
			last, _ := new(big.Rat).SetString(e.Amount)
			*e = entry{max(now, e.At), last.Add(last, amount).RatString(), by}
			return entries, nil
		}
	}
	if len(entries) >= maxEntries {
		return nil, ErrFull
	}
	return append(entries, entry{now, amount.RatString(), by}), nil
}

// digestBy returns a short form of the value: arguments may be long, and hold what a
// state should not.
func (k Key) digestBy() string {
	if k.By == "" {
		return ""
	}
	return digest.Text(k.By)[:32]
}
