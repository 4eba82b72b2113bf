package sallyport

// PartKind says what a [Part] holds.
type PartKind string

// The kinds of parts.
const (
	// PartText is Text.
	PartText PartKind = "text"
	// PartImage is Data of a picture's MediaType.
	PartImage PartKind = "image"
	// PartAudio is Data of a sound's MediaType.
	PartAudio PartKind = "audio"
	// PartResource is what is behind URI: Text, or Data when it is binary.
	PartResource PartKind = "resource"
	// PartLink names what is behind URI without bringing it.
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

// Role says who speaks in a message of a prompt.
type Role string

// The roles. The empty role is that of a part outside prompts.
const (
	// RoleUser is the person.
	RoleUser Role = "user"
	// RoleAssistant is the model.
	RoleAssistant Role = "assistant"
)

// Part is a piece of a result beside its Value: a picture, a sound, a
// resource, or a message of a prompt. The gate cleans every text in it, and
// bounds texts and data together with those of the other parts.
type Part struct {
	// Kind says which of the other fields count.
	Kind PartKind `json:"kind"`
	// Role is who speaks, in the result of a prompt; empty otherwise.
	Role Role `json:"role,omitempty"`
	// Text is the text of PartText and of a textual PartResource.
	Text string `json:"text,omitempty"`
	// Data is the bytes of PartImage, PartAudio and a binary PartResource;
	// nil otherwise. A tool hands it over and must not keep it.
	Data []byte `json:"data,omitempty"`
	// MediaType is the type of Data or of what is behind URI, such as
	// image/png.
	MediaType string `json:"media_type,omitempty"`
	// URI identifies a PartResource or PartLink.
	URI string `json:"uri,omitempty"`
	// Name is what a PartLink is called.
	Name string `json:"name,omitempty"`
	// Title is its display title; empty means Name.
	Title string `json:"title,omitempty"`
	// Description says what it is for; it may be empty.
	Description string `json:"description,omitempty"`
	// Size is the length in bytes of what is behind a PartLink; 0 means
	// unknown.
	Size int64 `json:"size,omitempty"`
}
