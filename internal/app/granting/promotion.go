package granting

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/shadow"
	"github.com/sallyport/sallyport/internal/text"
)

// actionPromote put another file in force. The target is its fingerprint.
const actionPromote audit.Action = "configuration.promote"

// minExpect is the least number of digits by which a promotion is named: 128 bits, so that no
// other promotion can be made that has them.
const minExpect = 32

// ErrNotAsShown is the error for a promotion that is not the one that the user saw.
var ErrNotAsShown = errors.New("is not what was shown")

// Promotion is a configuration that is to take the place of the one in force. It was
// loaded, and nothing is written yet.
type Promotion struct {
	// File is the file with the configuration, as the user named it, and Fingerprint
	// that of its text.
	File string `json:"file"`
	// Fingerprint is the fingerprint of its text, as config.Config.Digest.
	Fingerprint string `json:"fingerprint"`
	// Difference is what changes in the configuration and the lock file, line by line.
	Difference string `json:"difference"`
	// Warnings lists what the user should know of the result.
	Warnings []string `json:"warnings,omitempty"`
	// Judged is what servers counted of exactly this text, each beside another
	// configuration.
	Judged []shadow.Report `json:"judged"`
	// Expect is the digest of what changes: it names exactly this promotion.
	Expect string `json:"expect"`

	path  string
	files []onestep.Change
}

