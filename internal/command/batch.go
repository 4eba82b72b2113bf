package command

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/batch"
)

func batchCommand(env *environment, f *flags) *cobra.Command {
	var r callerFlags
	cmd := &cobra.Command{
		Use:   "batch [FILE|-]",
		Short: "Make many calls as one batch",
		Long: `Make many calls as one batch. The input is JSON Lines {"id","tool","args"}. The
output is JSON Lines {"id","result"} in the same order. The calls run in parallel
and share the result budget. A broken line is answered input_invalid. A repeated
id is refused. The exit code is 1 when any answer is an error.`,
		Example: `  printf '%s\n' '{"id":"1","tool":"read_file","args":{"path":"README.md"}}' | sallyport batch`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withGate(cmd.Context(), env, f, app.OpenForCalls, func(rt *app.Runtime, caller *sallyport.Caller) error {
				in := io.Reader(env.stdin)
				if len(args) == 1 && args[0] != "-" {
					file, err := os.Open(args[0])
					if err != nil {
						return err
					}
					defer file.Close()
					in = file
				}
				lines, err := batch.ReadLines(in)
				if err != nil {
					return err
				}
				requests, places := batch.Requests(lines)
				var called, servers []string
				for i := range requests {
					called, servers = append(called, requests[i].Tool), append(servers, app.ServerOf(requests[i].Tool))
				}
				rt.FindServers(cmd.Context(), caller, servers, app.LeftOf(called...))
				for i := range lines {
					if l := &lines[i]; l.Broken != "" {
						res := rt.InForce().Registry.Reject(cmd.Context(), caller, l.Request, l.Broken)
						l.Result = &res
					}
				}
				stop := rt.FollowChanges(cmd.Context())
				results := rt.InForce().Registry.Batch(cmd.Context(), caller, requests)
				stop()
				for i, place := range places {
					lines[place].Result = &results[i]
				}
				ok, err := batch.WriteAnswers(env.stdout, lines)
				if err != nil {
					return err
				}
				return failUnless(ok)
			})
		},
	}
	r.registerFlags(cmd)
	r.registerDry(cmd)
	return cmd
}
