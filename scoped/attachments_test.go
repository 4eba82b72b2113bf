package scoped_test

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestAttachments(t *testing.T) {
	t.Parallel()
	image := sallyport.Attachment{Ref: "att-0", Kind: sallyport.KindImage, Name: "p.jpg"}
	file := sallyport.Attachment{Ref: "att-1", Kind: sallyport.KindFile, Name: "p.pdf"}
	store := scopedtest.Attachments{"att-0": "image", "att-1": "file", "att-2": "of another turn"}
	c, _, j := bind(t, &sallyport.Grant{Attachments: &sallyport.AttachmentsCapability{Kinds: []sallyport.AttachmentKind{sallyport.KindImage}}},
		&sallyport.Backends{Attachments: store}, image, file)
	if d := cmp.Diff([]sallyport.Attachment{image}, c.Attachments.List()); d != "" {
		t.Errorf("List (-want +got):\n%s", d)
	}
	r, err := c.Attachments.Open(t.Context(), "att-0")
	if err != nil {
		t.Fatalf("Open(att-0) = %v", err)
	}
	if data, err := io.ReadAll(r); err != nil || string(data) != "image" {
		t.Errorf("att-0 holds %q, %v, want image", data, err)
	}
	for _, ref := range []string{"att-1", "att-2", "att-9", "", "file:///etc/passwd"} {
		_, err := c.Attachments.Open(t.Context(), ref)
		if want := `No attachment with ref "` + ref + `"`; !errors.Is(err, sallyport.ErrInputInvalid) || err.Error() != want {
			t.Errorf("Open(%q) = %v, want %q", ref, err, want)
		}
	}
	if whys := j.reasons(); len(whys) != 6 || whys[0] != "attachments [att-0] open att-0, 0 bytes" {
		t.Errorf("decisions = %q, want one opening and five refusals", whys)
	}
}
