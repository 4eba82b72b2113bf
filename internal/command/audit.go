package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/siem"
	"github.com/sallyport/sallyport/store"
)

func auditCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read, verify, export and prune the record of calls and changes",
		Example: `  sallyport audit tail
  sallyport audit verify --head "$(cat head.txt)"
  sallyport audit export > audit.jsonl`,
		RunE: groupCommand,
	}
	cmd.AddCommand(
		auditTail(env, f), auditShow(env, f), auditHead(env, f), auditAnchor(env, f),
		auditVerify(env, f), auditCosts(env, f), auditExport(env, f), auditPrune(env, f),
	)
	return cmd
}

// auditFilter holds the flags that select records.
type auditFilter struct {
	tool, principal, since string
	denied                 bool
	last                   int
}

func (q *auditFilter) registerFlags(cmd *cobra.Command, last int) {
	cmd.Flags().StringVar(&q.tool, "tool", "", "only records about this `TOOL`")
	cmd.Flags().StringVar(&q.principal, "principal", "", "only records of what `NAME` called or changed")
	cmd.Flags().StringVar(&q.since, "since", "", "only records from this `TIME` on: 2026-01-31, RFC 3339, or an age such as 24h")
	cmd.Flags().BoolVar(&q.denied, "denied", false, "only calls that a step refused")
	cmd.Flags().IntVarP(&q.last, "last", "n", last, "only the newest `N` records; 0 means all")
}

func (q *auditFilter) newQuery(now time.Time) (audit.Query, error) {
	out := audit.Query{Tool: q.tool, Principal: q.principal, Denied: q.denied, Last: q.last}
	if q.last < 0 {
		return out, errors.New("--last: expected 0 or more")
	}
	var err error
	out.Since, err = parseSince(q.since, now)
	return out, err
}

// parseSince is parseTime for a text that may be empty: then it is the zero time.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return parseTime(s, now)
}

// parseTime parses a day, a point in time or an age.
func parseTime(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.Add(-24 * time.Hour * time.Duration(n)), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q: expected a day (2026-01-31), a moment (RFC 3339) or an age (24h, 30d)", s)
}

func auditTail(env *environment, f *flags) *cobra.Command {
	var q auditFilter
	var all, follow bool
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print the newest records",
		Long: `Print the newest records. With -f it goes on with those that come. What the gate
asked MCP servers by itself, and got answered, is left out unless --all is given;
export has every record.`,
		Example: `  sallyport audit tail -n 50 --denied
  sallyport audit tail -f`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, err := q.newQuery(time.Now())
			if err != nil {
				return err
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				p := env.newPrinter(f)
				return rt.Tail(cmd.Context(), query, all, follow, func(e *audit.Event) error { return report.PrintEvent(p, e) })
			})
		},
	}
	q.registerFlags(cmd, 20)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with the records that come")
	cmd.Flags().BoolVar(&all, "all", false, "also print what the gate asked MCP servers by itself")
	return cmd
}

func auditShow(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Print every record of one call or change",
		Example: "  sallyport audit show 06e2k7m9q4c1v8w3x5z0a2b4",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				events, err := eventsOf(cmd.Context(), rt, args[0])
				if err != nil {
					return err
				}
				p := env.newPrinter(f)
				if p.JSON {
					return p.PrintJSON(events)
				}
				for i := range events {
					if err := p.PrintJSON(events[i]); err != nil {
						return err
					}
				}
				if len(audit.Unfinished(events)) > 0 {
					p.PrintLine("outcome unknown: the call still runs, or its process died before it could be recorded")
				}
				return nil
			})
		},
	}
}

// eventsOf returns the records of one call, which the id of its approval names as well.
// It is an error when there are none.
func eventsOf(ctx context.Context, rt *app.Runtime, call string) ([]audit.Event, error) {
	events, err := readEvents(ctx, rt, call)
	if err != nil || len(events) > 0 {
		return events, err
	}
	list, err := rt.Approvals.List(ctx, true)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(a sallyport.Approval) bool { return a.ID == call && a.CallID != "" }); i >= 0 {
		events, err = readEvents(ctx, rt, list[i].CallID)
	}
	if err == nil && len(events) == 0 {
		err = &exitError{code: exitFailed, err: fmt.Errorf("no record of call %q", call)}
	}
	return events, err
}

// readEvents returns the records of one call.
func readEvents(ctx context.Context, rt *app.Runtime, call string) (events []audit.Event, err error) {
	for e, err := range audit.Events(ctx, rt.State, audit.Query{Call: call}) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

func auditHead(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "head",
		Short: "Print seq:hash of the newest record",
		Long: `Print seq:hash of the newest record. Keep it in another place: verify --head
uses it to prove that no record was cut off the end.`,
		Example: "  sallyport audit head > /mnt/elsewhere/head.txt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				head, err := audit.Settled(cmd.Context(), rt.State)
				if err != nil {
					return err
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"seq": head.Seq, "hash": head.Hash}, "%s", head)
			})
		},
	}
}

