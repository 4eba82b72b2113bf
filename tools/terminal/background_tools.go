package terminal

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

const (
	// maxWait bounds how long process_output waits: a client that hears
	// nothing for longer may give up the call.
	maxWait = 30 * time.Second
	// maxLabelChars bounds a label, maxShownCommand a command in a list.
	maxLabelChars   = 80
	maxShownCommand = 200
	// maxIDChars bounds an id in the arguments.
	maxIDChars = 64
)

type startInput struct {
	Command string `json:"command" jsonschema:"Command line for bash, or for sh where bash is missing. Standard input is closed."`
	Cwd     string `json:"cwd,omitempty" jsonschema:"Folder to run it in: absolute, or relative to the workspace. Default: the workspace."`
	Label   string `json:"label,omitempty" jsonschema:"What the process is for, shown by process_list."`
}

func (f *Family) startTool() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "process_start", Title: "Start process", Toolset: toolset,
		Description: "Start a shell command in the background inside the sandbox, such as a server or a watcher. Answers with an id for " +
			"process_output and process_stop. It ends after 30 minutes without a question about it, after 8 hours, and with the " +
			"runtime. At most 8 in a session.",
		Schema: args.Schema[startInput](func(get func(string) args.Property) {
			get("command").Length(1, maxCommandChars)
			get("label").Length(0, maxLabelChars)
		}),
		Capabilities: f.processCapabilities(true, shellNames()...), OutputIsUntrusted: true,
	}, f.startProcess)
}

func (f *Family) startProcess(ctx context.Context, c *sallyport.Call, in startInput) (sallyport.Result, error) {
	if strings.TrimSpace(in.Command) == "" {
		return sallyport.Result{}, sallyport.InputInvalid("the command is empty")
	}
	p, err := f.table.reserveSlot(c.Principal.Name, c.SessionKey, in.Label, in.Command)
	if err != nil {
		return sallyport.Result{}, err
	}
	o := &sallyport.SpawnOptions{Dir: in.Cwd, Env: childEnvironment(), Timeout: maxLife, Output: p.out}
	err = f.table.startChild(p, func() (sallyport.Child, error) {
		return startFirstOf(shellNames(), func(shell string) (sallyport.Child, error) {
			return c.Process.Start(ctx, shell, shellArgs(in.Command), o)
		})
	})
	if err != nil {
		return sallyport.Result{}, err
	}
	r := sallyport.OK("started " + p.id + "; read its output with process_output")
	r.Source = "cmd:" + in.Command
	r.Structured = map[string]any{"id": p.id}
	return r, nil
}

type outputInput struct {
	ID     string `json:"id" jsonschema:"Id from process_start."`
	Offset *int64 `json:"offset,omitempty" jsonschema:"First byte of the output to show; a negative one counts from the end. Default: what was not shown yet."`
	Wait   int    `json:"wait_seconds,omitempty" jsonschema:"Seconds to wait for output while there is none. Default 0."`
}

// outputTool declares process_output. It looks at what was started and
// touches nothing itself.
func (f *Family) outputTool() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "process_output", Title: "Process output", Toolset: toolset,
		Description: "Show how a background process is and its output, standard error included. The last MiB is kept. Without offset " +
			"it continues where the last call ended.",
		Schema: args.Schema[outputInput](func(get func(string) args.Property) {
			get("id").Length(1, maxIDChars)
			get("offset").Type("integer")
			get("wait_seconds").Between(0, int(maxWait.Seconds()))
		}),
		MaxResultChars: resultChars, ReadOnly: true, OutputIsUntrusted: true,
	}, f.processOutput)
}

func (f *Family) processOutput(ctx context.Context, c *sallyport.Call, in outputInput) (sallyport.Result, error) {
	p, err := f.table.findOwned(c.SessionKey, in.ID)
	if err != nil {
		return sallyport.Result{}, err
	}
	offset := f.table.startOffset(p, in.Offset)
	text, from, err := f.table.readOutput(ctx, p, offset, timeoutOf(in.Wait, 0))
	if err != nil {
		return sallyport.Result{}, err
	}
	return f.table.newOutputResult(p, offset, from, wholeRunes(text, outputChars(c))), nil
}

// outputChars is how many code points of output a result may have. It is
// never 0, so that each call goes on.
func outputChars(c *sallyport.Call) int {
	return max((&childReport{call: c}).maxChars()-margin, margin)
}

func (t *processTable) startOffset(p *backgroundProcess, asked *int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case asked == nil:
		return p.cursor
	case *asked < 0:
		return max(0, p.out.size()+*asked)
	default:
		return *asked
	}
}

