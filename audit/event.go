package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/output"
)

// version is the format of the records that this package writes.
const version = 1

// Kind says what a record is about: half of a call, or a change.
type Kind string

// The kinds of records.
const (
	// KindIntent is recorded before a call runs.
	KindIntent Kind = "intent"
	// KindOutcome is recorded after a call ran or was refused.
	KindOutcome Kind = "outcome"
	// KindChange is recorded when an operator changes who may call, what is
	// stopped, what is decided about a held call, or what configuration is
	// in force.
	KindChange Kind = "change"
	// KindCheckpoint stands for the records that [Prune] removed. It is
	// never the kind of an Event.
	KindCheckpoint Kind = "checkpoint"
)

// Valid reports whether k is the kind of an event.
func (k Kind) Valid() bool { return k == KindIntent || k == KindOutcome || k == KindChange }

// Event is what is recorded about a call, or about a change. The caller has removed secrets
// from it. Texts that exceed their bound are cut when the event is recorded;
// the bounds are constants of this package.
type Event struct {
	// Version is the format of the record; Record fills it in.
	Version int `json:"version"`
	// Seq is the number in the chain; 0 until the record is sealed.
	Seq int64 `json:"seq,omitempty"`
	// Time is when it happened; the zero time means now.
	Time time.Time `json:"time"`
	// Kind is intent, outcome or change.
	Kind Kind `json:"kind"`
	// CallID is the gate's id for the call. Ids that sort by time keep the
	// store's index small. That of a change is the held call's that it is
	// about, else one of its own.
	CallID string `json:"call_id"`
	// ToolCallID is the caller's own id; it may be empty.
	ToolCallID output.Clean `json:"tool_call_id,omitempty"`
	// Tool is the name that was called, whether or not it exists. It is
	// empty for a change that is about no tool.
	Tool output.Clean `json:"tool"`
	// Principal is who called, or who changed something.
	Principal string `json:"principal"`
	// Session is the caller's session id; it may be empty.
	Session output.Clean `json:"session,omitempty"`
	// Personality is the name of the role; it may be empty.
	Personality output.Clean `json:"personality,omitempty"`
	// Platform is the surface.
	Platform sallyport.Platform `json:"platform,omitempty"`
	// Agent and Team identify the agent; they may be empty.
	Agent output.Clean `json:"agent,omitempty"`
	// Team is the agent's team; it may be empty.
	Team output.Clean `json:"team,omitempty"`
	// DelegatedBy lists the calls under which the call was made, by a sub-agent: their
	// ids, the outermost first, joined by "/". Empty for a call that a caller made itself.
	DelegatedBy string `json:"delegated_by,omitempty"`
	// Args is the arguments as canonical JSON without secrets; empty when
	// they could not be decoded or are too long.
	Args output.Clean `json:"args,omitempty"`
	// ArgsDigest is the SHA-256 of the canonical arguments in hex.
	ArgsDigest string `json:"args_digest,omitempty"`
	// Definition is the digest of the tool's declaration.
	Definition string `json:"definition,omitempty"`
	// Grant is what the call may touch; nil on an outcome.
	Grant *sallyport.Grant `json:"grant,omitempty"`
	// GrantDigest is the SHA-256 of the grant's JSON in hex when the grant
	// itself is larger than a record may hold; Record fills it in.
	GrantDigest string `json:"grant_digest,omitempty"`
	// Change says what was changed; nil on a call.
	Change *Change `json:"change,omitempty"`
	// OK is true for a success. It means nothing on an intent or a change.
	OK bool `json:"-"`
	// Code classifies a failure.
	Code sallyport.Code `json:"code,omitempty"`
	// Stage is the step that refused; empty when none did.
	Stage sallyport.Step `json:"stage,omitempty"`
	// Error is the text of a failure. A change that has one was not made.
	Error output.Clean `json:"error,omitempty"`
	// Decisions is the trail of the call; nil on an intent.
	Decisions []sallyport.Decision `json:"decisions,omitempty"`
	// DryRun is true when the call was only described.
	DryRun bool `json:"dry_run,omitempty"`
	// Cached is true when the result came from the cache.
	Cached bool `json:"cached,omitempty"`
	// Duration is how long the call took; 0 on an intent. Its JSON form is
	// duration_ms, in milliseconds.
	Duration time.Duration `json:"-"`
	// ValueChars is the length of the result in code points.
	ValueChars int `json:"value_chars,omitempty"`
	// Parts is the number of parts beside the value.
	Parts int `json:"parts,omitempty"`
	// PartBytes is the length of their text and data together.
	PartBytes int64 `json:"part_bytes,omitempty"`
	// CostUSD is the price of the call in US dollars.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// Level is how the children of the call were confined: the weakest that
	// ran, else the level that held for those that might have. It is none
	// for a call whose grant has no binaries, which runs in the process and
	// starts nothing, and where the operator lowered the level to none; the
	// grant of the intent says which. Empty is recorded as none, but for a
	// change, which has none.
	Level sallyport.Level `json:"level,omitempty"`
	// Full is the value before a reducer shortened it; empty when none did.
	Full output.Clean `json:"full,omitempty"`
	// Durable makes Record wait for the disk: what the event announces must
	// not happen without a record, whatever else fails. Others survive the
	// death of the process at once, and a loss of power with the next
	// durable record or after [Options.Settle]. It is not recorded.
	Durable bool `json:"-"`
	// KeyID is the [Key.ID] of the key that sealed the record; Record fills
	// it in.
	KeyID string `json:"key_id,omitempty"`
	// Brought is what the call brings into its conversation, as the gate sets it on
	// the intent, or on the outcome of a call that has none. nil is nothing. Every
	// process that shares the record knows it once it is added.
	Brought *facts.Brought `json:"-"`
	// Used is what the call uses up of what people gave, as the gate sets it on the
	// intent, or on the outcome of a call whose intent does not say it. nil is nothing.
	Used *approvals.Used `json:"-"`
	// Carried is what of the arguments was in what the conversation had read, as far as it
	// was looked for; nil when it was not. Arguments that a secret was removed from have
	// none.
	Carried *facts.Carried `json:"-"`
}

