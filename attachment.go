package sallyport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// AttachmentsCapability declares kinds of attachments.
type AttachmentsCapability struct {
	// All means every kind, spelled "*"; Kinds is then empty.
	All bool
	// Kinds is the explicit list.
	Kinds []AttachmentKind
}

// MarshalJSON writes {"kinds": "*"} or {"kinds": […]}.
func (a AttachmentsCapability) MarshalJSON() ([]byte, error) {
	if a.All {
		return []byte(`{"kinds":"*"}`), nil
	}
	if a.Kinds == nil {
		return []byte(`{"kinds":[]}`), nil
	}
	return json.Marshal(map[string]any{"kinds": a.Kinds})
}

// UnmarshalJSON reads what MarshalJSON writes and refuses any other key: a
// decoder that refuses unknown keys does not check them inside this type.
func (a *AttachmentsCapability) UnmarshalJSON(data []byte) error {
	var w map[string]json.RawMessage
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	kinds, ok := w["kinds"]
	if !ok || len(w) != 1 {
		return errors.New("expected the key kinds and no other")
	}
	all, list, err := wordOrList(kinds, "*")
	if err != nil {
		return err
	}
	*a = AttachmentsCapability{All: all}
	for _, k := range list {
		a.Kinds = append(a.Kinds, AttachmentKind(k))
	}
	return nil
}

// Has reports whether the declaration covers a kind.
func (a AttachmentsCapability) Has(k AttachmentKind) bool {
	return a.All || slices.Contains(a.Kinds, k)
}

// AttachmentKind is the kind of a file that is attached to a turn.
type AttachmentKind string

// The attachment kinds.
const (
	// KindImage is a picture.
	KindImage AttachmentKind = "image"
	// KindFile is anything else.
	KindFile AttachmentKind = "file"
)

// Attachment describes one file of a turn.
type Attachment struct {
	// Ref is an opaque reference to the file.
	Ref string `json:"ref"`
	// Kind is image or file.
	Kind AttachmentKind `json:"kind"`
	// Name is the file name for display.
	Name string `json:"name"`
	// MediaType is the type that the edge detected; it may be empty.
	MediaType string `json:"mediaType,omitempty"`
	// Bytes is the size.
	Bytes int64 `json:"bytes"`
}

// Attachments is the attachments accessor. It is safe for concurrent use.
type Attachments interface {
	// List returns the attachments of the granted kinds.
	List() []Attachment
	// Open opens a granted attachment by its ref. The caller closes it.
	Open(ctx context.Context, ref string) (io.ReadCloser, error)
}

// AttachmentStore opens attachments that an edge has put into it. It must be
// safe for concurrent use.
type AttachmentStore interface {
	Open(ctx context.Context, ref string) (io.ReadCloser, error)
}
