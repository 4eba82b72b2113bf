package command

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
)

func auditAnchor(env *environment, f *flags) *cobra.Command {
	var to []string
	var seals app.Seals
	cmd := &cobra.Command{
		Use:   "anchor",
		Short: "Keep the head of the record in another place",
		Long: `Keep the head of the record in another place: those that audit.anchors of the
configuration names, where serve does it by itself, or those of --to. What was
recorded before cannot be rewritten unseen afterwards, not even with the key: audit
verify --anchors compares the record with what was kept. A file gets a line of JSON;
keep it where the user of the gate can only append. To an address the line is posted.
With --timestamp an authority (RFC 3161) puts its time under a head in a file, and
with --origin the file is a log whose checkpoint (C2SP tlog-checkpoint) is signed: a
note of 200 bytes that others keep, and that all lines of the file have to fit.`,
		Example: `  sallyport audit anchor
  sallyport audit anchor --to /mnt/elsewhere/anchors.jsonl
  sallyport audit anchor --to https://example.com/anchors
  sallyport audit anchor --to /mnt/elsewhere/anchors.jsonl --origin example.com/gate`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			places, err := anchorPlaces(to)
			if err != nil {
				return err
			}
			if err := checkSeals(seals, places); err != nil {
				return err
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				if err := rt.CheckOrigin(seals.Origin, places); err != nil {
					return err
				}
				configured := rt.ConfiguredSeals()
				seals.Authority = cmp.Or(seals.Authority, configured.Authority)
				if len(to) == 0 {
					places = rt.AnchorPlaces()
					seals.Origin = configured.Origin
				}
				if len(places) == 0 {
					return errors.New("anchor: there is no place: give --to FILE, or name places under audit.anchors of the configuration")
				}
				for _, p := range places {
					if p.File == "" {
						continue
					}
					warning, err := rt.CheckAnchorFile(p.File)
					if err != nil {
						return err
					}
					if warning != "" {
						fmt.Fprintf(env.Stderr, "sallyport: warning: %s\n", warning)
					}
				}
				p := env.newPrinter(f)
				err := rt.AnchorHead(cmd.Context(), places, seals, func(place app.AnchorPlace, e app.AnchoredHead) error {
					answer := map[string]any{"seq": e.Seq, "hash": e.Hash, "to": place.String()}
					if e.Checkpoint == "" {
						return p.PrintAnswer(answer, "%s anchored in %s", e.Head(), place)
					}
					answer["checkpoint"], answer["verifier_key"] = e.Checkpoint, e.VerifierKey
					return p.PrintAnswer(answer, "%s anchored in %s\ncheckpoint %s\nverifier key %s", e.Head(), place, e.Checkpoint, e.VerifierKey)
				})
				if err != nil {
					return &exitError{code: exitFailed, err: fmt.Errorf("the head is not anchored: %w", err)}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringArrayVar(&to, "to", nil, "the `PLACE` to use: a file to which the head is appended, or an address to which it is posted; may be repeated")
	cmd.Flags().StringVar(&seals.Origin, "origin", "", "the `NAME` of the log that the file of --to is, such as example.com/gate")
	cmd.Flags().StringVar(&seals.Authority, "timestamp", "", "the address of the authority, as a `URL`")
	return cmd
}

// checkSeals judges what a user names to prove a file of heads.
func checkSeals(seals app.Seals, places []app.AnchorPlace) error {
	if seals.Authority != "" {
		if err := config.CheckOutside(seals.Authority); err != nil {
			return fmt.Errorf("--timestamp: %w", err)
		}
	}
	if seals.Origin == "" {
		return nil
	}
	if err := config.CheckOrigin(seals.Origin); err != nil {
		return fmt.Errorf("--origin: %w", err)
	}
	if len(places) != 1 || places[0].File == "" {
		return errors.New("--origin: expected one file of --to, which is the log")
	}
	return nil
}

// anchorPlaces reads the places that a user names: files, and addresses.
func anchorPlaces(to []string) (list []app.AnchorPlace, err error) {
	for _, text := range to {
		if strings.Contains(text, "://") {
			if err := config.CheckOutside(text); err != nil {
				return nil, fmt.Errorf("--to: %w", err)
			}
			list = append(list, app.AnchorPlace{Webhook: text})
			continue
		}
		path, err := filepath.Abs(text)
		if err != nil {
			return nil, fmt.Errorf("--to: %w", err)
		}
		list = append(list, app.AnchorPlace{File: path})
	}
	return list, nil
}