type plainEvent Event

// wireEvent adds the fields whose JSON form differs.
type wireEvent struct {
	*plainEvent
	OK         *bool          `json:"ok,omitempty"`
	DurationMS float64        `json:"duration_ms,omitempty"`
	Carried    *facts.Carried `json:"carried,omitempty"`
	// Used and Brought come last, where they are found without reading the rest.
	Used    *approvals.Used `json:"used,omitempty"`
	Brought *facts.Brought  `json:"brought,omitempty"`
}

func (e *Event) toWire() wireEvent {
	w := wireEvent{plainEvent: (*plainEvent)(e), DurationMS: float64(e.Duration) / float64(time.Millisecond), Carried: e.Carried, Used: e.Used, Brought: e.Brought}
	if e.Kind == KindOutcome {
		w.OK = &e.OK
	}
	return w
}

// MarshalJSON writes the event; ok is left out of an intent.
func (e Event) MarshalJSON() ([]byte, error) { return json.Marshal(e.toWire()) }

// UnmarshalJSON reads what MarshalJSON writes. Keys that it does not know
// are ignored: a newer version may have written them.
func (e *Event) UnmarshalJSON(data []byte) error {
	var fresh Event
	w := wireEvent{plainEvent: (*plainEvent)(&fresh)}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	fresh.OK = w.OK != nil && *w.OK
	fresh.Duration, fresh.Carried = time.Duration(w.DurationMS*float64(time.Millisecond)), w.Carried
	fresh.Used, fresh.Brought = w.Used, w.Brought
	*e = fresh
	return nil
}

// Denied reports whether the event is the outcome of a call that a step
// refused.
func (e *Event) Denied() bool { return e.Kind == KindOutcome && !e.OK && e.Stage != "" }

// Bounds of the parts of one record, in bytes unless stated. A record is
// evidence, not a copy of the data: what is longer is cut and says so. Together they
// keep a record below 3 MiB, whatever has to be escaped in it.
const (
	// maxName bounds every id and name.
	maxName = 512
	// maxArgs bounds Args.
	maxArgs = 16 << 10
	// maxError bounds Error.
	maxError = 4 << 10
	// maxDecisions bounds the number of decisions.
	maxDecisions = 128
	// maxReason bounds each text of a decision: what it is about, too, which a caller
	// may choose.
	maxReason = 1 << 10
	// maxGrant bounds the JSON of a grant; a larger one leaves its digest.
	maxGrant = 32 << 10
	// maxFull bounds Full: 64 Ki code points of four bytes and a marker.
	maxFull = 260 << 10
)

