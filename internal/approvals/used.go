package approvals

import (
	"context"
	"encoding/json"
	"slices"
)

const (
	// MaxUsed bounds the approvals and runs that one call uses: what holds it may
	// change twice while it is decided about.
	MaxUsed = 4
	// MaxUsedID bounds the id of each, in bytes.
	MaxUsedID = 64
)

// Used is what a call uses up of what people gave, as the record of its intent says
// it: no other call runs on it from then on, whatever else the state has lost.
type Used struct {
	// Approvals are the ids of approvals.
	Approvals []string `json:"approvals,omitempty"`
	// Runs are runs of rules for a session.
	Runs []RuleRun `json:"runs,omitempty"`
}

// RuleRun is one run of a rule.
type RuleRun struct {
	// Rule is the id of the rule, and behind a dot when it was given: a rule that ended
	// and one that is given for the same held call later are two.
	Rule string `json:"rule"`
	// Run is the number of the run, from 1.
	Run int `json:"run"`
}

// IsBounded reports whether u has the form in which a record may hold it.
func (u *Used) IsBounded() bool {
	n := len(u.Approvals) + len(u.Runs)
	return n > 0 && n <= MaxUsed && !slices.ContainsFunc(u.Approvals, func(id string) bool { return !IsRecordable(id) }) &&
		!slices.ContainsFunc(u.Runs, func(r RuleRun) bool { return !r.IsRecordable() })
}

// IsRecordable reports whether a record may hold r.
func (r RuleRun) IsRecordable() bool { return IsRecordable(r.Rule) && r.Run > 0 && r.Run <= RuleRuns }

// IsMissing reports whether the setting that counts the runs of r's rule, which may not
// be there, says less than r, which a record says. Rules is the setting with all rules:
// of one that is over nothing is missing.
func (r RuleRun) IsMissing(rules, runs string, ok bool) bool {
	if ok {
		if n, err := parseRuns(runs); err != nil || n >= r.Run {
			return false // what is no number allows nothing
		}
	}
	var list []Rule
	err := json.Unmarshal([]byte(rules), &list)
	return err == nil && slices.ContainsFunc(list, func(one Rule) bool { return one.key() == r.Rule })
}

// IsRecordable reports whether a record may hold the id of an approval, which is then
// found in it. Every id of a gate is.
func IsRecordable(id string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return id != "" && len(id) <= MaxUsedID
}

// Claimer is a queue of held calls that reads in the records of its state which
// approvals were used.
type Claimer interface {
	// Claim consumes an approval for one run, as Use does and to the exclusion of it,
	// and does not wait for the disk. The tool starts only once settle has returned
	// nil: then the use is durable. With recorded, who calls says that a record
	// of the use is on the disk. Settle waits for the disk itself when there is none,
	// or when it is not in the record of this state. It has to be called in any case.
	Claim(ctx context.Context, id string) (settle func(recorded bool) error, ok bool, err error)
}

// RunClaimer are settings of a state that reads in the records of calls which runs of
// rules were used.
type RunClaimer interface {
	// ClaimRun counts a run of a rule, see RuleRun, exactly over all processes, unless
	// most are counted. Run is 0 then, and settle nil, which otherwise is that of
	// Claimer.
	ClaimRun(ctx context.Context, rule string, most int) (run int, settle func(recorded bool) error, err error)
}
