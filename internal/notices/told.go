package notices

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/setting"
)

const (
	// toldSetting begins the names of the settings that say which receivers were told of
	// what: each is of some calls, so that little is written for each notice.
	toldSetting = "notices.told."
	// toldParts is how many there are.
	toldParts = 64
	// maxTold bounds what each says: with more, the oldest goes, and may be told again.
	maxTold = 64
	// toldLonger is how much longer than the held call it is known: clocks differ.
	toldLonger = time.Minute
	// toldWait bounds how long it takes to ask or say so, also when everything ends.
	toldWait = 2 * time.Second
)

// told is a notice that a receiver got, or is being sent. It is plain data.
type told struct {
	// Notice is the id of the notice.
	Notice string `json:"notice"`
	// Receiver is who got it; see [receiver.nameKey].
	Receiver string `json:"receiver"`
	// By is which receiver of which server sends it at the moment; empty once it got it.
	By string `json:"by,omitempty"`
	// Until is when that is forgotten.
	Until time.Time `json:"until"`
}

// nameTold returns the name of the setting that says who was told of a call.
func nameTold(id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // it never fails
	return toldSetting + strconv.Itoa(int(h.Sum32()%toldParts))
}

// nameKey names the receiver with where it is, of which nothing can be read: under another
// address it is another one.
func (r *receiver) nameKey() string {
	return r.name + " " + digest.Text(strings.Join(append([]string{r.c.URL, r.c.Relay}, r.c.To...), "\n"))[:16]
}

// toldKey is what a receiver was told.
type toldKey struct{ notice, receiver string }

// readTold returns what receivers were told of some calls. What cannot be read is not known.
func (s *Sender) readTold(ctx context.Context, calls []sallyport.Approval) map[toldKey]bool {
	known, read := map[toldKey]bool{}, map[string]bool{}
	for i := range calls {
		name := nameTold(calls[i].ID)
		if read[name] {
			continue
		}
		read[name] = true
		value, _, err := s.o.Settings.Get(ctx, name)
		if err != nil {
			continue
		}
		for _, t := range decodeTold(value) {
			known[toldKey{t.Notice, t.Receiver}] = t.By == ""
		}
	}
	return known
}

var (
	// errTold: the receiver got the notice before, from this or another server of the state.
	errTold = errors.New("it was told already")
	// errSending: another server of the state sends the notice now.
	errSending = errors.New("another server sends it")
)

// reserveNotice says that the receiver is being told, so that no other server of the state
// tells it at the same time. The error is errTold or errSending. When neither is known the
// notice is sent: twice is better than never.
func (r *receiver) reserveNotice(ctx context.Context, n *notice) error {
	p := &r.s.o.pauses
	err := r.changeTold(ctx, n, func(have *told) (*told, error) {
		switch {
		case have == nil || have.By == r.own:
			// A server that is killed while it sends leaves it to the others after that time.
			return &told{n.id, r.key, r.own, time.Now().Add(max(p.try, p.mail) + toldLonger).UTC()}, nil
		case have.By == "":
			return nil, errTold
		default:
			return nil, errSending
		}
	})
	if errors.Is(err, errTold) || errors.Is(err, errSending) {
		return err
	}
	return nil
}

// releaseNotice takes back that the receiver is being told, after a try that failed.
func (r *receiver) releaseNotice(ctx context.Context, n *notice) {
	err := r.changeTold(context.WithoutCancel(ctx), n, func(have *told) (*told, error) {
		if have == nil || have.By == r.own {
			return nil, nil
		}
		return have, nil
	})
	if err != nil {
		r.s.o.Logger.Warn("a notice that was not sent is tried again later", "notice", r.name, "id", n.id, "error", err)
	}
}

// markTold remembers that the receiver got a notice.
func (r *receiver) markTold(ctx context.Context, n *notice) {
	one := told{n.id, r.key, "", n.call.Expires.Add(toldLonger).UTC()}
	if n.event != config.NoticeHeld {
		one.Until = time.Now().Add(maxAge).UTC() // it may be told by another server for as long
	}
	if err := r.changeTold(context.WithoutCancel(ctx), n, func(*told) (*told, error) { return &one, nil }); err != nil {
		r.s.o.Logger.Warn("a notice was sent and may be sent again", "notice", r.name, "id", n.id, "error", err)
	}
}

// changeTold changes what is known of a notice to the receiver; nil is nothing.
func (r *receiver) changeTold(ctx context.Context, n *notice, do func(have *told) (*told, error)) error {
	ctx, cancel := context.WithTimeout(ctx, toldWait)
	defer cancel()
	return setting.Change(ctx, r.s.o.Settings, nameTold(n.call.ID), func(was string, _ bool) (string, error) {
		now := time.Now()
		var have *told
		list := slices.DeleteFunc(decodeTold(was), func(t told) bool {
			if t.Notice != n.id || t.Receiver != r.key {
				return !now.Before(t.Until)
			}
			if now.Before(t.Until) {
				have = &t
			}
			return true
		})
		next, err := do(have)
		if err != nil {
			return "", err
		}
		if next != nil {
			list = append(list, *next)
		}
		text, err := json.Marshal(list[max(len(list)-maxTold, 0):])
		return string(text), err
	})
}

// decodeTold reads a list. What this program did not write says nothing.
func decodeTold(value string) (list []told) {
	if value == "" || setting.Decode(value, &list) != nil {
		return nil
	}
	return list
}
