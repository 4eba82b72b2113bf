package approvals

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
)

// shortestID is the number of characters of an id that the user must give.
// They hold the time to a quarter of a second, so that a short id cannot
// come to mean a later call.
const shortestID = 8

// NotSelected says that an id selects nothing, or several things.
type NotSelected struct{ why string }

// Error says which.
func (n *NotSelected) Error() string { return n.why }

// Select returns the held calls with these ids.
func Select(list []sallyport.Approval, ids []string) ([]sallyport.Approval, error) {
	known := make([]string, len(list))
	for i := range list {
		known[i] = list[i].ID
	}
	var out []sallyport.Approval
	for _, id := range ids {
		i, err := SelectID(known, id, "held call", "ls")
		if err != nil {
			return nil, err
		}
		out = append(out, list[i])
	}
	return out, nil
}

// SelectID returns the place of the one id that is complete or that has a unique
// beginning. The command is the one that lists the things. The error is *NotSelected
// where there is no such id, or more than one.
func SelectID(known []string, id, thing, command string) (int, error) {
	if len(id) < shortestID {
		return 0, fmt.Errorf("%q: expected an id, or at least %d characters of one", id, shortestID)
	}
	var found []int
	for i := range known {
		if known[i] == id {
			return i, nil
		}
		if strings.HasPrefix(known[i], id) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 0:
		return 0, &NotSelected{fmt.Sprintf("no %s has the id %q: 'sallyport approvals %s' lists them", thing, id, command)}
	case 1:
		return found[0], nil
	default:
		return 0, &NotSelected{fmt.Sprintf("%d %ss have ids that begin with %q: give a longer part of the id", len(found), thing, id)}
	}
}
