package action

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/heartbeat"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/schema"
)

const (
	// maxPrinted bounds what a program may print: as much as the process
	// accessor keeps by default.
	maxPrinted = 1 << 20
	// stderrChars is how much of the end of standard error a failure shows.
	stderrChars = 2000
)

// Exec runs a program, which reads {"params":…,"context":…} on standard input
// and answers one JSON value on standard output. Its arguments and environment
// are those of the definition: nothing of a call is in them. Where a database is
// declared, standard input is a socket with that value as its first line, and the
// program asks the connections behind it. Exactly one of Command and Path is set.
type Exec struct {
	// Command is a binary with its arguments: a name that the fixed search
	// path finds, or the absolute path of a file.
	Command []string
	// Path is the absolute path of a file that the interpreter of its ending
	// runs: node for .js, .mjs and .cjs, python3 for .py, sh for .sh; without
	// an ending it runs by itself.
	Path string
	// Env maps variables to texts, or to {secret:ref} and nothing else: the
	// program then sees a stand-in, and the secret takes its place in requests
	// to the granted hosts.
	Env map[string]string
	// SecretPrefixes lists the texts behind which a stand-in may stand in these
	// requests; see [sallyport.ChildSecret].
	SecretPrefixes []string
}

type compiledExec struct {
	argv []string
	// file is what the definition names as what runs; nil when it names a
	// binary of the search path.
	file *pinnedFile
	// files is what must not change: that file, and scripts among the arguments.
	files   []*pinnedFile
	env     map[string]string
	secrets []sallyport.ChildSecret // without hosts
	name    string
	price   price
	// databases is what is declared; nil when the program asks none.
	databases []inputDatabase
}

func (b *toolBuilder) compileExec(t *sallyport.Tool, cost price) {
	e, at := b.d.Handler.Exec, "/handler/exec"
	if (len(e.Command) == 0) == (e.Path == "") {
		b.addFault(at, "expected exactly one of command and path")
		return
	}
	p := &compiledExec{argv: slices.Clone(e.Command), price: cost}
	if e.Path != "" {
		at, p.argv = at+"/path", b.interpreterFor(at+"/path", e.Path)
	} else {
		at += "/command"
	}
	if len(p.argv) == 0 {
		return
	}
	if path := cmp.Or(e.Path, p.argv[0]); filepath.IsAbs(path) {
		p.file = pinFile(path)
		// What is started is what was looked at.
		p.argv[slices.Index(p.argv, path)] = p.file.path
		p.files = append(p.files, p.file)
	}
	p.pinScripts()
	var programs []string
	for _, f := range p.files {
		programs = append(programs, f.path)
	}
	t.Revision = revisionOf(e, p.files...)
	if _, err := reach.ParseBinary(p.argv[0]); err != nil || p.argv[0] == string(reach.AnyBinary) {
		b.addFault(at, "the binary is neither a name nor a clean absolute path")
	}
	p.name, p.databases = programName(p), databasesOf(b.d.Capabilities.Database)
	b.compileEnvironment(p, e.Env)
	b.declareImplied(t, p.argv[0], programs)
	t.Touches = []sallyport.Touch{{Capability: "process", Item: p.argv[0]}}
	for _, s := range p.secrets {
		t.Touches = append(t.Touches, sallyport.Touch{Capability: "secrets", Item: s.Ref})
	}
	for _, d := range p.databases {
		t.Touches = append(t.Touches, sallyport.Touch{Capability: "database", Item: d.Name})
	}
	if t.ReadOnly {
		b.addFault("/readOnly", "contradicts a program: the gate cannot hold it to that")
	}
	t.Run = p.runProgram
}

// pinScripts pins the arguments that are scripts: what an interpreter runs is
// what was checked, like the handler's own file.
func (p *compiledExec) pinScripts() {
	for i, arg := range p.argv[1:] {
		if !filepath.IsAbs(arg) || !digest.IsScript(arg) || slices.ContainsFunc(p.files, func(f *pinnedFile) bool { return f.path == arg }) {
			continue
		}
		f := pinFile(arg)
		p.argv[i+1] = f.path
		p.files = append(p.files, f)
	}
}

