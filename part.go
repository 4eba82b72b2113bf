package sallyport

// PartKind says what a [Part] holds.
type PartKind string

// The kinds of parts.
const (
	// PartText holds Text.
	PartText PartKind = "text"
	// PartImage holds Data, a picture of type MediaType.
	PartImage PartKind = "image"
	// PartAudio holds Data, a sound of type MediaType.
	PartAudio PartKind = "audio"
	// PartResource holds the content of URI: Text, or Data when it is binary.
	PartResource PartKind = "resource"
	// PartLink names the resource at URI without its content.
	PartLink PartKind = "link"
)

// Valid reports whether k is one of the kinds.
func (k PartKind) Valid() bool {
	switch k {
	case PartText, PartImage, PartAudio, PartResource, PartLink:
		return true
	default:
		return false
	}
}

// Role says who speaks in a message of a prompt: the person or the model.
type Role string

// The roles. A part outside prompts has the empty role.
const (
	// RoleUser means that the person speaks.
	RoleUser Role = "user"
	// RoleAssistant means that the model speaks.
	RoleAssistant Role = "assistant"
)

// Part is a piece of a result beside its Value: a picture, a sound, a resource,
// or a message of a prompt. The gate cleans every text in it, and bounds its
// texts and data together with those of the other parts.
type Part struct {
	// Kind says which of the other fields are used.
	Kind PartKind `json:"kind"`
	// Role is the speaker, in the result of a prompt; empty otherwise.
	Role Role `json:"role,omitempty"`
	// Text is the text of PartText and of a textual PartResource.
	Text string `json:"text,omitempty"`
	// Data holds the bytes of PartImage, PartAudio and a binary PartResource;
	// nil otherwise. A tool hands it over and must not keep it.
	Data []byte `json:"data,omitempty"`
	// MediaType is the type of Data or of the content at URI, such as
	// image/png.
	MediaType string `json:"media_type,omitempty"`
	// URI identifies a PartResource or PartLink.
	URI string `json:"uri,omitempty"`
	// Name is the name of the resource of a PartLink.
	Name string `json:"name,omitempty"`
	// Title is the display title; empty means Name.
	Title string `json:"title,omitempty"`
	// Description describes the resource; it may be empty.
	Description string `json:"description,omitempty"`
	// Size is the length in bytes of the content of a PartLink; 0 means
	// unknown.
	Size int64 `json:"size,omitempty"`
}
