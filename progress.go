package sallyport

import "encoding/json"

// Audience says which recipients may see a progress event.
type Audience string

// The audiences. The empty audience means internal.
const (
	// AudienceInternal means logs and telemetry only.
	AudienceInternal Audience = "internal"
	// AudienceUser means the stream that the user sees.
	AudienceUser Audience = "user"
	// AudienceDashboard means the operator's page.
	AudienceDashboard Audience = "dashboard"
)

// Progress is an event from a running tool.
type Progress struct {
	// Tool is the ID of the tool. The gate sets it.
	Tool string
	// Message is for people.
	Message string
	// Percent is 0 to 100; nil when unknown.
	Percent *float64
	// Audience is internal when it is empty or unknown.
	Audience Audience
}

// MarshalJSON writes {"type":"progress","toolName":…,"message":…}.
func (p Progress) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type     string   `json:"type"`
		Tool     string   `json:"toolName"`
		Message  string   `json:"message"`
		Percent  *float64 `json:"percent,omitempty"`
		Audience Audience `json:"audience"`
	}{"progress", p.Tool, p.Message, p.Percent, p.VisibleTo()})
}

// VisibleTo returns the audience, internal when it is empty or unknown.
func (p Progress) VisibleTo() Audience {
	switch p.Audience {
	case AudienceUser, AudienceDashboard:
		return p.Audience
	default:
		return AudienceInternal
	}
}
