package approvals

import (
	"errors"
)

var (
	// ErrRuleUnknown: no rule has this id.
	ErrRuleUnknown = errors.New("no rule has this id")
	// ErrRulesUnreadable: the state holds rules that this program did not write.
	ErrRulesUnreadable = errors.New("the rules for sessions cannot be read and allow nothing; sallyport approvals revoke --all removes them")
)