func (e *Event) boundedCopy() (Event, error) {
	b := *e
	if !b.Kind.Valid() {
		return b, fmt.Errorf("audit: %q is not the kind of an event", string(b.Kind))
	}
	b.Version, b.Seq, b.GrantDigest = version, 0, ""
	b.Time = b.Time.UTC().Round(0)
	if (b.Kind == KindChange) != (b.Change != nil) {
		return b, errors.New("audit: a change says what was changed, and nothing else does")
	}
	if b.Brought != nil && (len(b.Brought.Session) > len(facts.Digest("s")) || !facts.IsRecordable(b.Principal)) {
		return b, errors.New("audit: what a call brings needs the digest of its session, and the whole name of its principal")
	}
	if b.Carried != nil && !b.Carried.IsBounded() {
		return b, errors.New("audit: what a call carried has too many pieces, or no digests")
	}
	if b.Used != nil && !b.Used.IsBounded() {
		return b, errors.New("audit: what a call uses up needs one to four ids of approvals, or runs of rules")
	}
	if b.Change != nil {
		b.Change = b.Change.boundedCopy()
	} else if b.Level == "" {
		b.Level = sallyport.LevelNone
	}
	for _, s := range [...]*string{
		&b.CallID, (*string)(&b.ToolCallID), (*string)(&b.Tool), &b.Principal, (*string)(&b.Session), (*string)(&b.Personality),
		(*string)(&b.Platform), (*string)(&b.Agent), (*string)(&b.Team), &b.DelegatedBy, &b.ArgsDigest, &b.Definition, (*string)(&b.Code), (*string)(&b.Stage), (*string)(&b.Level),
	} {
		*s = clipText(*s, maxName)
	}
	b.Args, b.Error, b.Full = clipText(b.Args, maxArgs), clipText(b.Error, maxError), clipText(b.Full, maxFull)
	b.Decisions = clipDecisions(b.Decisions)
	return b, nil
}

// clipDecisions bounds a trail and its texts. Of a long trail the middle is left out: at
// its end stands what ended the call.
func clipDecisions(list []sallyport.Decision) []sallyport.Decision {
	if !isLongTrail(list) {
		return list
	}
	if n := len(list); n > maxDecisions {
		const first = maxDecisions / 2
		left := sallyport.Decision{Step: list[first].Step, Allowed: true, Why: markCut(n, "decisions")}
		list = slices.Concat(list[:first], []sallyport.Decision{left}, list[n-(maxDecisions-first-1):])
	} else {
		list = slices.Clone(list)
	}
	for i := range list {
		d := &list[i]
		d.Step = clipText(d.Step, maxName)
		for _, s := range [...]*string{&d.Capability, &d.Resource, &d.Why, &d.Source, &d.Fix} {
			*s = clipText(*s, maxReason)
		}
	}
	return list
}

// isLongTrail reports whether something of a trail may have to be cut.
func isLongTrail(list []sallyport.Decision) bool {
	for i := range list {
		d := &list[i]
		if len(d.Step) > maxName/controlSize || max(len(d.Capability), len(d.Resource), len(d.Why), len(d.Source), len(d.Fix)) > maxReason/controlSize {
			return true
		}
	}
	return len(list) > maxDecisions
}

// controlSize is how many bytes a control character counts for: as JSON it has six, any
// other character at most two for each of its own.
const controlSize = 3

// clipText makes s valid UTF-8 of at most n bytes, cutting between code points
// and saying how long it was. It looks at no more than n bytes.
func clipText[T ~string](whole T, n int) T {
	s := string(whole)
	if len(s) <= n {
		// A replacement is longer than what it replaces.
		s = strings.ToValidUTF8(s, "\uFFFD")
		if len(s) <= n && (len(s) <= n/controlSize || fitLength(s, n) == len(s)) {
			return T(s)
		}
	}
	mark := " " + markCut(len(s), "bytes")
	// "?" is no longer than what it replaces.
	kept := strings.ToValidUTF8(text.FirstBytes(s, max(n-len(mark), 0)), "?")
	return T(text.FirstBytes(kept, fitLength(kept, n-len(mark))) + mark)
}

// markCut returns what stands where something was left out.
func markCut(total int, of string) string {
	return "[cut -- " + strconv.Itoa(total) + " " + of + " total]"
}

// fitLength returns how many bytes of s count for at most n.
func fitLength(s string, n int) int {
	for i := range len(s) {
		if n--; s[i] < ' ' && s[i] != '\n' && s[i] != '\r' && s[i] != '\t' {
			n -= controlSize - 1
		}
		if n < 0 {
			return i
		}
	}
	return len(s)
}
