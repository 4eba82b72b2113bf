package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/text"
)

// Fault is one thing wrong with a tool, or with a tool under a personality.
type Fault struct {
	// Tool is the tool's name.
	Tool string `json:"tool"`
	// Personality is the role under which it does not fit; empty for a
	// fault of the declaration itself.
	Personality string `json:"personality,omitempty"`
	// Capability names the group, such as network or fs_reach.read; empty
	// for a fault outside the capabilities.
	Capability string `json:"capability,omitempty"`
	// Message says what is wrong and what was expected.
	Message string `json:"message"`
	// Source is the rule's place as file:line:column; it may be empty.
	Source string `json:"source,omitempty"`
	// Fix is the smallest change that would make it fit; it may be empty.
	Fix string `json:"fix,omitempty"`
	// Linked says that what is on the disk, such as a symbolic link, keeps from
	// being used what is granted. Agents may have made it, so that it must not
	// stop a start.
	Linked bool `json:"linked,omitempty"`
}

// String returns "tool (personality): capability: message".
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Tool)
	if f.Personality != "" {
		fmt.Fprintf(&b, " (%s)", f.Personality)
	}
	if f.Capability != "" {
		fmt.Fprintf(&b, ": %s", f.Capability)
	}
	fmt.Fprintf(&b, ": %s", f.Message)
	return b.String()
}

// Faults is every fault found, as one error.
type Faults []Fault

// Error lists the faults, a line each.
func (f Faults) Error() string {
	return text.JoinLines(f, Fault.String)
}

// name is the set of tool names that every model API accepts.
var toolName = text.Pattern(`^[a-zA-Z0-9_-]{1,64}$`)

// compileTool checks a declaration and computes what calls need. The entry is
// valid only without faults.
func (r *Registry) compileTool(t *sallyport.Tool) (*toolEntry, Faults) {
	own := cloneTool(t)
	t = &own
	c := declarationChecker{tool: t}
	c.checkIdentity()
	args, reads := c.checkForm(), c.compileResources()
	c.checkGroups()
	c.checkTouches()
	e := &toolEntry{tool: *t, id: t.ID(), reads: reads, missing: group.Unwired(&t.Capabilities, &r.backends)}
	if t.RateLimit != nil && r.o.Limiter == nil {
		e.missing = append(e.missing, "rateLimit")
	}
	var err error
	if e.args, err = r.schemas.Compile(args); err != nil {
		c.addFault("", "schema: %v", err)
	}
	if t.Returns != nil {
		if e.returns, err = r.schemas.CompileAny(t.Returns); err != nil {
			c.addFault("", "returns: %v", err)
		}
	}
	e.definition = definitionDigest(t)
	// The compiled schema holds the text already: a hundred thousand tools
	// over a hundred schemas keep a hundred texts.
	if e.args != nil && t.Schema != nil {
		e.tool.Schema = e.args.Raw()
	}
	if e.returns != nil {
		e.tool.Returns = e.returns.Raw()
	}
	return e, c.faults
}

// declarationChecker collects the faults of one declaration.
type declarationChecker struct {
	tool   *sallyport.Tool
	faults Faults
}

func (c *declarationChecker) addFault(capability, format string, args ...any) {
	c.faults = append(c.faults, Fault{
		Tool: c.tool.ID(), Capability: capability, Message: fmt.Sprintf(format, args...),
	})
}

func (c *declarationChecker) checkIdentity() {
	t := c.tool
	if !toolName().MatchString(t.Name) {
		c.addFault("", "the name does not match [a-zA-Z0-9_-]{1,64}")
	}
	if strings.HasPrefix(t.Name, "mcp__") && (t.Server() == "" || t.Name == "mcp__"+t.Server()+"__") {
		c.addFault("", "a name that begins with mcp__ has the form mcp__<server>__<tool>")
	}
	if t.Run == nil {
		c.addFault("", "Run is nil")
	}
	if t.MaxResultChars < 0 {
		c.addFault("", "MaxResultChars is negative")
	}
	c.checkPrice()
	if t.Timeout < 0 {
		c.addFault("", "Timeout is negative")
	}
	if t.Cache != nil && t.Cache.TTL < 0 {
		c.addFault("", "Cache.TTL is negative")
	}
	if t.RateLimit != nil {
		c.checkRateLimit(*t.RateLimit)
	}
	if !t.Tasks.Valid() || t.Tasks != sallyport.TaskNever && t.Form != sallyport.FormTool {
		c.addFault("", "Tasks %q: expected optional or required, of a tool only", t.Tasks)
	}
	for _, p := range t.Permissions {
		if p == "" || strings.ContainsAny(p, " \t\n,") {
			c.addFault("", "permission %q: expected a word such as http:read", p)
		}
	}
}

func (c *declarationChecker) checkGroups() {
	for _, g := range group.All() {
		if g.Named(&c.tool.Capabilities) {
			g.Check(&c.tool.Capabilities, c.addFault)
		}
	}
	if c.tool.ReadOnly && group.AsksToChange(&c.tool.Capabilities) {
		c.addFault("", "ReadOnly contradicts a declaration of writes, processes or mail")
	}
	// What a person answers is no argument, so that a kept result would be that
	// of another answer.
	if len(c.tool.Capabilities.Input) > 0 && c.tool.Cache != nil {
		c.addFault("input", "a tool that asks cannot have its results kept: leave Cache or input out")
	}
}

// checkTouches checks what the tool says that it reaches for against what it
// declares.
func (c *declarationChecker) checkTouches() {
	for _, t := range c.tool.Touches {
		r, known := group.FindReach(t.Capability)
		switch {
		case !known || !r.Probed:
			c.addFault("", "Touches %q: expected one of %s", t.Capability, strings.Join(group.Probed(), ", "))
		case !group.Names(&c.tool.Capabilities, t.Capability):
			c.addFault(t.Capability, "Touches names it and the capabilities do not declare it")
		case (t.Argument == "") == (t.Item == ""):
			c.addFault(t.Capability, "Touches: expected exactly one of Argument and Item")
		}
	}
}

// definitionDigest identifies what a reviewer read: everything of the tool
// but its code.
func definitionDigest(t *sallyport.Tool) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	// Encoding into a hash of plain strings, numbers and raw JSON that
	// compiled cannot fail; a broken schema is a fault of its own.
	list := []any{
		t.Name, t.Title, t.Description, t.Toolset, t.Plugin, string(t.Schema), string(t.Returns),
		t.Capabilities, t.Permissions, t.RateLimit, t.MaxResultChars, t.Timeout,
		t.ReadOnly, t.Idempotent, t.AlwaysInclude, t.OutputIsUntrusted, t.Cache, t.Revision,
	}
	if t.Form != sallyport.FormTool { // the digests of tools are older than forms
		list = append(list, t.Form, t.Resources)
	}
	if t.SaysReadOnly { // and so are they than this
		list = append(list, "says read only")
	}
	if t.Tasks != sallyport.TaskNever { // and this
		list = append(list, "tasks", t.Tasks)
	}
	if t.ListedAs != "" { // and this
		list = append(list, "listed as", t.ListedAs)
	}
	if t.MaxCostUSD != 0 { // and this
		list = append(list, "price", t.MaxCostUSD)
	}
	if t.Does != nil || t.Destinations != nil { // and this
		list = append(list, "effects", t.Does, t.Destinations)
	}
	_ = enc.Encode(list)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