// programName returns the name by which a caller knows the program: its binary,
// and the handler's file where that is another one. The arguments are the
// operator's.
func programName(p *compiledExec) string {
	name := filepath.Base(p.argv[0])
	if p.file != nil && p.file.path != p.argv[0] {
		name += " " + filepath.Base(p.file.path)
	}
	return name
}

func (b *toolBuilder) interpreterFor(at, path string) []string {
	switch ending := filepath.Ext(path); ending {
	case "":
		return []string{path}
	case ".js", ".mjs", ".cjs":
		return []string{"node", path}
	case ".py":
		return []string{"python3", path}
	case ".sh":
		return []string{"sh", path}
	default:
		b.addFault(at, "no interpreter is known for %s: expected .js, .py, .sh or no ending, or a command", ending)
		return nil
	}
}

// declareImplied declares what the handler needs by itself: its binary and its
// file.
func (b *toolBuilder) declareImplied(t *sallyport.Tool, binary string, programs []string) {
	p := sallyport.ProcessCapability{}
	if declared := t.Capabilities.Process; declared != nil {
		p = *declared
		p.AllowedBinaries = slices.Clone(p.AllowedBinaries)
	}
	if !slices.Contains(p.AllowedBinaries, binary) {
		p.AllowedBinaries = append(p.AllowedBinaries, binary)
	}
	p.Programs = programs
	t.Capabilities.Process = &p
}

func (b *toolBuilder) compileEnvironment(p *compiledExec, env map[string]string) {
	p.env = map[string]string{}
	for _, name := range sortedKeys(env) {
		at := definition.Below("/handler/exec/env", name)
		t, err := parseTemplate(env[name])
		switch text, fixed := t.literalText(); {
		case err != nil:
			b.addFault(at, "%v", err)
		case !reach.IsEnvName(name):
			b.addFault(at, "not the name of a variable")
		case fixed && !strings.Contains(text, "\x00"):
			p.env[name] = text
		case len(t) == 1 && t[0].secret != "":
			b.checkSecret(at, t[0].secret)
			p.secrets = append(p.secrets, sallyport.ChildSecret{Env: name, Ref: t[0].secret, Prefixes: b.d.Handler.Exec.SecretPrefixes})
		default:
			b.addFault(at, "expected a text without placeholders, or {secret:…} alone: arguments come on standard input")
		}
	}
	if err := reach.CheckPrefixes(b.d.Handler.Exec.SecretPrefixes); err != nil {
		b.addFault("/handler/exec/secret_prefixes", "%v", err)
	}
	if len(p.secrets) > 0 && b.d.Capabilities.Network == nil {
		b.addFault("/handler/exec/env", "a secret without capabilities.network: its value goes to the granted hosts and nowhere else")
	}
}

type programInput struct {
	Params  json.RawMessage `json:"params"`
	Context inputContext    `json:"context"`
}

type inputContext struct {
	CallID      string `json:"callId"`
	Session     string `json:"session"`
	Personality string `json:"personality"`
	Principal   string `json:"principal"`
	Workspace   string `json:"workspace"`
	// Databases is the connections that the program may ask, none without a
	// declaration.
	Databases []inputDatabase `json:"databases,omitempty"`
	// User is who calls, with what they may do.
	User inputUser `json:"user"`
	// Turn says what the client knows of the turn.
	Turn inputTurn `json:"turn"`
}

type inputUser struct {
	Name        string   `json:"name"`
	Permissions []string `json:"permissions"`
	Person      bool     `json:"person"`
}

type inputTurn struct {
	Turn        int    `json:"turn,omitempty"`
	Messages    int    `json:"messages,omitempty"`
	Agent       string `json:"agent,omitempty"`
	Team        string `json:"team,omitempty"`
	MemoryScope string `json:"memory_scope,omitempty"`
}

