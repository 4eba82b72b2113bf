package report

// Revocation is the result of asking an issuer to revoke tokens that are no
// longer used.
type Revocation struct {
	// Outcome is revoked, unsupported or failed.
	Outcome string `json:"outcome"`
	// Error is why it failed; empty otherwise.
	Error string `json:"error,omitempty"`
}

// Describe describes the result for a user.
func (r *Revocation) Describe() string {
	const there = "end the access there too if the tokens may have leaked"
	switch r.Outcome {
	case "revoked":
		return "its issuer has revoked them"
	case "unsupported":
		return "its issuer revokes no tokens: " + there
	default:
		return "its issuer has not revoked them: " + r.Error + ": " + there
	}
}
