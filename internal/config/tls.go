package config

// TLS says how serve encrypts; nil fields of Config mean that it does not.
type TLS struct {
	// Cert and Key are the absolute paths of PEM files with the certificate chain and
	// its private key.
	Cert, Key string
	// ClientCA is the absolute path of a PEM file with the authorities whose client
	// certificates are principals; empty believes none.
	ClientCA string
}

func tlsKeys() []row {
	set := func(store func(*TLS, value)) func(*scope, value) {
		return func(s *scope, v value) { store(s.cfg.TLS, v) }
	}
	return []row{
		{
			KeyDoc: KeyDoc{"tls", TypeMapping, false, true, "plain HTTP", "Certificate with which `serve` encrypts. The files are read again when they change.", "{cert: tls/cert.pem, key: tls/key.pem}"},
			set:    func(s *scope, _ value) { s.cfg.TLS = &TLS{} },
		},
		{
			KeyDoc: KeyDoc{"tls.cert", TypeText, true, true, "", "PEM file with the certificate and those that lead to its authority.", "tls/cert.pem"},
			check:  (*scope).resolvePath, set: set(func(t *TLS, v value) { t.Cert = v.text }),
		},
		{
			KeyDoc: KeyDoc{"tls.key", TypeText, true, true, "", "PEM file with the private key. No tool reaches it.", "tls/key.pem"},
			check:  (*scope).resolvePath, set: set(func(t *TLS, v value) { t.Key = v.text }),
		},
		{
			KeyDoc: KeyDoc{"tls.client_ca", TypeText, false, true, "no certificate is a principal", "PEM file with the authorities of client certificates. A client that brings no token is the principal that the common name of its certificate names.", "tls/clients.pem"},
			check:  (*scope).resolvePath, set: set(func(t *TLS, v value) { t.ClientCA = v.text }),
		},
	}
}
