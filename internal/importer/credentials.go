package importer

import (
	"context"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/ownregistry"
	"github.com/sallyport/sallyport/internal/text"
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

// storeCredentials stores the credentials of a plan where no source has one, before
// packages are installed. What cannot be stored without a question is left to the user.
func (t *takeOver) storeCredentials(ctx context.Context, i *clientImport, p *serverPlan) (err error) {
	if t.draft, err = i.newDraft(p, nil); err != nil {
		return err
	}
	t.options.credentials = map[string]string{}
	for _, c := range p.credentials {
		stored, err := i.env.StoreCredential(ctx, t.draft, i.client.Name, string(c.registry), c.source.URL)
		if stored.Noted {
			t.noted = append(t.noted, c.ref)
		}
		remark := ""
		switch {
		case err != nil:
			remark = c.adviseCommand() + fmt.Sprintf(" (not stored: %v)", err)
			t.unstored = append(t.unstored, c)
		case stored.Stored:
			remark = fmt.Sprintf("the credential for %s, which %s holds, is stored as the secret %s in the %s", c.source.URL, c.source.At, c.ref, stored.Source)
		default:
			remark = fmt.Sprintf("the secret %s has a value already, in the %s, which stays", c.ref, stored.Source)
		}
		t.options.credentials[c.ref] = remark
	}
	t.storeSecrets(ctx, i, p)
	return ctx.Err()
}

// storeSecrets stores what the client's file has for the secrets of servers, whose hosts
// this file or the user names, where no source has a value. What cannot be stored
// without a question is left to the user, who finds out when the server is tried.
func (t *takeOver) storeSecrets(ctx context.Context, i *clientImport, p *serverPlan) {
	t.options.stored = map[string]string{}
	for _, s := range p.foundSecrets() {
		stored, err := i.env.StoreSecret(ctx, t.draft, i.client.Name, s.Ref, sallyport.NewSecret(s.value))
		if stored.Noted {
			t.noted = append(t.noted, s.Ref)
		}
		switch {
		case err != nil:
			fmt.Fprintf(t.env.Err, "sallyport: the value of %s is not stored: %s\n", s.Name, text.OneLine(err.Error()))
		case stored.Stored:
			t.options.stored[s.Ref] = fmt.Sprintf("is stored as the secret %s in the %s", s.Ref, stored.Source)
		default:
			t.options.stored[s.Ref] = fmt.Sprintf("is in the %s already, as the secret %s, and stays", stored.Source, s.Ref)
		}
	}
}

// foundSecrets lists the secrets of servers whose values the client's file has.
func (p *serverPlan) foundSecrets() (found []neededSecret) {
	for _, s := range p.servers {
		for _, w := range s.secrets {
			if w.value != "" && (s.state == stateReady || s.state == stateDeclared) {
				found = append(found, w)
			}
		}
	}
	return found
}

// adviseCredential says what to do about a server that does not work, when its registry
// may want a credential that could not be stored.
func (t *takeOver) adviseCredential(s *plannedServer) (advice string) {
	pkg, _, _ := install.Parse(s.entry.Command)
	for _, c := range t.unstored {
		if c.registry == pkg.Registry {
			advice += "; " + t.options.credentials[c.ref]
		}
	}
	return advice
}

// dropCredentials removes what this import stored and the final plan does not use; nil
// means that nothing was imported.
func (t *takeOver) dropCredentials(ctx context.Context, client string, final *serverPlan) error {
	unused := slices.DeleteFunc(slices.Clone(t.noted), func(ref string) bool {
		return final != nil && (slices.ContainsFunc(final.credentials, func(c ownCredential) bool { return c.ref == ref }) ||
			slices.ContainsFunc(final.foundSecrets(), func(s neededSecret) bool { return s.Ref == ref }))
	})
	if len(unused) == 0 {
		return nil
	}
	_, err := t.env.RemoveCredentials(context.WithoutCancel(ctx), t.draft, client, unused)
	return err
}
