package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/schema"
)

const (
	// maxShapeArgs bounds the arguments of a call that a rule may cover: a person
	// cannot compare more.
	maxShapeArgs = 32
	// maxShapeName bounds the name of such an argument, in bytes.
	maxShapeName = 64
)

// useRule lets the call run under a rule for its session, or under what a person said
// of exactly this call for always, if there is one.
// Whatever else refuses the call has refused it before, or does so later.
func (h *heldCall) useRule(ctx context.Context) (done, allowed bool) {
	if h.r.o.UseApprovalRule == nil && h.r.o.ClaimApprovalRule == nil {
		return false, false
	}
	if h.waited && !h.mayStillRun(ctx) {
		return true, false
	}
	if ctx.Err() != nil {
		return false, false
	}
	request := h.approvalRequest()
	said, ok, err := h.takeRun(ctx, &request)
	if err != nil {
		h.logFault("rules of the session", err)
	}
	if err != nil || !ok {
		return false, false
	}
	if !h.stillAuthorized(ctx) {
		return true, false
	}
	h.addDecision(sallyport.Decision{Step: sallyport.StepApprove, Allowed: true, Why: said})
	return true, true
}

// approvalShape returns what a rule for the session of the call would be bound
// to, nil when there can be none. A call without a session of its caller's has
// one that no other call has. A session or an argument whose name cannot be shown
// as it is, because of an invisible character or a secret, would not be the one
// that a person sees.
func (c *call) approvalShape(ctx context.Context, attached []string) (*sallyport.ApprovalShape, error) {
	cl := c.cleaner()
	if c.caller.Session == "" || string(cleanWord(cl, c.session)) != c.session || len(c.doc.Value) > maxShapeArgs {
		return nil, nil
	}
	grant, err := c.grantText()
	if err != nil {
		return nil, err
	}
	s := &sallyport.ApprovalShape{
		Asked: digestLists("sallyport rule: asked",
			[]string{c.q.Tool, c.caller.Principal.Name, c.caller.Personality, c.sessionKey, c.caller.MemoryScope, c.workspace(), c.hold.keys}, attached),
		Touches: digestLists("sallyport rule: touches",
			[]string{c.entry.definition, grant, string(c.level)}, c.grantTargets(ctx)),
		Session: digest.Text(c.sessionKey),
		Args:    map[string]string{},
		Exact:   c.hold.keys != "",
	}
	for name, value := range c.doc.Value {
		if len(name) > maxShapeName || !cl.Accepts(name) {
			return nil, nil
		}
		one := schema.Document{Value: map[string]any{name: value}}
		s.Args[name] = digestLists("sallyport rule: argument", []string{s.Asked, string(one.Canonical())})
	}
	return s, nil
}

// digestLists returns the digest of lists of texts. Each list has its length
// before it, so that no two sets of lists run together to one text.
func digestLists(what string, lists ...[]string) string {
	h := textHasher{sha256.New()}
	h.addTexts(what)
	for _, list := range lists {
		h.addTexts(strconv.Itoa(len(list)))
		h.addTexts(list...)
	}
	return hex.EncodeToString(h.Sum(nil))
}
