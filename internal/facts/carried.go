package facts

// MaxPieces bounds the pieces that the record of a call names.
const MaxPieces = 64

// Carried says what of the arguments of a call was in what its conversation had read, so
// that other rules can be asked about it when the texts are gone.
type Carried struct {
	// Pieces are the digests of the pieces that were, in their canonical form, sorted.
	Pieces []string `json:"pieces,omitempty"`
	// More says that there were more than MaxPieces.
	More bool `json:"more,omitempty"`
	// Unknown says that more was read than is remembered, so that every value counts.
	Unknown bool `json:"unknown,omitempty"`
	// Kinds is the digest of what the tool said of its arguments that name places;
	// empty when it said nothing.
	Kinds string `json:"kinds,omitempty"`
	// Copied are those of the pieces that the words of the person may be copied from: what
	// other sessions had read.
	Copied []string `json:"copied,omitempty"`
	// Wordless says that all of the words may be copied.
	Wordless bool `json:"wordless,omitempty"`
}

// IsBounded reports whether c has the form in which a record may hold it.
func (c *Carried) IsBounded() bool {
	if len(c.Pieces) > MaxPieces || len(c.Copied) > MaxPieces || !isShortDigest(c.Kinds) && c.Kinds != "" {
		return false
	}
	for _, list := range [][]string{c.Pieces, c.Copied} {
		for _, p := range list {
			if !isShortDigest(p) {
				return false
			}
		}
	}
	return true
}

// isShortDigest reports whether a text is one of [ShortDigest].
func isShortDigest(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 2*shortDigestBytes
}
