package audit

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/sallyport/sallyport/internal/approvals"
)

// usedKey begins the member of a body that says what its call uses up.
const usedKey = `,"used":`

// maxUsed bounds the text of that member: of each part an id, and what is around it.
const maxUsed = len(usedKey) + 32 + approvals.MaxUsed*(approvals.MaxUsedID+32)

// FindUsed returns what the call of a record uses up of what people gave, nil for
// nothing. It is the last member of the body, but for what the call brings, and stands
// after one that every record has.
func (r *Record) FindUsed() *approvals.Used {
	if r.Used != nil || !bytes.HasSuffix(r.Body, []byte("}}")) {
		return r.Used
	}
	rest := r.Body[max(len(r.Body)-maxUsed-maxBrought, 0) : len(r.Body)-1]
	for found := true; ; {
		if _, rest, found = bytes.Cut(rest, []byte(usedKey)); !found {
			return nil
		}
		if u := parseUsed(rest); u != nil {
			return u
		}
	}
}

// parseUsed reads what a call uses up from the end of a body behind the key; nil when
// it is that of another member.
func parseUsed(end []byte) *approvals.Used {
	var u approvals.Used
	d := json.NewDecoder(bytes.NewReader(end))
	if d.Decode(&u) != nil || !u.IsBounded() {
		return nil
	}
	// In a member of another one, more text would follow.
	rest := end[d.InputOffset():]
	if brought, ok := bytes.CutPrefix(rest, []byte(broughtKey)); len(rest) > 0 && !(ok && json.Valid(brought)) {
		return nil
	}
	return &u
}

// appendUsed appends what a call uses up as a member, nothing for nil.
func appendUsed(b []byte, u *approvals.Used) []byte {
	if u == nil {
		return b
	}
	b = appendTexts(append(appendKey(b, "used"), '{'), "approvals", u.Approvals)
	for i, r := range u.Runs {
		if i == 0 {
			b = append(appendKey(b, "runs"), '[')
		} else {
			b = append(b, ',')
		}
		b = appendKey(appendText(append(b, '{'), "rule", r.Rule), "run")
		b = append(strconv.AppendInt(b, int64(r.Run), 10), '}')
	}
	if len(u.Runs) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
