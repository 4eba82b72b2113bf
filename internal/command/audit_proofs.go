package command

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/anchor"
)

// anchorProofs holds the flags that name what a record is compared with.
type anchorProofs struct{ anchors, checkpoint, authorities string }

func (p *anchorProofs) registerFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.anchors, "anchors", "", "the `FILE` of audit anchor, each line of which the record has to contain")
	cmd.Flags().StringVar(&p.checkpoint, "checkpoint", "", "the `FILE` of a signed checkpoint, which the lines of --anchors have to fit")
	cmd.Flags().StringVar(&p.authorities, "timestamp-ca", "", "the PEM `FILE` of the authorities whose times beside the anchors are checked")
}

// checkFlags refuses what is about a file of anchors without one.
func (p *anchorProofs) checkFlags() error {
	switch {
	case p.anchors != "":
		return nil
	case p.authorities != "":
		return errors.New("verify: --timestamp-ca is about the answers beside a file of anchors: give --anchors FILE, too")
	case p.checkpoint != "":
		return errors.New("verify: --checkpoint is about a file of anchors: give --anchors FILE, too")
	}
	return nil
}

// refuseEmptyProofs refuses flags that were given and say nothing: the file that a script
// reads a head from may be gone, and nothing would be proven from then on.
func refuseEmptyProofs(cmd *cobra.Command) error {
	for _, name := range []string{"head", "anchors", "checkpoint", "timestamp-ca"} {
		if f := cmd.Flags().Lookup(name); f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return fmt.Errorf("verify: --%s is empty, so that nothing would be proven: give it a value, or leave it out", name)
		}
	}
	return nil
}

// verifyAnchored verifies a record, and compares it with a file of anchors unless there is none.
func verifyAnchored(ctx context.Context, r audit.Reader, key audit.Key, o *audit.VerifyOptions, p *anchorProofs) (audit.Report, *anchor.Result, error) {
	if p.anchors == "" {
		found, err := audit.Verify(ctx, r, key, o)
		return found, nil, err
	}
	entries, err := anchor.ReadFile(p.anchors)
	if err != nil {
		return audit.Report{}, nil, fmt.Errorf("--anchors: %w", err)
	}
	check := anchor.NewCheck(entries, key.ID())
	if err := p.addProofs(check, key); err != nil {
		return audit.Report{}, nil, err
	}
	found, err := audit.Verify(ctx, check.Watch(r), key, o)
	if err != nil {
		return found, nil, err
	}
	anchored := check.Compare(&found)
	return found, &anchored, nil
}

// addProofs adds what proves the file of anchors itself.
func (p *anchorProofs) addProofs(check *anchor.Check, key audit.Key) error {
	if p.checkpoint != "" {
		text, err := readShort(p.checkpoint)
		if err == nil {
			err = check.AddCheckpoint(text, key)
		}
		if err != nil {
			return fmt.Errorf("--checkpoint: %w", err)
		}
	}
	if p.authorities == "" {
		return nil
	}
	text, err := os.ReadFile(p.authorities)
	if err != nil {
		return fmt.Errorf("--timestamp-ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return fmt.Errorf("--timestamp-ca: %s has no certificate in PEM", p.authorities)
	}
	if err := check.AddStamps(p.anchors, roots); err != nil {
		return fmt.Errorf("--timestamp-ca: %w", err)
	}
	return nil
}

// readShort reads as much of a file as a signed note may have, and a byte more.
func readShort(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, anchor.MaxNote+1))
}
