package importer

import (
	"fmt"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/ownregistry"
)

// ownCredential is what the settings of this machine send to a registry from which
// servers come.
type ownCredential struct {
	registry install.Registry
	source   ownregistry.Source
	ref      string
}

// StoredCredential says where the credential of a registry is. Its value is never here.
type StoredCredential struct {
	// Source names the source of secrets that has a value; empty when none has.
	Source string
	// Stored says that this import stored it: no source had a value.
	Stored bool
	// Noted says that the client is noted since this import among those that need it.
	Noted bool
}

// planCredential plans that the credential of a registry is stored, and says what the
// user has to do where it is not. isNew is true for a registry that the configuration
// does not name yet.
func (i *clientImport) planCredential(p *serverPlan, r install.Registry, s ownregistry.Source, isNew bool) {
	ref := ownregistry.SecretRef(string(r), s.URL)
	if !s.Credentials || ref == "" {
		return
	}
	c := ownCredential{r, s, ref}
	p.credentials = append(p.credentials, c)
	if remark, ok := i.o.credentials[ref]; ok {
		p.addRemark("%s", remark)
	} else if isNew {
		p.addRemark("%s", c.adviseCommand())
	}
}

// adviseCommand names the command that stores the credential.
func (c *ownCredential) adviseCommand() string {
	return fmt.Sprintf("%s holds a token or password for %s; for packages that need it: sallyport secrets set %s", c.source.At, c.source.URL, c.ref)
}

