package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/anchor"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/setting"
	"github.com/sallyport/sallyport/registry"
)

// errNoRecord: there is nothing to anchor.
var errNoRecord = errors.New("the record is empty: there is no head to anchor")

// AnchorPlace is where heads of the record are kept.
type AnchorPlace config.AnchorPlace

// String names the place for people: a path, or the host of an address, whose rest may
// be a secret.
func (p AnchorPlace) String() string {
	if p.File != "" {
		return p.File
	}
	u, err := url.Parse(p.Webhook)
	if err != nil {
		return "webhook"
	}
	return u.Scheme + "://" + u.Host
}

// settingName is the name under which the state has what was last kept there.
func (p AnchorPlace) settingName() string {
	sum := sha256.Sum256([]byte(p.File + "\n" + p.Webhook))
	return "anchor/" + hex.EncodeToString(sum[:8])
}

// AnchorPlaces returns the places that the configuration names.
func (rt *Runtime) AnchorPlaces() (list []AnchorPlace) {
	for _, p := range rt.InForce().Config.Audit.Anchors {
		list = append(list, AnchorPlace(p))
	}
	return list
}

// Seals say what proves a file of heads beside the heads themselves.
type Seals struct {
	// Authority is the address of an authority that puts its time under heads; empty for
	// none.
	Authority string
	// Origin names the log whose checkpoints are signed; empty for none.
	Origin string
}

// ConfiguredSeals returns those of the configuration.
func (rt *Runtime) ConfiguredSeals() Seals {
	a := &rt.InForce().Config.Audit
	return Seals{a.Timestamp, a.Origin}
}

// CheckOrigin refuses the name of the configured log for another file: the configured one
// would get no checkpoint any more.
func (rt *Runtime) CheckOrigin(origin string, places []AnchorPlace) error {
	configured := rt.ConfiguredSeals().Origin
	if origin == "" || origin != configured {
		return nil
	}
	for _, p := range rt.AnchorPlaces() {
		if p.File == "" {
			continue // of files there is one
		}
		for _, q := range places {
			if q.File != "" && resolveLinks(q.File) != resolveLinks(p.File) {
				return fmt.Errorf("--origin: %s is the log in %s, by audit.origin: choose another name for %s", origin, p.File, q.File)
			}
		}
	}
	return nil
}

// AnchoredHead is a head that is kept at a place.
type AnchoredHead struct {
	anchor.Entry
	// Checkpoint is the file of the signed checkpoint, and VerifierKey the key with which
	// others check it; empty without one.
	Checkpoint, VerifierKey string
}

// AnchorHead keeps the head of the record at each place. It goes on with the next place
// after an error. Done is told of each success.
func (rt *Runtime) AnchorHead(ctx context.Context, places []AnchorPlace, seals Seals, done func(AnchorPlace, AnchoredHead) error) error {
	o, err := rt.openOutside()
	if err != nil {
		return err
	}
	defer o.Close()
	var errs []error
	for _, p := range places {
		e, err := rt.anchorAt(ctx, o, p, seals)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p, err))
			continue
		}
		if err := done(p, e); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// anchorAt keeps the head of the record at a place.
func (rt *Runtime) anchorAt(ctx context.Context, o *outside, p AnchorPlace, seals Seals) (kept AnchoredHead, err error) {
	if rt.Passing {
		return kept, errNoRecord // it ends with the command
	}
	key, err := rt.ReadKey()
	if err != nil {
		return kept, err
	}
	look := func() (anchor.Entry, error) { return rt.lookAtHead(ctx, key.ID()) }
	if p.File == "" {
		if kept.Entry, err = look(); err == nil {
			err = anchor.PostTo(ctx, o.client, p.Webhook, kept.Entry)
		}
		return kept, err
	}
	if kept.Entry, err = anchor.AppendTo(p.File, look); err != nil {
		return kept, err
	}
	// One seal that fails does not keep the other away.
	var errs []error
	if seals.Origin != "" {
		if kept.Checkpoint, kept.VerifierKey, err = rt.signCheckpoint(ctx, p.File, key, seals.Origin); err != nil {
			errs = append(errs, fmt.Errorf("the head is there, without a checkpoint: %w", err))
		}
	}
	if seals.Authority != "" {
		if err = anchor.StampHead(ctx, o.client, seals.Authority, p.File, kept.Entry); err != nil {
			errs = append(errs, fmt.Errorf("the head is there, without the time of the authority: %w", err))
		}
	}
	return kept, errors.Join(errs...)
}