func auditVerify(env *environment, f *flags) *cobra.Command {
	var head string
	var proofs anchorProofs
	cmd := &cobra.Command{
		Use:   "verify [EXPORT]",
		Short: "Check the chain and name the first bad record",
		Long: `Check the chain of the state file, or of an exported file, and name the first
bad record. With --head it also proves that no record was cut off the end, and with
--anchors that nothing up to the newest head in a file of audit anchor was rewritten.
With --checkpoint the file of anchors is compared with a checkpoint that others kept.
The exit code is 1 when a record is bad or an anchor is not in the record.`,
		Example: `  sallyport audit verify
  sallyport audit verify --anchors /mnt/elsewhere/anchors.jsonl
  sallyport audit verify --head 42:9f2c...
  sallyport audit verify audit.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(refuseEmptyProofs(cmd), proofs.checkFlags()); err != nil {
				return err
			}
			o := &audit.VerifyOptions{}
			if head != "" {
				h, err := audit.ParseHead(strings.TrimSpace(head))
				if err != nil {
					return fmt.Errorf("--head: %w", err)
				}
				o.Head = &h
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				key, err := rt.ReadKey()
				if err != nil {
					return err
				}
				reader := audit.Reader(rt.State)
				if len(args) == 1 {
					file, err := os.Open(args[0])
					if err != nil {
						return err
					}
					defer file.Close()
					reader = audit.ReadExport(file)
				}
				found, anchored, err := verifyAnchored(cmd.Context(), reader, key, o, &proofs)
				if err != nil {
					return &exitError{code: exitFailed, err: err}
				}
				good := found.OK() && (anchored == nil || anchored.OK())
				if err := report.PrintVerification(env.newPrinter(f), &found, anchored); err != nil || !good {
					return cmp.Or(err, failUnless(good))
				}
				if file, ok := rt.State.(store.DamageChecker); ok && len(args) == 0 {
					if err := file.Check(cmd.Context()); err != nil {
						err = fmt.Errorf("%s: %w", rt.InForce().Config.State.Path, err)
						if e, ok := errors.AsType[*store.Error](err); ok && e.Err != nil {
							err = fmt.Errorf("%w (%w)", err, e.Err)
						}
						return &exitError{code: exitFailed, err: err}
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "the `SEQ:HASH` that audit head printed earlier")
	proofs.registerFlags(cmd)
	return cmd
}

func auditExport(env *environment, f *flags) *cobra.Command {
	var q auditFilter
	var format string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write records to standard output, also for a SIEM",
		Long: `Write records to standard output. As jsonl, the default, audit verify proves them.
As ocsf (API Activity of OCSF, one object a line) or cef (Common Event Format), they
are a copy for searching: each event has the number and the hash of its record.`,
		Example: `  sallyport audit export --since 2026-01-01 > audit.jsonl
  sallyport audit export --format ocsf --since 24h > events.jsonl`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if !slices.Contains([]string{"jsonl", string(siem.OCSF), string(siem.CEF)}, format) {
				return fmt.Errorf("--format %q: expected jsonl, ocsf or cef", format)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, err := q.newQuery(time.Now())
			if err != nil {
				return err
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				if format == "jsonl" {
					return audit.Export(cmd.Context(), rt.State, env.stdout, query)
				}
				return siem.Write(cmd.Context(), rt.State, env.stdout, query, siem.Format(format), app.Version())
			})
		},
	}
	q.registerFlags(cmd, 0)
	cmd.Flags().StringVar(&format, "format", "jsonl", "write jsonl, ocsf or cef")
	return cmd
}

func auditPrune(env *environment, f *flags) *cobra.Command {
	var before string
	cmd := &cobra.Command{
		Use:   "prune --before TIME",
		Short: "Remove old records and leave a signed checkpoint",
		Long: `Remove the oldest records of the chain and leave a signed checkpoint that verify
accepts. The records are verified before they are removed.`,
		Example: "  sallyport audit prune --before 2026-01-01",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if before == "" {
				return errors.New("prune: --before TIME is missing: records that are older are removed")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := parseTime(before, time.Now())
			if err != nil {
				return fmt.Errorf("--before: %w", err)
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				key, err := rt.ReadKey()
				if err != nil {
					return err
				}
				n, err := rt.PruneRecord(cmd.Context(), key, at)
				if err != nil {
					return err
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"removed": n, "before": at},
					"removed %d records from before %s", n, at.Format(time.RFC3339))
			})
		},
	}
	cmd.Flags().StringVar(&before, "before", "", "remove the records older than `TIME`: 2026-01-31, RFC 3339, or an age such as 2160h")
	return cmd
}
