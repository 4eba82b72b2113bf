package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/provenance"
)

// toolCeiling is what a role says of the arguments of one tool.
type toolCeiling struct {
	once     sync.Once
	list     []*ceiling.Ceiling
	narrowed json.RawMessage // the schema for lists
	closed   string          // the key that permits no call; empty for none
	err      error           // a ceiling cannot be read: no call runs
	text     string          // of all, for digests
}

// ceilingFor returns what the role says of the arguments of a tool.
func (ro *compiledRole) ceilingFor(e *toolEntry, r *Registry) *toolCeiling {
	v, ok := ro.ceilings.Load(e)
	if !ok {
		v, _ = ro.ceilings.LoadOrStore(e, new(toolCeiling))
	}
	tc := v.(*toolCeiling)
	tc.once.Do(func() { tc.compile(ro, e, r.hasSet) })
	return tc
}

func (tc *toolCeiling) compile(ro *compiledRole, e *toolEntry, hasSet func(string) bool) {
	tc.narrowed = e.tool.Schema
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(ro.personality.Arguments)) {
		if !listsTool([]string{key}, &e.tool) {
			continue
		}
		c, err := ceiling.Compile("arguments."+key, ro.personality.Arguments[key], e.declaredTo(key), hasSet)
		if err == nil {
			err = c.BindTo(e.args.Raw())
			c.PlaceIn(e.argumentNames().properties)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if c.IsForbidden() && tc.closed == "" {
			tc.closed = c.Key
		}
		tc.list = append(tc.list, c)
		tc.text += c.Key + " " + c.Text + "\n"
	}
	if tc.err = errors.Join(faults...); tc.err != nil {
		return
	}
	tc.narrowed, tc.err = ceiling.Narrow(e.tool.Schema, tc.list)
}

// declaredTo returns the schema to which a ceiling is held that stands under a key: that
// of the tool which the key names. A key for several tools may name an argument that one
// of them lacks, so that nil says that any is declared.
func (e *toolEntry) declaredTo(key string) json.RawMessage {
	if key != e.tool.Name || e.tool.Form != sallyport.FormTool {
		return nil
	}
	return e.args.Raw()
}

// checkCeiling holds the arguments to what the role says of them. One that holds the
// call has a reason afterwards, which awaitApproval shows to people.
func (c *call) checkCeiling(ctx context.Context) bool {
	ceilings, err := c.ceilings()
	if err != nil {
		return c.refuseUnreadCeiling(err)
	}
	return len(ceilings) == 0 || c.holdTo(ctx, ceilings)
}

// stillWithin holds the arguments of a call that waited to the ceilings once more: what
// the sets hold may have changed. A person has decided about the reasons that were there
// before, and about no other.
func (h *heldCall) stillWithin(ctx context.Context) bool {
	before, amounts := h.above, slices.Clone(h.amounts) // they are judged in the same room
	h.above, h.amounts = flowHold{}, nil
	if !h.checkCeiling(ctx) {
		return false
	}
	now := h.above
	h.above, h.amounts = before, amounts
	if more := before; now.why != "" {
		if more.add(&now); more.keys != before.keys {
			return h.refuseUndecided("what holds the call changed while it waited: " + now.why)
		}
	}
	return true
}