// signCheckpoint signs the checkpoint of a file of heads, and returns where it lies. What was
// signed under an origin is in the state, so that no process signs what contradicts it.
func (rt *Runtime) signCheckpoint(ctx context.Context, path string, key audit.Key, origin string) (file, public string, err error) {
	var text []byte
	var seq int64
	err = setting.Change(ctx, rt.Settings, "checkpoint/"+origin, func(was string, ok bool) (string, error) {
		var before, now anchor.Tree
		if ok {
			if err := setting.Decode(was, &before); err != nil {
				return "", fmt.Errorf("the checkpoint that was signed last: %w", err)
			}
		}
		var err error
		if text, now, seq, err = anchor.SignTree(path, key, origin, before); err != nil {
			return "", err
		}
		next, err := json.Marshal(now)
		return string(next), err
	})
	if err != nil {
		return "", "", err
	}
	if file, err = anchor.StoreCheckpoint(path, seq, text); err != nil {
		return "", "", err
	}
	public, err = anchor.VerifierKey(key, origin)
	return file, public, err
}

// lookAtHead returns the head once everything up to it is on the disk.
func (rt *Runtime) lookAtHead(ctx context.Context, keyID string) (anchor.Entry, error) {
	head, err := audit.Settled(ctx, rt.State)
	if err == nil && head.Seq == 0 {
		err = errNoRecord
	}
	return anchor.NewEntry(head, keyID, time.Now()), err
}

// anchorFiles lists the files of anchors of a configuration.
func anchorFiles(c *config.Config) (files []string) {
	for _, p := range c.Audit.Anchors {
		if p.File != "" {
			files = append(files, p.File, asFolder(anchor.StampFolder(p.File)))
		}
	}
	return files
}

// anchorMisfits returns a fault for each file of anchors where tools may write. The deny
// floor keeps the file while the gate runs, and nothing does before it starts.
func (t *Deployment) anchorMisfits() (faults registry.Faults) {
	for i, p := range t.Config.Audit.Anchors {
		if p.File == "" {
			continue
		}
		if by := t.FindWriter(p.File); by != "" {
			faults = append(faults, registry.Fault{
				Tool: "audit.anchors", Capability: "file", Source: t.Config.Source(fmt.Sprintf("audit.anchors.%d.file", i)),
				Message: fmt.Sprintf("heads of the record are kept in %s: %s may write there, so an agent may change what proves the record", p.File, by),
				Fix:     "move it to a folder that no tool may write",
			})
		}
	}
	return faults
}

// CheckAnchorFile refuses a file of anchors that a tool may write, and returns a warning
// about one that lies where the gate itself works.
func (rt *Runtime) CheckAnchorFile(path string) (warning string, err error) {
	c := rt.InForce().Config
	real := resolveLinks(path)
	if !isBelow(rt.ownFiles(rt.Env.Dir), real) {
		for _, w := range c.WritePlaces() {
			if isBelow([]string{asFolder(resolveLinks(w.Path)), resolveLinks(w.Path)}, real) {
				return "", fmt.Errorf("%s: tools may write there as personality %s (%s): choose another place", path, w.Role, cmp.Or(c.Source(w.Key), w.Key))
			}
		}
	}
	if isBelow([]string{asFolder(resolveLinks(c.Workspace)), asFolder(resolveLinks(filepath.Dir(rt.KeyPath())))}, real) {
		return fmt.Sprintf("%s lies beside the record: who can rewrite the record can rewrite it too; keep anchors where this user can only append", path), nil
	}
	return "", nil
}

// isBelow reports whether a path is one of those, or in one that ends with a separator.
func isBelow(list []string, path string) bool {
	for _, p := range list {
		if path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}
