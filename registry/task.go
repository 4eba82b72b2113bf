package registry

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/provenance"
)

// checkTask narrows the session to the task that the caller hands over, and holds the
// call to what the session was narrowed to.
func (c *call) checkTask(ctx context.Context) bool {
	t, err := c.sessionTask(ctx)
	if own := c.caller.Principal.Task; own != nil && err == nil {
		t = t.With(sallyport.Task{Tools: own.Tools, Arguments: own.Arguments})
	}
	if c.sub != nil && err == nil {
		for _, narrower := range c.sub.Tasks() {
			t = t.With(narrower)
		}
	}
	if err != nil {
		return c.refuseBadTask(err)
	}
	if t == nil {
		return true
	}
	c.task, c.words = t, t.Spoken()
	for i := range t.Tasks {
		if tools := t.Tasks[i].Tools; !permitsTool(&t.Tasks[i], &c.entry.tool) {
			return c.refuse(sallyport.Decision{
				Step: sallyport.StepVisible, Why: "the session was narrowed to other tools: " + strings.Join(tools, ", "),
			}, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not permitted for this personality")
		}
	}
	return true
}

// sessionTask returns the task of the call's session, narrowed further by that of the
// call; nil when it has none.
func (c *call) sessionTask(ctx context.Context) (t *conversation.Task, err error) {
	if c.past != nil {
		return c.past.Task, nil
	}
	asked := c.caller.Task
	var known *conversation.Task
	if c.caller.Session != "" {
		if known, err = c.r.conversations.Task(ctx, c.sessionKey); err != nil {
			return nil, err
		}
	}
	if asked == nil || known.Has(asked) {
		return known, nil
	}
	judge := taskJudge{c.r, c.role, c.caller}
	if bad := judge.checkAsked(known, asked); bad != nil {
		return nil, bad
	}
	if c.sub != nil || c.caller.Session == "" {
		// The session of a sub-agent is the one of its caller, whose words and tasks
		// stand. Nothing ties calls without a session together.
		return known.With(sallyport.Task{Tools: asked.Tools, Arguments: asked.Arguments}), nil
	}
	return c.r.conversations.Narrow(ctx, c.sessionKey, c.id, *asked, func() (bool, string, error) { return c.readNothing(ctx) })
}

// permitsTool reports whether a task lets a tool be used; nil does.
func permitsTool(t *sallyport.Task, tool *sallyport.Tool) bool {
	return t == nil || t.Tools == nil || listsTool(t.Tools, tool)
}

// refuseBadTask refuses a call whose task cannot be told. What the client sent is its own to
// change, and nothing of it was kept.
func (c *call) refuseBadTask(err error) bool {
	d := sallyport.Decision{Step: sallyport.StepVisible, Why: err.Error()}
	bad, ofClient := errors.AsType[*badTask](err)
	switch {
	case ofClient:
		d.Fix = "have the client hand over another task, or none"
		return c.refuse(d, sallyport.CodeInputInvalid, bad.Error())
	case errors.Is(err, conversation.ErrNarrowedTooOften):
		d.Fix = "have the client hand over no further task, or begin another session"
		return c.refuse(d, sallyport.CodeInputInvalid, err.Error())
	}
	c.logFault("task of the session", err)
	d.Why = "the task of the session cannot be told: " + d.Why
	return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
}

// readNothing reports whether the session of the call has read nothing untrusted, and
// which call had brought some into another session of the principal; empty for none.
func (c *call) readNothing(ctx context.Context) (is bool, after string, err error) {
	marks, err := c.r.facts.knownMarks(ctx, c.caller)
	if newest := newestMark(marks, sallyport.FactUntrusted, time.Now()); newest != nil {
		after = newest.CallID
	}
	return !slices.ContainsFunc(marks, func(m sallyport.FactMark) bool {
		return m.Session && m.Fact == sallyport.FactUntrusted && m.Counts(time.Now())
	}), after, err
}

// saidByPerson reports whether the words of the person hold a piece. Words of a session
// that was opened after another one of the principal had read something untrusted may be
// copied from there: what it read is not the person's own.
func (c *call) saidByPerson(ctx context.Context, kind sallyport.ValueKind, exact string) (bool, error) {
	if !c.words.Hold(kind, exact) {
		return false, nil
	}
	if !c.mayBeCopied() {
		return true, nil
	}
	ctx = c.untilEnded(ctx)
	others, err := c.otherReads(ctx)
	if err != nil {
		return false, err
	}
	_, copied, err := others.Find(ctx, kind, exact, nil)
	return !copied && err == nil, err
}

// mayBeCopied reports whether the words of the person came after another session of the
// principal had read something untrusted.
func (c *call) mayBeCopied() bool { return c.task != nil && c.task.After != "" && c.task.Words != "" }

// otherReads returns what other sessions of the principal read. A past call has that from
// its record: where that does not say it, its verdict is not known.
func (c *call) otherReads(ctx context.Context) (*provenance.Reading, error) {
	if c.past == nil {
		err := c.noteCopied(ctx)
		return c.readOfOthers(), err
	}
	copied := new(facts.Carried)
	if c.unsure = c.unsure || c.past.Carried == nil; c.past.Carried != nil {
		copied.Pieces, copied.Unknown = c.past.Carried.Copied, c.past.Carried.Wordless
	}
	past := provenance.Recall(copied)
	return &past, nil
}

// adviseOnTask says how to end a task that fitted when it came, and does no more: the tools
// or the sets of values that it names have changed since.
func (c *call) adviseOnTask(key string) string {
	fix := "begin another session, or have again what its task names: a task of a session is kept, and was right when it came"
	for i, t := range c.task.Tasks {
		for name := range t.Arguments {
			if strings.HasPrefix(key+".", taskPrefix+name+".") && i < len(c.task.Steps) {
				return fix + " with call " + c.task.Steps[i].Call
			}
		}
	}
	return fix
}

// taskPrefix begins the keys of a task's ceilings, which are not the role's.
const taskPrefix = "task.arguments."

// isOfTask reports whether a key is one of a session's task: the client that gave it
// may change it, and no line of a file.
func isOfTask(key string) bool { return strings.HasPrefix(key, taskPrefix) }

// taskCeilings returns the ceilings of a session's tasks over a tool.
func (r *Registry) taskCeilings(t *conversation.Task, e *toolEntry) (list []*ceiling.Ceiling, err error) {
	for i := range t.Tasks {
		for _, key := range slices.Sorted(maps.Keys(t.Tasks[i].Arguments)) {
			if !listsTool([]string{key}, &e.tool) {
				continue
			}
			one, err := r.taskCeiling(e, key, t.Tasks[i].Arguments[key])
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
	}
	return list, nil
}

// maxTaskCeilings bounds the compiled ceilings of tasks that are kept.
const maxTaskCeilings = 1000

// taskCeiling compiles a ceiling of a task. Each call of a session asks for the same one.
func (r *Registry) taskCeiling(e *toolEntry, key string, raw json.RawMessage) (*ceiling.Ceiling, error) {
	k := taskCeilingKey{e, key, string(raw)}
	r.taskMu.Lock()
	one := r.taskKept[k]
	r.taskMu.Unlock()
	if one != nil {
		return one, nil
	}
	one, err := ceiling.Compile(taskPrefix+key, raw, e.declaredTo(key), r.hasSet)
	if err == nil {
		err = one.BindTo(e.args.Raw())
		one.PlaceIn(e.argumentNames().properties)
	}
	if err != nil {
		return nil, err
	}
	r.taskMu.Lock()
	defer r.taskMu.Unlock()
	if r.taskKept == nil || len(r.taskKept) >= maxTaskCeilings {
		r.taskKept = map[taskCeilingKey]*ceiling.Ceiling{}
	}
	r.taskKept[k] = one
	return one, nil
}

// taskCeilingKey is a ceiling of a task over one tool.
type taskCeilingKey struct {
	entry     *toolEntry
	key, text string
}
