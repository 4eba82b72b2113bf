package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
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
	// Linked says that a symbolic link keeps from being used what is granted.
	// Agents may have made it, so that it must not stop a start.
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
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].String()
	}
	return strings.Join(lines, "\n")
}

// name is the set of tool names that every model API accepts.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// compileTool checks a declaration and computes what calls need. The entry is
// valid only without faults.
func (r *Registry) compileTool(t *sallyport.Tool) (*toolEntry, Faults) {
	own := cloneTool(t)
	t = &own
	c := declarationChecker{tool: t}
	c.checkIdentity()
	args, reads := c.checkForm(), c.compileResources()
	c.checkNetwork()
	c.checkSecrets()
	c.checkStorage()
	c.checkFiles()
	c.checkProcess()
	c.checkSmallGroups()
	c.checkInput()
	c.checkTouches()
	e := &toolEntry{tool: *t, id: t.ID(), reads: reads, missing: missingBackends(&t.Capabilities, &r.backends)}
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

// addFault adds a fault of the declaration.
func (c *declarationChecker) addFault(capability, format string, args ...any) {
	c.faults = append(c.faults, Fault{
		Tool: c.tool.ID(), Capability: capability, Message: fmt.Sprintf(format, args...),
	})
}

// checkIdentity checks the names and texts of a tool.
func (c *declarationChecker) checkIdentity() {
	t := c.tool
	if !toolName.MatchString(t.Name) {
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
	if p := &t.Capabilities; t.ReadOnly && (p.Process != nil || p.Mail != nil ||
		p.FSReach != nil && !p.FSReach.Write.IsZero() ||
		p.Database != nil && p.Database.Mode == sallyport.ModeWrite) {
		c.addFault("", "ReadOnly contradicts a declaration of writes, processes or mail")
	}
}

// checkNetwork checks the hosts of a declaration.
func (c *declarationChecker) checkNetwork() {
	n := c.tool.Capabilities.Network
	if n == nil {
		return
	}
	if len(n.AllowedHosts) == 0 {
		c.addFault("network", "allowedHosts is empty: list hosts, or leave network out")
	}
	for _, h := range n.AllowedHosts {
		if _, err := reach.ParseHost(h); err != nil {
			c.addFault("network", "%v", err)
		}
	}
}

// checkSecrets checks the references of a declaration.
func (c *declarationChecker) checkSecrets() {
	for _, ref := range c.tool.Capabilities.Secrets {
		if _, err := reach.ParseRef(ref); err != nil {
			c.addFault("secrets", "%v", err)
		}
	}
}

// checkStorage checks the storage of a declaration.
func (c *declarationChecker) checkStorage() {
	s := c.tool.Capabilities.Storage
	if s == nil {
		return
	}
	if !s.Scope.Valid() {
		c.addFault("storage", "scope %q: expected tool-private, session or personality", s.Scope)
	}
	if s.Kind != "kv" {
		c.addFault("storage", `kind %q: expected "kv"`, s.Kind)
	}
	if most := int64(math.MaxInt64 / time.Second); s.TTLSecondsDefault < 0 || s.TTLSecondsDefault > most {
		c.addFault("storage", "ttlSecondsDefault: expected 0 to %d", most)
	}
}

// checkFiles checks the paths of a declaration.
func (c *declarationChecker) checkFiles() {
	f := c.tool.Capabilities.FSReach
	if f == nil {
		return
	}
	if f.Read.IsZero() && f.Write.IsZero() {
		c.addFault("fs_reach", "neither read nor write is declared")
	}
	c.checkPaths("fs_reach.read", f.Read)
	c.checkPaths("fs_reach.write", f.Write)
	switch f.Mode {
	case "", sallyport.FSDirect:
	case sallyport.FSOverlay:
		c.checkOverlay(f)
	default:
		c.addFault("fs_reach", "mode %q: expected direct or overlay", f.Mode)
	}
}

// checkTouches checks what the tool says that it reaches for against what it
// declares.
func (c *declarationChecker) checkTouches() {
	p := &c.tool.Capabilities
	for _, t := range c.tool.Touches {
		declared, known := map[string]bool{
			"network": p.Network != nil, "process": p.Process != nil, "secrets": p.Secrets != nil, "database": p.Database != nil, "mail": p.Mail != nil,
			"fs_reach.read": p.FSReach != nil, "fs_reach.write": p.FSReach != nil,
		}[t.Capability]
		switch {
		case !known:
			c.addFault("", "Touches %q: expected network, fs_reach.read, fs_reach.write, process, secrets, database or mail", t.Capability)
		case !declared:
			c.addFault(t.Capability, "Touches names it and the capabilities do not declare it")
		case (t.Argument == "") == (t.Item == ""):
			c.addFault(t.Capability, "Touches: expected exactly one of Argument and Item")
		}
	}
}

// checkOverlay checks that the mode fits what has a layer: the writes of
// children. Those of the accessor are single files that are replaced whole,
// and go to the disk.
func (c *declarationChecker) checkOverlay(f *sallyport.FSCapability) {
	if c.tool.Capabilities.Process == nil {
		c.addFault("fs_reach", "mode overlay without process: only what child processes write goes to a layer")
	}
	if f.Write.IsZero() {
		c.addFault("fs_reach", "mode overlay without write: there is nothing to carry over")
	}
}

func (c *declarationChecker) checkPaths(capability string, l sallyport.PathList) {
	if l.FromPersonality && len(l.Paths) > 0 {
		c.addFault(capability, "from-personality and a list exclude each other")
	}
	for _, p := range l.Paths {
		if _, err := reach.Expand(p, anyVariables()); err != nil {
			c.addFault(capability, "%v", err)
		}
	}
}

// anyVariables gives every variable of a declared path some value: at
// registration only their names matter.
func anyVariables() map[string]string {
	return map[string]string{"workspace": "/workspace", "home": "/home", "self": "/self"}
}

// checkProcess checks the programs of a declaration.
func (c *declarationChecker) checkProcess() {
	p := c.tool.Capabilities.Process
	if p == nil {
		return
	}
	if len(p.AllowedBinaries) == 0 {
		c.addFault("process", "allowedBinaries is empty: list binaries, or leave process out")
	}
	for _, b := range p.AllowedBinaries {
		if _, err := reach.ParseBinary(b); err != nil {
			c.addFault("process", "binary %q: %v", b, err)
		}
	}
	for _, path := range p.Programs {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			c.addFault("process", "program %q: expected a clean absolute path", path)
		}
	}
	c.checkPaths("process.execFrom", sallyport.Paths(p.ExecFrom...))
	if f := c.tool.Capabilities.FSReach; len(p.ExecFrom) > 0 && (f == nil || f.Write.IsZero()) {
		c.addFault("process.execFrom", "execFrom without fs_reach.write: it lists write reach that may also be executed")
	}
}

// checkSmallGroups checks the groups that are short.
func (c *declarationChecker) checkSmallGroups() {
	p := &c.tool.Capabilities
	if a := p.Attachments; a != nil {
		if !a.All && len(a.Kinds) == 0 {
			c.addFault("attachments", `kinds is empty: expected "*", image or file`)
		}
		for _, k := range a.Kinds {
			if k != sallyport.KindImage && k != sallyport.KindFile {
				c.addFault("attachments", "kind %q: expected image or file", k)
			}
		}
	}
	if d := p.Database; d != nil {
		if len(d.Connections) == 0 {
			c.addFault("database", "connections is empty")
		}
		for _, name := range d.Connections {
			if name == "" {
				c.addFault("database", "a connection's name is empty")
			}
		}
		switch d.Mode {
		case "", sallyport.ModeRead, sallyport.ModeWrite:
		default:
			c.addFault("database", "mode %q: expected read or write", d.Mode)
		}
	}
	if m := p.Mail; m != nil {
		if len(m.To) == 0 {
			c.addFault("mail", "to is empty: list recipients, or leave mail out")
		}
		for _, to := range m.To {
			if _, err := reach.ParseRecipients([]string{to}); err != nil {
				c.addFault("mail", "%v", err)
			}
		}
	}
}

// checkInput checks whom the tool asks. What somebody answers is no argument,
// so that a kept result would be that of another answer.
func (c *declarationChecker) checkInput() {
	kinds := c.tool.Capabilities.Input
	for i, k := range kinds {
		if !k.Valid() || slices.Contains(kinds[:i], k) {
			c.addFault("input", "kind %q: expected each of person, model and folders at most once", k)
		}
	}
	if len(kinds) > 0 && c.tool.Cache != nil {
		c.addFault("input", "a tool that asks cannot have its results kept: leave Cache or input out")
	}
}

// missingBackends names the declared groups for which nothing is wired.
func missingBackends(c *sallyport.Capabilities, b *sallyport.Backends) []string {
	var missing []string
	need := func(declared, wired bool, group string) {
		if declared && !wired {
			missing = append(missing, group)
		}
	}
	need(c.Network != nil, b.Network != nil, "network")
	need(len(c.Secrets) > 0, b.Secrets != nil, "secrets")
	need(c.Storage != nil, b.KV != nil, "storage")
	need(c.FSReach != nil, b.Files != nil, "fs_reach")
	need(c.Process != nil, b.Process != nil, "process")
	need(c.Attachments != nil, b.Attachments != nil, "attachments")
	need(c.Database != nil, b.Databases != nil, "database")
	need(c.Mail != nil, b.Mail != nil, "mail")
	return missing
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
	_ = enc.Encode(list)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
