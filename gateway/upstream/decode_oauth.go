package upstream

import (
	"strings"

	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/reach"
)

// decodeOAuth reads how tokens for a remote server are obtained.
func (d *serverDecoder) decodeOAuth(top *definition.Object, local bool) {
	v, at, ok := top.Take("oauth", "")
	switch {
	case !ok:
		return
	case local:
		d.Fault(at, "is only for a server with url: for a command write secret_env")
		return
	}
	o := d.Object(at, v)
	if o == nil {
		return
	}
	for _, h := range d.s.Headers {
		if h.Name == "Authorization" {
			d.Fault("/headers/"+h.Name, "oauth sets this header: remove the header or oauth")
		}
	}
	s := &oauth.Server{
		Name: d.s.Name, URL: d.s.URL, Grant: oauth.Grant(o.Text("grant", "", false)),
		ClientID: o.Text("client_id", "", false), Document: o.Text("client_metadata_url", "", false),
		ClientSecret: d.decodeSecretRef(o, at, "client_secret_secret"), PrivateKey: d.decodeSecretRef(o, at, "private_key_secret"),
		Register: o.Flag("register", ""), Issuer: o.Text("issuer", "", false), Scopes: o.Texts("scopes"),
		Assertion: d.decodeSecretRef(o, at, "assertion_secret"), Provider: d.decodeProvider(o), TokenEndpoint: o.Text("token_endpoint", "", false),
	}
	o.Done()
	if err := s.Check(); err != nil {
		for why := range strings.SplitSeq(err.Error(), "\n") {
			d.Fault(at, "%s", why)
		}
	}
	d.s.OAuth = s
}

// decodeProvider reads the identity provider; nil when there is none.
func (d *serverDecoder) decodeProvider(o *definition.Object) *oauth.Provider {
	v, at, ok := o.Take("identity_provider", "")
	if !ok {
		return nil
	}
	p := &oauth.Provider{}
	if in := d.Object(at, v); in != nil {
		p.Issuer, p.ClientID = in.Text("issuer", "", true), in.Text("client_id", "", true)
		p.ClientSecret, p.TokenEndpoint = d.decodeSecretRef(in, at, "client_secret_secret"), in.Text("token_endpoint", "", false)
		in.Done()
	}
	return p
}

// decodeSecretRef reads a reference to a secret, or returns "" when there is none. Naming
// the secret grants it.
func (d *serverDecoder) decodeSecretRef(o *definition.Object, at, key string) string {
	ref := o.Text(key, "", false)
	if ref == "" {
		return ""
	}
	if err := reach.ParseExactRef(ref); err != nil {
		d.Fault(definition.Below(at, key), "not a secret reference: %v", err)
	}
	return ref
}
