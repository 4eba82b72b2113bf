package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/task"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/turn"
)

// maxStdin bounds the arguments on standard input, in bytes. The gate's own
// bound on arguments is 8 MiB.
const maxStdin = 9 << 20

// callerFlags holds the flags that name the caller and its role.
type callerFlags struct {
	personality, principal, session, task string

	dryRun bool
	said   turn.Context
}

func (r *callerFlags) registerFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.personality, "personality", "", "the `ROLE` of the caller (default: the only role, or the one named default)")
	cmd.Flags().StringVar(&r.principal, "principal", "", "the `NAME` of the caller (default: local)")
	cmd.Flags().StringVar(&r.session, "session", "", "the `ID` of the conversation (default: a new one)")
}

// registerDry adds the flags of a command that makes calls.
func (r *callerFlags) registerDry(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.task, "task", "", "narrow the session to a `TASK`: {\"words\":…,\"tools\":[…],\"arguments\":{…}}")
	cmd.Flags().IntVar(&r.said.Turn, "turn", 0, "the `NUMBER` of the turn in the session, from 1 (default: unknown)")
	cmd.Flags().IntVar(&r.said.Messages, "messages", 0, "the `NUMBER` of messages in the session so far (default: unknown)")
	cmd.Flags().StringVar(&r.said.Agent, "agent", "", "the `ID` of the agent, for tools and the record")
	cmd.Flags().StringVar(&r.said.Team, "team", "", "the `ID` of the agent's team, for tools and the record")
	cmd.Flags().StringVar(&r.said.MemoryScope, "memory-scope", "", "the `ID` of a part of the role's memory")
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "describe the call, do not make it")
}

// callCommand returns the start of a command that calls a tool as this caller, with these
// configuration files.
func (r *callerFlags) callCommand(env *environment, f *flags) string {
	command := env.ProgramName() + " call"
	if r.personality != "" {
		command += text.RepeatFlag("personality", []string{r.personality})
	}
	if r.principal != "" {
		command += text.RepeatFlag("principal", []string{r.principal})
	}
	return command + text.RepeatFlag("config", f.config)
}

// withGate opens a gate, creates the caller, runs do, and closes the gate.
func (r *callerFlags) withGate(ctx context.Context, env *environment, f *flags, open opener, do func(rt *app.Runtime, caller *sallyport.Caller) error) error {
	return withRuntime(ctx, env, f, open, func(rt *app.Runtime) error {
		caller, err := rt.NewCaller(ctx, r.personality, r.principal, r.session)
		if err != nil {
			return err
		}
		if err := r.said.Check(); err != nil {
			return fmt.Errorf("--%s", strings.ReplaceAll(err.Error(), "_", "-"))
		}
		r.said.Fill(caller)
		caller.DryRun = r.dryRun
		if r.task != "" {
			if caller.Task, err = task.Decode([]byte(r.task)); err != nil {
				return fmt.Errorf("--task: %w", err)
			}
		}
		return do(rt, caller)
	})
}

func callCommand(env *environment, f *flags) *cobra.Command {
	var r callerFlags
	var attach []string
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON|-]",
		Short: "Make one call through the gate",
		Long: `Make one call through the gate. The arguments are a JSON object; "-" reads it
from standard input. The value, or the error text, goes to standard output. Below
the value stand the other texts of the result, and a line for each picture,
sound, file or link; --json prints these whole. The exit code is 1 when the
answer is an error.

Call a prompt as prompt:NAME, and a resource as resource:NAME with its uri.`,
		Example: `  sallyport call read_file '{"path":"README.md"}'
  echo '{"pattern":"TODO"}' | sallyport call search_files - --json
  sallyport call resource:mcp__docs__resources '{"uri":"docs:///index.md"}'
  sallyport call write_file '{"path":"a.txt","content":"hello"}' --dry-run`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withGate(cmd.Context(), env, f, app.OpenForCalls, func(rt *app.Runtime, caller *sallyport.Caller) error {
				caller.Progress = env.showProgress
				for _, path := range attach {
					a, err := rt.Uploads.AddFile(path)
					if err != nil {
						return err
					}
					caller.Attachments = append(caller.Attachments, a)
				}
				given, err := readArguments(env, args[1:])
				if err != nil {
					return err
				}
				rt.FindServers(cmd.Context(), caller, rt.InForce().ServersFor(args[0]), app.LeftOf(args[0]))
				defer rt.FollowChanges(cmd.Context())()
				return printResult(env.newPrinter(f), rt.InForce().Registry.Call(cmd.Context(), caller, sallyport.Request{Tool: args[0], Args: given}))
			})
		},
	}
	r.registerFlags(cmd)
	r.registerDry(cmd)
	cmd.Flags().StringArrayVar(&attach, "attach", nil, "attach a `FILE` to the call; may be repeated")
	return cmd
}

// showProgress shows the progress that a tool reports to its user.
func (e *environment) showProgress(p sallyport.Progress) {
	if p.VisibleTo() == sallyport.AudienceUser {
		fmt.Fprintf(e.Stderr, "%s: %s\n", p.Tool, p.Message)
	}
}

// readArguments returns the arguments of a call as JSON text. The command line
// gives none, the text itself, or "-" for standard input.
func readArguments(env *environment, args []string) ([]byte, error) {
	if len(args) == 0 {
		return nil, nil
	}
	if args[0] != "-" {
		return []byte(args[0]), nil
	}
	text, err := io.ReadAll(io.LimitReader(env.stdin, maxStdin))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return text, nil
}

// printResult prints a result. It returns an error when the call failed.
func printResult(p *report.Printer, res sallyport.Result) error {
	switch {
	case p.JSON:
		if err := p.PrintJSON(res); err != nil {
			return err
		}
	case !res.OK:
		p.PrintLine("%s", text.AddCallID(res.Error, res.CallID))
		p.PrintParts(res.Parts)
	default:
		if res.Value != "" || len(res.Parts) == 0 {
			p.PrintLine("%s", res.Value)
		}
		p.PrintParts(res.Parts)
	}
	return failUnless(res.OK)
}
