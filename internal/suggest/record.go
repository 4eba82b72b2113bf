package suggest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/schema"
)

// The bounds of what is remembered. What is more is not narrowed, which a remark says.
const (
	// maxItems bounds the different items of one list for one tool.
	maxItems = 1000
	// maxAccesses is from how many decisions of accessors on those of a call may not
	// all be recorded.
	maxAccesses = 50
	// maxItem is the length in bytes from which on the record may hold a part of a name.
	maxItem = 256
)

// Tool is a tool that the role offers today.
type Tool struct {
	sallyport.Tool
	// Grant is what it may touch under the role today.
	Grant *sallyport.Grant
}

// Options is what a record asks beside the calls.
type Options struct {
	// Tools are the tools that the role offers today, by their ids.
	Tools map[string]*Tool
	// SetsOf names the sets that hold a value at the time of the call that is added; nil
	// knows no set.
	SetsOf func(value string) ([]string, error)
	// KindOf returns what the members of a set are; nil with SetsOf.
	KindOf func(set string) sallyport.ValueKind
}

// Call is a call that was allowed, and that the role allows or holds today.
type Call struct {
	// Event is the outcome in the record.
	Event *audit.Event
	// Whole is true when the arguments are known to be recorded whole.
	Whole bool
	// Untrusted is true when untrusted content had been read before.
	Untrusted bool
}

// Record is what the calls of a role used. It is not safe for concurrent use.
type Record struct {
	o     Options
	tools map[string]*usage
	// gone counts the calls of tools that are not known today, by their ids.
	gone map[string]int
}

// usage is what the calls of one tool used.
type usage struct {
	tool  *Tool
	calls int
	// unread counts the calls whose arguments are not known.
	unread int
	// items holds, by the name of a reach, what was touched.
	items map[string]map[string]*touched
	// whole says, by the name of a group, why all of the grant counts as touched.
	whole map[string]string
	// lost counts, by the name of a reach, what the role does not reach today.
	lost   map[string]int
	schema map[string]any
	args   *argPlace
	places int
}

// touched says when an item was touched.
type touched struct{ calls, untrusted int }

// New returns a record without calls.
func New(o *Options) *Record {
	return &Record{o: *o, tools: map[string]*usage{}, gone: map[string]int{}}
}

// Add adds a call. Of a tool that the role does not offer nothing is learnt. An error means that a
// set could not be asked.
func (r *Record) Add(c *Call) error {
	tool := r.o.Tools[string(c.Event.Tool)]
	if tool == nil {
		if id := string(c.Event.Tool); r.gone[id] > 0 || len(r.gone) < maxItems {
			r.gone[id]++
		}
		return nil
	}
	u := r.tools[tool.ID()]
	if u == nil {
		u = newUsage(tool)
		r.tools[tool.ID()] = u
	}
	u.calls++
	u.addTouched(c)
	if !c.Whole {
		u.unread++
		return nil
	}
	args, err := schema.Decode(json.RawMessage(c.Event.Args), nil)
	if err != nil {
		u.unread++
		return nil
	}
	s := sighting{untrusted: c.Untrusted, use: u, setsOf: r.o.SetsOf, decisions: c.Event.Decisions}
	u.args.addValue(args, u.schema, &s, maxDepth)
	return s.err
}

func newUsage(tool *Tool) *usage {
	u := &usage{tool: tool, items: map[string]map[string]*touched{}, whole: map[string]string{}, lost: map[string]int{}, args: &argPlace{}}
	if v, err := schema.Decode(tool.Schema, nil); err == nil {
		u.schema, _ = v.(map[string]any)
	}
	if tool.Server() != "" {
		for _, g := range group.All() {
			u.whole[g.Name] = "what its server touches is not recorded call by call"
		}
	}
	return u
}

// addTouched adds what the accessors of a call let through.
func (u *usage) addTouched(c *Call) {
	e, accesses := c.Event, 0
	if e.Cached {
		u.countWhole("a kept result answered a call, whose accesses are recorded elsewhere")
	}
	for i := range e.Decisions {
		d := &e.Decisions[i]
		if d.Step != sallyport.StepAccess || !d.Allowed {
			continue
		}
		accesses++
		switch {
		case strings.Contains(d.Why, "not listed"), strings.Contains(d.Why, "not complete"), len(d.Resource) >= maxItem:
			u.countWhole("what its calls touched is not recorded whole")
		case group.Within(d.Capability, group.Process) && !strings.HasPrefix(d.Why, "spawn "):
			// What a child ran in turn, and no list of the role bounds.
		default:
			u.addItem(d, c.Untrusted)
		}
	}
	if accesses >= maxAccesses {
		u.countWhole("what its calls touched is not recorded whole")
	}
	u.addChildren(e)
}

// addChildren counts what children may have touched without a word in the record.
func (u *usage) addChildren(e *audit.Event) {
	if u.tool.Capabilities.Process == nil {
		return
	}
	why := "what its child processes open is not recorded one by one"
	u.whole[group.Files] = why
	if u.tool.Toolset == "terminal" || e.Level != sallyport.LevelFull && e.Level != sallyport.LevelStrict {
		u.whole[group.Network] = why
	}
}

// countWhole counts all of the grant as touched.
func (u *usage) countWhole(why string) {
	for _, g := range group.All() {
		if u.whole[g.Name] == "" {
			u.whole[g.Name] = why
		}
	}
}

func (u *usage) addItem(d *sallyport.Decision, untrusted bool) {
	r, ok := group.FindReach(d.Capability)
	if !ok || r.Ceiling.Key == "" || r.Granted == nil {
		return
	}
	if !r.Covers(r.Granted(u.tool.Grant), d.Resource) {
		u.lost[r.Name]++
		return
	}
	items := u.items[r.Name]
	if items == nil {
		items = map[string]*touched{}
		u.items[r.Name] = items
	}
	t := items[d.Resource]
	if t == nil {
		if len(items) == maxItems {
			u.whole[groupOf(r.Name)] = "its calls touched more different things than are compared"
			return
		}
		t = &touched{}
		items[d.Resource] = t
	}
	t.calls++
	if untrusted {
		t.untrusted++
	}
}

// groupOf returns the group that a reach is of.
func groupOf(reach string) string {
	name, _, _ := strings.Cut(reach, ".")
	return name
}

// needed returns what a tool needs of a reach: what it was seen to touch, or all of its
// grant.
func (u *usage) needed(r *group.Reach) []string {
	if r.Granted == nil {
		return nil
	}
	if u.whole[groupOf(r.Name)] != "" {
		return r.Granted(u.tool.Grant)
	}
	var list []string
	for item := range u.items[r.Name] {
		list = append(list, item)
	}
	slices.Sort(list)
	return list
}
