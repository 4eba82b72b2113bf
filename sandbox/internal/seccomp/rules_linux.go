package seccomp

import (
	"fmt"
	"strings"
)

// Answer is what the filter answers to a call.
type Answer string

// The answers.
const (
	// Allow lets the call through.
	Allow Answer = "allow"
	// ByArgument decides by the arguments.
	ByArgument Answer = "by argument"
	// EPERM refuses what a program without privileges must expect to be
	// refused.
	EPERM Answer = "EPERM"
	// ENOSYS is the answer of a kernel without the call. Callers fall back to
	// an older one or do without.
	ENOSYS Answer = "ENOSYS"
)

// Rule describes the answer to a group of calls.
type Rule struct {
	// Group names the rule.
	Group string
	// Calls lists the calls of both architectures, by name.
	Calls []string
	// Answer is what they are answered.
	Answer Answer
	// Why gives the reason, or the condition for ByArgument.
	Why string
}

// Rules returns the policy, for documentation. What is not listed is answered
// ENOSYS, and the process is killed for a call of another architecture or of
// the x32 ABI.
func Rules() []Rule {
	out := make([]Rule, 0, len(rules))
	for _, r := range rules {
		out = append(out, Rule{Group: r.group, Calls: r.callNames(), Answer: r.answer, Why: r.why})
	}
	return out
}

// callRule is one entry of the policy.
type callRule struct {
	group  string
	answer Answer
	// calls lists names, separated by spaces.
	calls string
	why   string
	// check decides for ByArgument.
	check func(Options) filterCode
}

// callNames splits the calls.
func (r callRule) callNames() []string {
	return strings.Fields(r.calls)
}

// answerCode returns the answer as code.
func (r callRule) answerCode(o Options) (filterCode, error) {
	switch r.answer {
	case Allow:
		return returnVerdict(verdictAllow), nil
	case EPERM:
		return refuseWith(ePERM), nil
	case ENOSYS:
		return refuseWith(eNOSYS), nil
	case ByArgument:
		return r.check(o), nil
	default:
		return nil, fmt.Errorf("the rule %s has no answer", r.group)
	}
}

// isUring reports calls that act on behalf of the process from a kernel
// thread.
func isUring(name string) bool {
	return strings.HasPrefix(name, "io_uring_")
}
