package scoped

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// turnFiles is the attachments accessor of a call.
type turnFiles struct{ b *Binding }

// List returns the attachments of the granted kinds. The caller owns it.
func (t turnFiles) List() []sallyport.Attachment {
	var list []sallyport.Attachment
	for _, a := range t.b.turn.Attachments {
		if t.b.scope.grant.Attachments.Has(a.Kind) {
			list = append(list, a)
		}
	}
	return list
}

// Open opens an attachment that List returns. Any other reference gets one
// answer, whether nothing or an attachment of another kind is behind it.
func (t turnFiles) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	if err := t.b.checkLive(); err != nil {
		return nil, err
	}
	a := t.findAttachment(ref)
	if a == nil {
		t.b.recordRefusal(group.Attachments, ref, matchesAnything)
		return nil, sallyport.InputInvalid("No attachment with ref " + strconv.Quote(clipItem(ref)))
	}
	r, err := t.b.scope.backends.Attachments.Open(ctx, ref)
	if err != nil {
		return nil, hideBackendError(err, "attachment "+ref+" could not be opened")
	}
	t.b.recordAllowed(group.Attachments, ref, fmt.Sprintf("open %s, %d bytes", ref, a.Bytes))
	return r, nil
}

// findAttachment returns an attachment that List returns; nil for any other ref.
func (t turnFiles) findAttachment(ref string) *sallyport.Attachment {
	for i := range t.b.turn.Attachments {
		if a := &t.b.turn.Attachments[i]; ref != "" && a.Ref == ref && t.b.scope.grant.Attachments.Has(a.Kind) {
			return a
		}
	}
	return nil
}

type refusedAttachments struct{ note func(sallyport.Decision) }

// List returns nothing: a tool that declares no kinds sees no attachments.
func (refusedAttachments) List() []sallyport.Attachment { return nil }

func (a refusedAttachments) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	sendDecision(a.note, newRefusal(group.Attachments, ref))
	return nil, notAvailable(ref, "the tool declares no attachments")
}
