package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/setting"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// yesesSetting is the name of the setting with all yeses that wait for others.
	yesesSetting = "approvals.yeses"
	// maxYeses bounds them, yesReason the reason of each in bytes.
	maxYeses, yesReason = 500, 200
)

// Yes is what one person said to a held call that needs the yes of several. It is plain
// data.
type Yes struct {
	// ID is that of the held call.
	ID string `json:"id"`
	// Digest is that of the held call as it was shown.
	Digest string `json:"digest"`
	// Person is who said it, as the surface knew; it counts once.
	Person string `json:"person"`
	// Name is what is recorded.
	Name string `json:"name"`
	// Reason is that person's reason, shortened; it may be empty.
	Reason string `json:"reason,omitempty"`
	// Given is when it was said.
	Given time.Time `json:"given"`
	// Expires is when the held call expires, and this with it.
	Expires time.Time `json:"expires_at"`
}

// NewYes returns the yes of a person to a held call.
func NewYes(a *sallyport.Approval, by Decider, reason string, now time.Time) Yes {
	return Yes{
		ID: a.ID, Digest: a.Digest, Person: by.Person, Name: by.Name, Reason: text.ClipBytes(strings.TrimSpace(reason), yesReason),
		Given: now.UTC(), Expires: a.Expires,
	}
}

// String names who said it.
func (y *Yes) String() string { return Decider{y.Name, y.Person}.String() }

// isAbout reports whether it was said to a held call as that is.
func (y *Yes) isAbout(a *sallyport.Approval) bool {
	return y.ID == a.ID && y.Digest == a.Digest && a.Digest != ""
}

// AddYes stores a yes, on top of what other processes stored, and returns all that are
// stored about its held call. A second one under the same name changes nothing. When there
// are too many, those to calls that are not held any more make room.
func AddYes(ctx context.Context, s setting.Store, held sallyport.ApprovalDesk, y Yes) (about []Yes, err error) {
	err = setting.Change(ctx, s, yesesSetting, func(was string, _ bool) (string, error) {
		list := slices.DeleteFunc(decodeYeses(was), func(old Yes) bool { return !y.Given.Before(old.Expires) })
		if !slices.ContainsFunc(list, func(old Yes) bool { return old.ID == y.ID && old.Person == y.Person }) {
			if len(list) >= maxYeses {
				// Read after the yeses: each is to a call that was held before.
				if list, err = keepPending(ctx, held, list); err != nil {
					return "", err
				}
			}
			if len(list) >= maxYeses {
				return "", errors.New("too many held calls wait for the yes of another person")
			}
			list = append(list, y)
		}
		about = yesesAbout(list, y.ID)
		text, err := json.Marshal(list)
		return string(text), err
	})
	if err != nil {
		return nil, err
	}
	return about, nil
}

// keepPending returns the yeses to calls that are still held.
func keepPending(ctx context.Context, held sallyport.ApprovalDesk, list []Yes) ([]Yes, error) {
	waiting, err := held.List(ctx, false)
	if err != nil {
		return nil, err
	}
	pending := map[string]bool{}
	for i := range waiting {
		pending[waiting[i].ID] = waiting[i].State == sallyport.ApprovalPending
	}
	return slices.DeleteFunc(list, func(y Yes) bool { return !pending[y.ID] }), nil
}

// RemoveYeses removes the yeses that a function selects.
func RemoveYeses(ctx context.Context, s setting.Store, which func(y *Yes) bool) error {
	return setting.Change(ctx, s, yesesSetting, func(was string, _ bool) (string, error) {
		list := decodeYeses(was)
		kept := slices.DeleteFunc(slices.Clone(list), func(y Yes) bool { return which(&y) })
		if len(kept) == len(list) {
			return was, nil
		}
		text, err := json.Marshal(kept)
		return string(text), err
	})
}

// ReadYeses returns the yeses that are stored, by the ids of their held calls.
func ReadYeses(ctx context.Context, s setting.Store) (map[string][]Yes, error) {
	value, _, err := s.Get(ctx, yesesSetting)
	if err != nil {
		return nil, err
	}
	by := map[string][]Yes{}
	for _, y := range decodeYeses(value) {
		by[y.ID] = append(by[y.ID], y)
	}
	return by, nil
}

// decodeYeses reads the yeses of a text. What this program did not write counts for
// nothing: each person is asked once more.
func decodeYeses(value string) (list []Yes) {
	if value == "" || setting.Decode(value, &list) != nil {
		return nil
	}
	return list
}

func yesesAbout(list []Yes, id string) (about []Yes) {
	for _, y := range list {
		if y.ID == id {
			about = append(about, y)
		}
	}
	return about
}
