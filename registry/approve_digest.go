package registry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// approvalDigest binds a decision to what it was made about: the exact
// arguments with defaults filled in, the tool's definition, what the call may
// touch and what the names in it stand for, how its children are confined,
// who asks in which role, where relative paths begin, what the turn brought
// along, and which rule about what was read before held the call. Every part
// has its length before it, so that no two calls run together to one text.
//
// The conversation is not bound, because a repeat may come from another one,
// unless the tool keeps data of its conversation. Nor is what the grant
// dropped, which tells lines of the configuration.
func (c *call) approvalDigest(ctx context.Context, attached []string) (string, error) {
	grant, err := c.grantText()
	if err != nil {
		return "", err
	}
	h := textHasher{sha256.New()}
	h.addTexts("sallyport approval 1", c.q.Tool, c.entry.definition, string(c.doc.Canonical()), grant, string(c.level),
		c.caller.Principal.Name, c.caller.Personality, c.workspace(), c.caller.MemoryScope, c.approvalSession())
	h.addTexts(c.grantTargets(ctx)...)
	if c.hold.keys != "" {
		// What was approved before something was read was approved without it.
		h.addTexts("flow", c.hold.keys)
	}
	ceilings, err := c.ceilings()
	if err != nil {
		return "", err
	}
	for _, one := range ceilings {
		h.addTexts("ceiling", one.Key, one.Text)
	}
	h.addTexts(attached...)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// grantText returns the grant as text, without what it dropped.
func (c *call) grantText() (string, error) {
	grant := *c.grant
	grant.Dropped = nil
	text, err := json.Marshal(&grant)
	if err != nil {
		return "", fmt.Errorf("encoding the grant: %w", err)
	}
	return string(text), nil
}

// grantTargets returns what the names of the grant stand for now, the
// connections in the order of the grant and then the relay. They are asked
// for once a call, so that what is shown is what is bound.
func (c *call) grantTargets(ctx context.Context) []string {
	if c.named != nil {
		return c.named
	}
	c.named = []string{}
	for _, g := range group.All() {
		if g.Targets == nil {
			continue
		}
		namer, names := g.Targets(c.grant, &c.r.backends)
		for _, name := range names {
			c.addTarget(ctx, namer, name)
		}
	}
	return c.named
}

// addTarget adds what one name stands for. One that cannot be told is another
// target than any that can.
func (c *call) addTarget(ctx context.Context, backend any, name string) {
	namer, ok := backend.(sallyport.TargetNamer)
	if !ok {
		return
	}
	target, err := namer.Target(ctx, name)
	if err != nil {
		target = "not known"
	}
	c.named = append(c.named, name+": "+target)
}

// approvalSession is the conversation for tools whose store belongs to it.
func (c *call) approvalSession() string {
	if s := c.grant.Storage; s != nil && s.Scope == sallyport.ScopeSession {
		return c.sessionKey
	}
	return ""
}

// attachmentTexts returns what the tool would open of the turn, four texts for
// each attachment; nothing when it is granted none. The ref is another one at
// every turn, so that the content counts.
func (c *call) attachmentTexts(ctx context.Context) (texts []string, err error) {
	if c.grant.Attachments == nil {
		return nil, nil
	}
	for i := range c.caller.Attachments {
		a := &c.caller.Attachments[i]
		content, err := c.digestAttachment(ctx, a)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(a.Kind), a.Name, a.MediaType, content)
	}
	return texts, nil
}

// digestAttachment returns the digest of the content of an attachment.
func (c *call) digestAttachment(ctx context.Context, a *sallyport.Attachment) (digest string, err error) {
	if c.r.backends.Attachments == nil {
		return "", errors.New("attachments are granted and not wired")
	}
	r, err := c.r.backends.Attachments.Open(ctx, a.Ref)
	if err != nil {
		return "", fmt.Errorf("reading an attachment: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	content := sha256.New()
	if _, err := io.Copy(content, r); err != nil {
		return "", fmt.Errorf("reading an attachment: %w", err)
	}
	return string(content.Sum(nil)), nil
}

// textHasher hashes texts, each after its length.
type textHasher struct{ hash.Hash }

// addTexts adds texts to the hash, each after its length.
func (h textHasher) addTexts(texts ...string) {
	for _, s := range texts {
		// A hash does not fail.
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		_, _ = io.WriteString(h, s)
	}
}
