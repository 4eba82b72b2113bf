package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// layerServer is where all requests of a layer go.
type layerServer struct {
	// base is the address without a final slash, host what is granted.
	base, host string
	// plain is true for http, which is for this machine only.
	plain bool
}

// wordOf returns the host as a word of a permission and a reference.
func (s *layerServer) wordOf() string {
	host, _, err := reach.SplitHostPort(s.host)
	if err != nil {
		host = s.host
	}
	return strings.Trim(toWord(host, "-."), "_.-")
}

func (im *importer) chooseServer() (err error) {
	at := im.doc.Root().Get("servers")
	var listed []string
	for _, item := range at.Items() {
		if s, ok := item.Get("url").Text(); ok {
			listed = append(listed, s)
		}
	}
	if !at.Present() {
		at = im.doc.Root()
	}
	if im.o.Server != "" {
		if im.server, err = parseServer(im.o.Server); err != nil {
			return fmt.Errorf("--server %s: %s", quoteShort(hideUser(im.o.Server)), hideUser(err.Error()))
		}
		if !containsServer(listed, im.server.base) {
			im.addNote(at, Changed, "the server is %s, which is none of the document's", im.server.base)
		}
	} else {
		const choose = "choose the address with --server"
		var shown []string
		for _, address := range listed[:min(len(listed), 5)] {
			shown = append(shown, hideUser(address))
		}
		switch {
		case len(listed) == 0:
			return im.newFault(at, "servers: the document names no server: %s", choose)
		case len(listed) > 1:
			return im.newFault(at, "servers: expected one server, found %d (%s): %s", len(listed), strings.Join(shown, ", "), choose)
		}
		if im.server, err = parseServer(listed[0]); err != nil {
			return im.newFault(at, "servers: %s: %s: %s", quoteShort(shown[0]), hideUser(err.Error()), choose)
		}
	}
	im.api = cmp.Or(toSlug(im.o.Prefix), im.server.wordOf())
	if im.server.plain {
		im.addNote(at, Changed, "%s is sent without encryption, to this machine: the personality needs allow_private_urls", im.server.base)
	}
	return nil
}

// hideUser takes the user and the password of an address out of a message. A password may
// have any character, so that all before the last @ is taken for one.
func hideUser(message string) string { return userInfo.ReplaceAllString(message, "//…@") }

var userInfo = regexp.MustCompile(`(?s)//.*@`)

func parseServer(text string) (layerServer, error) {
	text = strings.TrimRight(text, "/")
	switch {
	case strings.ContainsAny(text, "{}"):
		return layerServer{}, errors.New("the address has variables")
	case !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://"):
		return layerServer{}, errors.New("expected an absolute address that begins with https://")
	case strings.ContainsAny(text, "?#\\ "):
		return layerServer{}, errors.New("expected an address without a query and a fragment")
	}
	u, err := egress.ParseURL(text + "/")
	if err != nil {
		return layerServer{}, err
	}
	if strings.Contains(u.Path, "//") {
		return layerServer{}, errors.New("the path holds an empty segment")
	}
	name, port, err := reach.SplitHostPort(strings.TrimSuffix(u.Host, ":"))
	if err != nil {
		return layerServer{}, err
	}
	host := name
	if strings.Contains(name, ":") {
		host = "[" + name + "]"
	}
	if port != 0 {
		host += ":" + strconv.Itoa(int(port))
	}
	plain := u.Scheme == "http"
	if plain && !isLoopback(name) {
		return layerServer{}, errors.New("expected https: http is for a server on this machine")
	}
	return layerServer{base: u.Scheme + "://" + host + escapePath(strings.TrimRight(u.EscapedPath(), "/")), host: host, plain: plain}, nil
}

// isLoopback reports whether a host is this machine by its address.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func containsServer(list []string, base string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		other, err := parseServer(s)
		return err == nil && other.base == base
	})
}

// otherServers returns the servers of an operation's own, or of its path, when
// the layer's is none of them.
func (im *importer) otherServers(holders ...yamldoc.Node) (yamldoc.Node, bool) {
	for _, holder := range holders {
		at := holder.Get("servers")
		if len(at.Items()) == 0 {
			continue
		}
		var listed []string
		for _, item := range at.Items() {
			s, _ := item.Get("url").Text()
			listed = append(listed, s)
		}
		return at, !containsServer(listed, im.server.base)
	}
	return yamldoc.Node{}, false
}

// escapePath writes the fixed text of a path: what a URL may not hold is
// percent-encoded, and what is encoded already stays.
func escapePath(s string) string {
	const plain = "-._~!$&'()*+,;=:@/%"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// templatePath writes the path of an operation as a template. rename says
// which argument a placeholder means.
func templatePath(path string, rename map[string]string) (string, error) {
	if !strings.HasPrefix(path, "/") {
		return "", errors.New("the path does not begin with /")
	}
	if strings.ContainsAny(path, "?#") {
		return "", errors.New("the path holds a ? or a #")
	}
	var b strings.Builder
	for rest := path; rest != ""; {
		text, after, found := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return "", errors.New("the path holds a } without its {")
		}
		if _, err := url.PathUnescape(text); err != nil {
			return "", errors.New("a % in the path is not followed by two hexadecimal digits")
		}
		b.WriteString(escapePath(text))
		if !found {
			break
		}
		name, behind, closed := strings.Cut(after, "}")
		if !closed {
			return "", errors.New("the path holds a { without its }")
		}
		argument, ok := rename[name]
		if !ok {
			return "", fmt.Errorf("the path names {%s}, which is no parameter of it", name)
		}
		b.WriteString("{" + argument + "}")
		rest = behind
	}
	return b.String(), nil
}