// wholeRunes returns at most n code points and no half of one at the end,
// which the next call would then show without its beginning.
func wholeRunes(p []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(p) && (utf8.FullRune(p[end:]) || len(p)-end >= utf8.UTFMax); n-- {
		_, size := utf8.DecodeRune(p[end:])
		end += size
	}
	if end == 0 {
		return p[:min(len(p), max(n, 0))]
	}
	return p[:end]
}

// newOutputResult makes the result of process_output and process_stop, and moves the
// cursor.
func (t *processTable) newOutputResult(p *backgroundProcess, asked, from int64, text []byte) sallyport.Result {
	next, total := from+int64(len(text)), p.out.size()
	t.mu.Lock()
	p.cursor = next
	t.mu.Unlock()
	s := t.stateOf(p)
	lines := []string{p.id + ": " + s.describe()}
	if from > asked {
		lines = append(lines, fmt.Sprintf("%d bytes before offset %d are not shown", from-asked, from))
	}
	if next < total {
		lines = append(lines, fmt.Sprintf("%d more bytes from offset %d on", total-next, next))
	}
	lines = append(lines, noticeLines(s.result)...)
	body := cmp.Or(cleanText(text), "(no new output)")
	r := sallyport.OK(strings.Join(lines, "\n") + "\n\n" + body)
	r.Source = "cmd:" + p.command
	r.Structured = map[string]any{
		"id": p.id, "running": !s.done, "offset": from, "nextOffset": next, "outputBytes": total,
	}
	if s.done {
		r.Structured["exitCode"] = s.result.ExitCode
		r.Structured["timedOut"] = s.result.TimedOut
		r.Structured["level"] = string(s.result.Level)
		if list := touchedData(s.result.Touched); len(list) > 0 {
			r.Structured["touched"] = list
		}
	}
	return r
}

type stopInput struct {
	ID string `json:"id" jsonschema:"Id from process_start."`
}

// stopTool declares process_stop. The process was granted to process_start;
// ending it needs nothing more.
func (f *Family) stopTool() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "process_stop", Title: "Stop process", Toolset: toolset,
		Description: "End a background process and everything it started. Answers with the output that was not shown yet, which " +
			"process_output still finds afterwards.",
		Schema:         args.Schema[stopInput](func(get func(string) args.Property) { get("id").Length(1, maxIDChars) }),
		MaxResultChars: resultChars, OutputIsUntrusted: true,
	}, f.stopProcess)
}

func (f *Family) stopProcess(_ context.Context, c *sallyport.Call, in stopInput) (sallyport.Result, error) {
	p, err := f.table.findOwned(c.SessionKey, in.ID)
	if err != nil {
		return sallyport.Result{}, err
	}
	f.table.stopChild(p, "process_stop", stopGrace)
	offset, limit := f.table.startOffset(p, nil), outputChars(c)
	// The end says more than the middle.
	text, from, _ := p.out.readSince(max(offset, p.out.size()-int64(limit)), maxTail)
	return f.table.newOutputResult(p, offset, from, wholeRunes(text, limit)), nil
}

type listInput struct{}

func (f *Family) listTool() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "process_list", Title: "List processes", Toolset: toolset,
		Description: "List the background processes of this session: id, how it is, label, command.",
		ReadOnly:    true, OutputIsUntrusted: true,
	}, f.listProcesses)
}

func (f *Family) listProcesses(_ context.Context, c *sallyport.Call, _ listInput) (sallyport.Result, error) {
	var lines []string
	list := []any{}
	for _, p := range f.table.listSession(c.SessionKey) {
		s := f.table.stateOf(p)
		command := text.FirstChars(p.command, maxShownCommand)
		line := p.id + ": " + s.describe()
		if p.label != "" {
			line += " [" + quoteUnprintable(p.label) + "]"
		}
		lines = append(lines, line+": "+quoteUnprintable(command))
		one := map[string]any{
			"id": p.id, "running": !s.done, "label": p.label, "command": command,
			"started": p.timeStarted.UTC().Format(time.RFC3339), "outputBytes": p.out.size(),
		}
		if s.done {
			one["exitCode"] = s.result.ExitCode
		}
		list = append(list, one)
	}
	r := sallyport.OK("no background processes")
	if len(lines) > 0 {
		r.Value = strings.Join(lines, "\n")
	}
	r.Source = "cmd:process_list"
	r.Structured = map[string]any{"processes": list}
	return r, nil
}
