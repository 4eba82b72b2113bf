package oauth

// A credential of the operator is good for years and for whoever has it, so that
// nothing a server says may choose who gets it. It goes to the issuer that is
// written beside it.

// credentials lists the keys of the operator's credentials that are set.
func (s *Server) credentials() (keys []string) {
	for _, one := range []struct{ key, ref string }{
		{"client_secret_secret", s.ClientSecret}, {"private_key_secret", s.PrivateKey}, {"assertion_secret", s.Assertion},
	} {
		if one.ref != "" {
			keys = append(keys, one.key)
		}
	}
	return keys
}