// holdTo judges the arguments by ceilings.
func (c *call) holdTo(ctx context.Context, ceilings []*ceiling.Ceiling) bool {
	c.unread, c.others = nil, nil
	c.lookUpArguments()
	args, room := c.arguments(), &c.room
	c.asks = ceilingAsks{c, ctx}
	for _, one := range ceilings {
		if one.IsForbidden() { // of the task: a tool that the role closes is not visible
			return c.refuse(sallyport.Decision{Step: sallyport.StepVisible, Why: "the session was narrowed to permit no call of it"},
				sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not permitted for this personality")
		}
		j, err := one.Judge(&args, &c.asks, room)
		if err != nil {
			return !c.refuseEnded(ctx, err, sallyport.StepGrant) && c.refuseUnreadCeiling(err)
		}
		for i := range j.Outside {
			if !c.judgeOutside(&j.Outside[i]) {
				return false
			}
		}
		if len(c.amounts) > 0 {
			c.amounts = append(c.amounts, j.Amounts...)
		} else if len(j.Amounts) > 0 {
			c.amounts, room = j.Amounts, nil // it is taken
		}
	}
	return c.checkSums(ctx)
}

// ceilingAsks answers what the ceilings over a call ask.
type ceilingAsks struct {
	*call
	ctx context.Context
}

// KindOf returns what the value at a path of the arguments names.
func (a *ceilingAsks) KindOf(path string) sallyport.ValueKind { return a.kindOf(path) }

// IsKnown reports whether a value is a member of one of the sets.
func (a *ceilingAsks) IsKnown(sets []string, kind sallyport.ValueKind, value string) (bool, error) {
	return a.isKnown(a.ctx, sets, kind, value)
}

// hasCeilings reports whether the role says something of arguments of tools.
func (ro *compiledRole) hasCeilings() bool {
	return ro.personality != nil && len(ro.personality.Arguments) > 0
}

// showsTool reports whether a role offers a tool on every surface that does not exclude
// it. One whose ceilings cannot be told is not offered.
func (r *Registry) showsTool(ro *compiledRole, e *toolEntry) bool {
	if !ro.listsEntry(e) {
		return false
	}
	if !ro.hasCeilings() {
		return true
	}
	tc := ro.ceilingFor(e, r)
	return tc.closed == "" && tc.err == nil
}

// shownSchema returns the schema of a tool as a role leaves it.
func (r *Registry) shownSchema(ro *compiledRole, e *toolEntry) json.RawMessage {
	if !ro.hasCeilings() {
		return e.tool.Schema
	}
	return ro.ceilingFor(e, r).narrowed
}

// mayHoldForCeiling reports whether a ceiling of a role may hold a call of a tool.
func (r *Registry) mayHoldForCeiling(ro *compiledRole, e *toolEntry) bool {
	return ro.hasCeilings() && slices.ContainsFunc(ro.ceilingFor(e, r).list, (*ceiling.Ceiling).MayHold)
}

// ceilingRows returns what a role says of arguments of a tool, with its places.
func (r *Registry) ceilingRows(ro *compiledRole, e *toolEntry) []ceiling.Row {
	if !ro.hasCeilings() {
		return nil
	}
	tc := ro.ceilingFor(e, r)
	rows := ceiling.Rows(e.tool.Schema, tc.narrowed, tc.list)
	for i := range rows {
		rows[i].Source = ro.sourceOf(rows[i].Key)
	}
	return rows
}

// checkOpen refuses a tool that the ceilings of the role close.
func (c *call) checkOpen() bool {
	if !c.role.hasCeilings() {
		return true
	}
	tc := c.role.ceilingFor(c.entry, c.r)
	switch {
	case tc.closed != "":
		return c.refuse(sallyport.Decision{
			Step: sallyport.StepVisible, Why: "the role permits no call of it", Source: c.role.sourceOf(tc.closed),
			Fix: "take " + strings.TrimPrefix(tc.closed, "arguments.") + " off " + c.role.fullKey("arguments"),
		}, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not permitted for this personality")
	case tc.err != nil:
		return c.refuseUnreadCeiling(tc.err)
	}
	return true
}

// ceilings returns those of the role and of the session's task over the tool.
func (c *call) ceilings() (list []*ceiling.Ceiling, err error) {
	if c.limited {
		return c.limits, nil
	}
	if c.role.hasCeilings() {
		tc := c.role.ceilingFor(c.entry, c.r)
		list, err = tc.list, tc.err
	}
	if c.task != nil && err == nil {
		var more []*ceiling.Ceiling
		more, err = c.r.taskCeilings(c.task, c.entry)
		list = append(slices.Clip(list), more...)
	}
	if err != nil {
		return nil, err
	}
	c.limits, c.limited = list, true
	return list, nil
}

// hasSet reports whether the configuration has a set of values of a name.
func (r *Registry) hasSet(name string) bool {
	if r.o.Known == nil {
		return false
	}
	_, ok := r.o.Known.Kind(name)
	return ok
}

// judgeOutside refuses the call for an argument that is outside, or says why it is held.
func (c *call) judgeOutside(o *ceiling.Outside) bool {
	said := saidOutside(o)
	unread := c.nameUnread(o)
	if o.Action == ceiling.Hold {
		c.above.add(holdOutside(o))
		return true
	}
	return c.refuse(sallyport.Decision{
		Step: sallyport.StepGrant, Capability: "arguments", Resource: o.Pointer, Why: said + ": " + o.Why,
		Source: c.ceilingSource(o.Key), Fix: cmp.Or(unread, c.ceilingFix(o)),
	}, sallyport.CodePermissionDenied, "Argument "+o.Pointer+" of "+c.q.Tool+" is outside the role's ceiling")
}

// nameUnread says of a value that is no member when a set counts as empty because its
// query cannot be read, and returns the command that tries it. The value may be a member,
// so that no set is to grow by it.
func (c *call) nameUnread(o *ceiling.Outside) (fix string) {
	for _, set := range o.Sets {
		if err := c.unread[set]; err != nil {
			o.Why += "; " + err.Error()
			fix = c.r.o.CommandLine("known ls " + set)
		}
	}
	if fix != "" {
		o.Sets = nil
	}
	return fix
}

func saidOutside(o *ceiling.Outside) string {
	if isOfTask(o.Key) {
		return "argument " + o.Pointer + " is outside what the session was narrowed to"
	}
	return "argument " + o.Pointer + " is outside the role's ceiling"
}

// holdOutside says why an argument that is outside holds the call. A yes is about that
// argument and that value: another one that is outside later is another reason.
func holdOutside(o *ceiling.Outside) *flowHold {
	said := saidOutside(o)
	h := &flowHold{why: said + ": " + o.Why, because: " because " + said, key: o.Key, keys: o.Key + o.Word}
	if o.Word != ceiling.WordSum {
		h.keys += " " + digest.Text(o.Pointer+"\x00"+o.Value)
	}
	if len(o.Sets) > 0 && o.Value != "" && !isOfTask(o.Key) {
		h.unknown = map[string][]string{o.Value: o.Sets}
	}
	return h
}

// ceilingSource is where a ceiling stands; empty for that of a task.
func (c *call) ceilingSource(key string) string {
	if isOfTask(key) {
		return ""
	}
	return c.role.sourceOf(key)
}

// ceilingFix is the smallest change that would let an argument pass.
func (c *call) ceilingFix(o *ceiling.Outside) string {
	switch {
	case isOfTask(o.Key):
		return ""
	case len(o.Sets) > 0:
		return fmt.Sprintf("add the value to known.%s, or change personalities.%s.%s", o.Sets[0], c.role.name(), o.Key)
	}
	return "change personalities." + c.role.name() + "." + o.Key
}

func (c *call) refuseUnreadCeiling(err error) bool {
	c.logFault("ceiling over arguments", err)
	key := "arguments"
	if faults, ok := errors.AsType[ceiling.Faults](err); ok {
		key = faults[0].Key
	}
	d := sallyport.Decision{
		Step: sallyport.StepGrant, Capability: "arguments", Why: "the ceiling over arguments cannot be told: " + err.Error(), Source: c.ceilingSource(key),
	}
	if isOfTask(key) {
		d.Fix = c.adviseOnTask(key)
	}
	return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
}

// isKnown reports whether a value is a member of one of the sets, or the person's own.
//
// Values are compared in a form in which unseen characters do not count. The tool gets the
// value as it is, so that one which is not what it looks like is no member.
func (c *call) isKnown(ctx context.Context, sets []string, kind sallyport.ValueKind, value string) (bool, error) {
	if !provenance.IsPlain(value) {
		return false, nil
	}
	for _, set := range sets {
		if c.r.o.Known == nil {
			return false, nil
		}
		switch ok, err := c.r.o.Known.Has(ctx, set, value); {
		case errors.Is(err, known.ErrUnread):
			c.noteUnread(set, err)
		case ok || err != nil:
			return ok, err
		}
		if of, ok := c.r.o.Known.Kind(set); ok && kind == "" {
			kind = of
		}
	}
	return c.saidByPerson(ctx, kind, provenance.Exact(kind, value))
}

func (c *call) noteUnread(set string, err error) {
	if c.unread == nil {
		c.unread = map[string]error{}
	}
	c.unread[set] = err
}

// ownsValue reports whether a piece of a value is the operator's or the person's own.
func (c *call) ownsValue(ctx context.Context, kind sallyport.ValueKind, exact string) (bool, error) {
	if said, err := c.saidByPerson(ctx, kind, exact); said || err != nil {
		return said, err
	}
	if c.r.o.Known == nil {
		return false, nil
	}
	return c.r.o.Known.Holds(ctx, kind, exact)
}

// rulesUntrusted reports whether a ceiling over the tool says what becomes of values that
// came out of untrusted content.
func (c *call) rulesUntrusted() bool {
	ceilings, err := c.ceilings()
	return err != nil || slices.ContainsFunc(ceilings, (*ceiling.Ceiling).RulesUntrusted)
}

// untrustedAction returns what the ceilings say of a value at a path of arguments that
// came out of untrusted content, and the key that says so; empty when they say nothing.
// A task only narrows: what it allows, other rules still judge.
func (c *call) untrustedAction(path string) (action ceiling.Action, key string) {
	ceilings, err := c.ceilings()
	if err != nil {
		return ceiling.Refuse, "arguments"
	}
	for _, one := range ceilings {
		switch a, k := one.Untrusted(path); {
		case a == ceiling.Refuse:
			return a, k
		case a == ceiling.Allow && isOfTask(k):
		case a == ceiling.Hold, action == "":
			action, key = a, k
		}
	}
	return action, key
}