// newContext describes a call to its program.
func newContext(c *sallyport.Call) inputContext {
	p := &c.Principal
	return inputContext{
		CallID: c.ID, Session: c.Session, Personality: c.Personality, Principal: p.Name, Workspace: c.Workspace,
		User: inputUser{Name: p.Name, Permissions: append([]string{}, p.Permissions...), Person: p.Person},
		Turn: inputTurn{Turn: c.Turn, Messages: c.Messages, Agent: c.Agent, Team: c.Team, MemoryScope: c.MemoryScope},
	}
}

func (p *compiledExec) runProgram(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	for _, f := range p.files {
		if err := f.checkUnchanged(); err != nil {
			return sallyport.Result{}, p.newFailure(err.Error())
		}
	}
	params := c.Args
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	about := newContext(c)
	about.Databases = p.databases
	stdin, err := definition.Compact(programInput{params, about})
	if err != nil {
		return sallyport.Result{}, sallyport.InputInvalid("the arguments are not JSON")
	}
	o := &sallyport.SpawnOptions{Stdin: stdin, Env: p.env, Secrets: p.standIns(c), MaxOutput: maxPrinted}
	if len(p.databases) > 0 {
		queries, serve := serveQueries(ctx, c)
		defer queries.end()
		// The line is the beginning of a conversation.
		o.Stdin, o.Channel = append(o.Stdin, '\n'), serve
	}
	c.Emit(sallyport.Progress{Message: "running " + p.name})
	defer heartbeat.Start(c, "running "+p.name, nil)()
	res, err := c.Process.Spawn(ctx, p.argv[0], p.argv[1:], o)
	if err != nil {
		return sallyport.Result{}, err
	}
	return p.parseOutput(&res)
}

// standIns gives each secret the hosts of the grant.
func (p *compiledExec) standIns(c *sallyport.Call) []sallyport.ChildSecret {
	list := slices.Clone(p.secrets)
	for i := range list {
		list[i].Hosts = c.NetworkPolicy.Allow
	}
	return list
}

func (p *compiledExec) newFailure(what string) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: p.name, Operation: "run", Detail: p.name + ": " + what,
	}
}

func (p *compiledExec) parseOutput(res *sallyport.ProcessResult) (sallyport.Result, error) {
	if res.ExitCode != 0 || res.TimedOut {
		text := fmt.Sprintf("%s ended with exit code %d", p.name, res.ExitCode)
		if said := cutTail(res.Stderr); said != "" {
			text += "\n\n" + said
		}
		r := sallyport.Err(text, sallyport.CodeExecutionFailed)
		r.Source = "cmd:" + p.name
		return r, nil
	}
	if res.Dropped > 0 && len(res.Stdout) >= maxPrinted {
		return sallyport.Result{}, p.newFailure(fmt.Sprintf("printed more than %d bytes", maxPrinted))
	}
	if len(strings.TrimSpace(string(res.Stdout))) == 0 {
		return sallyport.Result{}, p.newFailure("printed nothing: expected one JSON value on standard output")
	}
	tree, err := schema.Decode(res.Stdout, &schema.Limits{Depth: maxAnswerDepth, Bytes: maxPrinted})
	if err != nil {
		return sallyport.Result{}, p.newFailure("did not print one JSON value on standard output: " + err.Error())
	}
	r := resultOf(tree, res.Stdout)
	r.Source, r.CostUSD = "cmd:"+p.name, p.price.of(tree)
	return r, nil
}

// cutTail returns the end of a text in code points. It begins with a whole
// line or word, because the cleaner does not recognise half a secret.
func cutTail(text []byte) string {
	s := []rune(strings.TrimSpace(strings.ToValidUTF8(string(text), "\ufffd")))
	if len(s) <= stderrChars {
		return string(s)
	}
	cut := string(s[len(s)-stderrChars:])
	if _, lines, ok := strings.Cut(cut, "\n"); ok {
		return lines
	}
	if i := strings.IndexFunc(cut, isBoundary); i >= 0 {
		cut = cut[i+1:]
	}
	return cut
}