// NewPromotion loads the configuration in a file as check does, and finds what it changes.
// The error says what is wrong with it; nothing is changed.
func NewPromotion(ctx context.Context, rt *app.Runtime, file string) (p *Promotion, err error) {
	if rt.Builtin {
		return nil, fmt.Errorf("there is no %s here, whose place it could take: cp %s %s", app.ConfigName, text.ShellWord(file), app.ConfigName)
	}
	if n := len(rt.ConfigFiles); n != 1 {
		return nil, fmt.Errorf("the configuration in force has %d files, %s, and promote replaces a configuration of one file: edit them, or join them", n, strings.Join(rt.ConfigFiles, " and "))
	}
	p = &Promotion{File: file, path: filepath.Clean(fsx.Absolute(rt.Env.Dir, file)), Judged: []shadow.Report{}}
	if onestep.IsFile(rt.ConfigFiles[0], p.path) {
		return nil, fmt.Errorf("%s is the configuration in force", file)
	}
	if err := app.CheckBeside(p.path, rt.InForce().Config.Dir); err != nil {
		return nil, err
	}
	next, err := app.OpenForView(ctx, rt.Env, []string{file})
	if err != nil {
		return nil, fmt.Errorf("it would not load, so that nothing was changed: %w", err)
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	if p.Fingerprint = next.InForce().Config.Digest; p.Fingerprint == rt.InForce().Config.Digest {
		return nil, fmt.Errorf("%s is the same as %s, which is in force", file, filepath.Base(rt.ConfigFiles[0]))
	}
	if err := p.findChanges(rt, next); err != nil {
		return nil, err
	}
	p.findWarnings(rt, next)
	return p, p.findJudged(ctx, rt)
}

// findChanges finds the changes of the two files.
func (p *Promotion) findChanges(rt, next *app.Runtime) (err error) {
	c := onestep.Change{Path: rt.ConfigFiles[0]}
	if c.Old, err = os.ReadFile(c.Path); err != nil {
		return err
	}
	if c.New, err = p.readText(); err != nil {
		return err
	}
	p.files = []onestep.Change{c}
	pins := rt.InForce().Servers.Pins
	file, err := p.pinServers(rt, next)
	if err != nil {
		return err
	}
	if file != pins.File {
		change, err := lockChange(pins, file)
		if err != nil {
			return err
		}
		if string(change.Old) != string(change.New) {
			// A running server that reads the files in between finds what is declared
			// wider than its pin, which it does not start, or narrower.
			p.files = append([]onestep.Change{change}, p.files...)
		}
	}
	sum := sha256.New()
	for _, f := range p.files {
		p.Difference += differenceOf(f)
		for _, part := range [][]byte{[]byte(f.Path), f.Old, f.New} {
			one := sha256.Sum256(part)
			sum.Write(one[:])
		}
	}
	p.Expect = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// readText reads the text of the file, which has to be the one that was loaded.
func (p *Promotion) readText() ([]byte, error) {
	now, err := config.Fingerprint([]string{p.path})
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	if now != p.Fingerprint || digest.Text(data) != now {
		return nil, fmt.Errorf("%s %w: it has changed since", p.File, ErrNotAsShown)
	}
	return data, nil
}

// pinServers returns the lock file with what pinned servers may touch from now on.
func (p *Promotion) pinServers(rt, next *app.Runtime) (file *lock.File, err error) {
	file = rt.InForce().Servers.Pins.File
	for i := range next.InForce().Servers.Declared {
		name := next.InForce().Servers.Declared[i].Name
		was, is := rt.InForce().Servers.Pins.Servers[name], next.InForce().Servers.Pins.Servers[name]
		if was == nil || sameCapabilities(was, is) {
			continue
		}
		if file, err = pinDeclared(rt, next, file, name); err != nil {
			return nil, err
		}
	}
	return file, nil
}

func sameCapabilities(a, b *app.ServerLaunch) bool {
	was, stood := a.Capabilities()
	is, stand := b.Capabilities()
	// What was decoded from JSON can be encoded.
	before, _ := json.Marshal(was)
	after, _ := json.Marshal(is)
	return stood == stand && string(before) == string(after)
}

// findWarnings finds what the change does not do by itself.
func (p *Promotion) findWarnings(rt, next *app.Runtime) {
	if by := rt.InForce().FindWriter(p.path); by != "" {
		p.Warnings = append(p.Warnings, p.File+" lies where "+by+" may write, so that an agent may have changed it: look at each line")
	}
	if keys := rt.RestartKeys(next.InForce().Config); len(keys) > 0 {
		p.Warnings = append(p.Warnings, strings.Join(keys, ", ")+": a running server goes on with the configuration before until it is started anew")
	}
	p.Warnings = append(p.Warnings, newMisfits(rt, next)...)
	for i := range next.InForce().Servers.Declared {
		name := next.InForce().Servers.Declared[i].Name
		_, pinned := rt.InForce().Servers.Pins.PinnedServer(name)
		switch {
		case rt.InForce().Servers.Pins.File == nil:
		case !pinned:
			p.Warnings = append(p.Warnings, "the MCP server "+name+" is not pinned, and is not started before: "+rt.ShortCommand("lock"))
		case next.InForce().Servers.Pins.CheckCommand(name) != "", rt.InForce().Servers.Pins.Servers[name] == nil && next.InForce().Servers.Pins.CheckDeclared(name) != "":
			p.Warnings = append(p.Warnings, "the MCP server "+name+" is not as it is pinned, and is not started before: "+rt.ShortCommand("lock accept "+name))
		}
	}
}

func (p *Promotion) findJudged(ctx context.Context, rt *app.Runtime) error {
	list, err := shadow.Reports(ctx, rt.Settings)
	for _, r := range list {
		if r.Shadow == p.Fingerprint {
			p.Judged = append(p.Judged, r)
		}
	}
	return err
}

// CheckExpected compares the promotion with the digest of the one that the user saw, or
// at least its first 32 digits. The error may match [ErrNotAsShown].
func (p *Promotion) CheckExpected(expect string) error {
	expect = strings.ToLower(expect)
	if len(expect) < minExpect || len(expect) > len(p.Expect) || strings.Trim(expect, "0123456789abcdef") != "" {
		return fmt.Errorf("expected the digest of what was shown, or at least %d digits of it: found %d characters", minExpect, len(expect))
	}
	if !strings.HasPrefix(p.Expect, expect) {
		return fmt.Errorf("%s %w: the files have changed since", p.File, ErrNotAsShown)
	}
	return nil
}

// Apply puts the configuration in force: all files or none. It is recorded before. The
// error matches [ErrNotAsShown] when the file has changed since it was loaded, and
// [onestep.ErrChanged] when one of the others has.
func (p *Promotion) Apply(ctx context.Context, rt *app.Runtime) error {
	if _, err := p.readText(); err != nil {
		return err
	}
	detail := p.File + " in place of " + rt.InForce().Config.Digest
	for _, r := range p.Judged {
		if r.InForce == rt.InForce().Config.Digest {
			detail += fmt.Sprintf("; %s judged, %d flipped", text.CountOf(r.Judged(), "call"), r.Flips)
		}
	}
	return rt.RecordFirst(ctx, app.ChangeEvent(actionPromote, p.Fingerprint, detail), func() error {
		return rt.Env.ReplaceFiles(rt.InForce().Config.Dir, p.files)
	})
}
