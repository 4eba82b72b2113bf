package importer

// StoredCredential says where the credential of a registry is. Its value is never here.
type StoredCredential struct {
	// Source names the source of secrets that has a value; empty when none has.
	Source string
	// Stored says that this import stored it: no source had a value.
	Stored bool
	// Noted says that the client is noted since this import among those that need it.
	Noted bool
}

