package notices

import (
	"context"
	"encoding/json"
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
	// toldWait bounds how long it takes to say so when everything ends.
	toldWait = 2 * time.Second
)

// told is a notice that a receiver got. It is plain data.
type told struct {
	// Notice is the id of the notice.
	Notice string `json:"notice"`
	// Receiver is who got it; see [receiver.nameKey].
	Receiver string `json:"receiver"`
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
			known[toldKey{t.Notice, t.Receiver}] = true
		}
	}
	return known
}

// wasTold reports whether the receiver got a notice before, from this or another server of
// the state. When that is not known it is sent: twice is better than never.
func (r *receiver) wasTold(ctx context.Context, n *notice) bool {
	value, _, err := r.s.o.Settings.Get(ctx, nameTold(n.call.ID))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(decodeTold(value), func(t told) bool { return t.Notice == n.id && t.Receiver == r.key })
}

// markTold remembers that the receiver got a notice.
func (r *receiver) markTold(ctx context.Context, n *notice) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), toldWait)
	defer cancel()
	now := time.Now()
	one := told{n.id, r.key, n.call.Expires.Add(toldLonger).UTC()}
	if n.event != config.NoticeHeld {
		one.Until = now.Add(maxAge).UTC() // it may be told by another server for as long
	}
	err := setting.Change(ctx, r.s.o.Settings, nameTold(n.call.ID), func(was string, _ bool) (string, error) {
		list := slices.DeleteFunc(decodeTold(was), func(t told) bool { return !now.Before(t.Until) })
		list = append(list, one)
		text, err := json.Marshal(list[max(len(list)-maxTold, 0):])
		return string(text), err
	})
	if err != nil {
		r.s.o.Logger.Warn("a notice was sent and may be sent again", "notice", r.name, "id", n.id, "error", err)
	}
}

// decodeTold reads a list. What this program did not write says nothing.
func decodeTold(value string) (list []told) {
	if value == "" || setting.Decode(value, &list) != nil {
		return nil
	}
	return list
}
