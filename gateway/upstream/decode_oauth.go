package upstream

import (
	"strings"

	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/internal/definition"
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
		ClientSecret: d.decodeSecret(o, at, "client_secret_secret", false), PrivateKey: d.decodeSecret(o, at, "private_key_secret", false),
		Register: o.Flag("register", ""), Issuer: o.Text("issuer", "", false), Scopes: o.Texts("scopes"),
		Assertion: d.decodeSecret(o, at, "assertion_secret", false), Provider: d.decodeProvider(o), TokenEndpoint: o.Text("token_endpoint", "", false),
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
		p.ClientSecret, p.TokenEndpoint = d.decodeSecret(in, at, "client_secret_secret", false), in.Text("token_endpoint", "", false)
		in.Done()
	}
	return p
}
