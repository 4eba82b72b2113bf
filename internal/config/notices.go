package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// maxNotices bounds the receivers: each has a queue and a goroutine.
	maxNotices = 16
	// maxMailsPerHour bounds what a person may be sent.
	maxMailsPerHour = 1000
	// defaultPerHour is what the documentation promises.
	defaultPerHour = 20
)

// What a notice is about.
const (
	NoticeHeld    = "held"
	NoticeDecided = "decided"
	NoticeExpired = "expired"
)

// Notice is a receiver of notices about held calls: a webhook or mail.
type Notice struct {
	// URL is where a webhook is sent; empty for mail.
	URL string
	// Secret is the reference of the secret with which a webhook is signed.
	Secret string
	// Relay is the name of the relay of mail; empty for a webhook.
	Relay string
	// To lists the bare addresses of mail.
	To []string
	// PerHour bounds the mails of an hour.
	PerHour int
	// Events lists what the receiver learns of, as constants; never empty.
	Events []string
	// Arguments says that a notice has the arguments of the call.
	Arguments bool
	// Roles and Tools narrow the calls; nil means all. A tool is a name, or
	// "mcp__SERVER__*".
	Roles, Tools []string
}

func noticeKeys() []row {
	const n = "notices.<name>"
	set := func(store func(*Notice, value)) func(*scope, value) {
		return func(s *scope, v value) { editElement(&s.cfg.Notices, s.name, func(n *Notice) { store(n, v) }) }
	}
	return []row{
		{
			KeyDoc: KeyDoc{"page_url", TypeText, false, true, "the address at which `serve` listens", "Address by which people reach the page of this server, for links in notices and of `sallyport page`.", "https://gate.example.com"},
			check:  (*scope).pageURL, set: func(s *scope, v value) { s.cfg.PageURL = v.text },
		},
		{KeyDoc: KeyDoc{"notices", TypeNames, false, true, "none", "Where a server says that calls wait for a person: webhooks and mail, 16 at most.", "{chat: {url: \"https://chat.example.com/hook\", secret: notices/chat}}"}, hide: true},
		{
			KeyDoc: KeyDoc{n, TypeMapping, false, true, "", "One receiver, with `url` and `secret` or with `relay` and `to`; the name has 1 to 64 letters, digits, `_` or `-`.", "{url: \"https://chat.example.com/hook\", secret: notices/chat}"},
			set:    set(func(n *Notice, _ value) { n.Events, n.PerHour = []string{NoticeHeld}, defaultPerHour }), done: (*scope).checkNotice, hide: true,
		},
		{
			KeyDoc: KeyDoc{n + ".url", TypeText, false, true, "", "Address of a webhook: https, or http on this machine.", "https://chat.example.com/hook"},
			check:  (*scope).hookURL, hide: true, set: set(func(n *Notice, v value) { n.URL = v.text }),
		},
		{
			KeyDoc: KeyDoc{n + ".secret", TypeText, false, true, "", "Reference of the secret with which a webhook is signed: `whsec_` and 24 to 64 bytes in base64.", "notices/chat"},
			check:  (*scope).signingRef, hide: true, set: set(func(n *Notice, v value) { n.Secret = v.text }),
		},
		{
			KeyDoc: KeyDoc{n + ".relay", TypeText, false, true, "", "Name of the relay below `mail` that sends the mail.", "default"},
			set:    set(func(n *Notice, v value) { n.Relay = v.text }),
		},
		{
			KeyDoc: KeyDoc{n + ".to", TypeTexts, false, true, "", "Addresses of the people who get the mail.", "[oncall@example.com]"},
			check:  (*scope).mailAddress, set: set(func(n *Notice, v value) { n.To = v.list }),
		},
		{
			KeyDoc: KeyDoc{n + ".per_hour", TypeNumber, false, true, "20", "Mails of an hour, 1 to 1000. One more says that no further mail comes in that hour.", "20"},
			check:  (*scope).mailsPerHour, set: set(func(n *Notice, v value) { n.PerHour = int(storedNumber(v.text)) }),
		},
		{
			KeyDoc: KeyDoc{n + ".events", TypeTexts, false, true, "`[held]`", "What the receiver learns of: a call is `held`, was `decided`, or `expired` without a decision.", "[held, decided, expired]"},
			words:  []string{NoticeHeld, NoticeDecided, NoticeExpired}, set: set(func(n *Notice, v value) { n.Events = v.list }),
		},
		{
			KeyDoc: KeyDoc{n + ".arguments", TypeBool, false, true, "false", "Whether a notice has the arguments of the call, cleaned and bounded.", "false"},
			set:    set(func(n *Notice, v value) { n.Arguments = v.flag }),
		},
		{
			KeyDoc: KeyDoc{n + ".roles", TypeTexts, false, true, "all", "Only calls in these roles.", "[assistant]"}, refersTo: "personalities",
			set: set(func(n *Notice, v value) { n.Roles = v.list }),
		},
		{
			KeyDoc: KeyDoc{n + ".tools", TypeTexts, false, true, "all", "Only calls of these tools: names, or all tools of a server as `mcp__notes__*`.", `[email-send, "mcp__bank__*"]`},
			check:  (*scope).noticedTool, set: set(func(n *Notice, v value) { n.Tools = v.list }),
		},
	}
}

// hookURL reads the address of a webhook. The text is never repeated: people put
// secrets in it.
func (s *scope) hookURL(v string) (string, error) {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return "", errors.New("expected an address without user and fragment, such as https://chat.example.com/hook")
	}
	host, err := reach.CanonicalHost(hostOf(u))
	if err != nil {
		return "", errors.New("the host of the address is none: expected one such as https://chat.example.com/hook")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", errors.New("the port of the address is none: expected 1 to 65535")
		}
	}
	if u.Scheme == "http" && !isLoopback(host) {
		return "", errors.New("expected https: http is for a receiver on this machine, such as http://127.0.0.1:8080/hook")
	}
	return v, nil
}

// signingRef reads the reference of a secret that signs, and refuses the secret itself.
func (s *scope) signingRef(v string) (string, error) {
	if strings.HasPrefix(v, "whsec_") {
		return "", errors.New("expected the reference of a secret such as notices/chat, not the secret: the value is never written here")
	}
	return s.exactRef(v)
}

// hostOf returns the host of a URL as it is written there, an IPv6 address in brackets.
func hostOf(u *url.URL) string {
	if strings.Contains(u.Hostname(), ":") {
		return "[" + u.Hostname() + "]"
	}
	return u.Hostname()
}

// pageURL reads the address of the page, and returns it without a final slash.
func (s *scope) pageURL(v string) (string, error) {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", errors.New("expected an http or https address without user, path, query and fragment, such as https://gate.example.com")
	}
	return strings.TrimRight(v, "/"), nil
}

// mailAddress reads a bare address.
func (s *scope) mailAddress(v string) (string, error) {
	if strings.HasPrefix(v, "*@") {
		return "", fmt.Errorf("%s is no address: a person reads the mail, such as oncall@example.com", yamldoc.Quote(v))
	}
	return s.parseRecipient(v)
}

func (s *scope) mailsPerHour(v string) (string, error) {
	if n := storedNumber(v); !isDigits(v) || n < 1 || n > maxMailsPerHour {
		return "", fmt.Errorf("expected a number from 1 to %d", maxMailsPerHour)
	}
	return v, nil
}

// noticedTool reads the name of a tool, or all tools of a server.
func (s *scope) noticedTool(v string) (string, error) {
	if rest, ok := strings.CutPrefix(v, "mcp__"); ok && nameOK(strings.TrimSuffix(rest, "__*")) {
		return v, nil
	}
	return s.toolName(v)
}

// checkNotice checks the keys of a receiver together.
func (s *scope) checkNotice(key string) {
	n := s.cfg.Notices[s.name]
	given := func(name string) bool { _, ok := s.places[key+"."+name]; return ok }
	refuse := func(name, why string) {
		if at, ok := s.places[key+"."+name]; ok {
			s.keyFault(s.file, at.at, key+"."+name, "%s.%s: %s", key, name, why)
		}
	}
	require := func(name, why string) {
		if !given(name) {
			s.addFault(s.file, s.places[key].at, key+"."+name, "missing key %s.%s: %s: %s", key, name, why, s.table.byKey["notices.<name>."+name].Example)
		}
	}
	switch {
	case given("url"):
		require("secret", "a receiver knows by it who sends")
		for _, name := range []string{"relay", "to", "per_hour"} {
			refuse(name, "is for mail, and this is a webhook")
		}
	case given("relay") || given("to"):
		require("relay", "mail needs the name of a relay")
		require("to", "mail needs addresses")
		refuse("secret", "is for a webhook, and this is mail")
		if given("relay") && n.Relay != "" {
			at := s.places[key+".relay"]
			s.refs = append(s.refs, nameReference{at, key + ".relay", n.Relay, "mail"})
		}
	default:
		s.addFault(s.file, s.places[key].at, key, "%s: expected url and secret for a webhook, or relay and to for mail", key)
	}
	for _, name := range []string{"to", "events", "roles", "tools"} {
		// An element that is wrong is reported by itself.
		list := map[string][]string{"to": n.To, "events": n.Events, "roles": n.Roles, "tools": n.Tools}[name]
		if at, ok := s.places[key+"."+name]; ok && list != nil && len(list) == 0 && !given(name+".0") {
			s.addFault(s.file, at.at, key+"."+name, "%s.%s: expected at least one; remove the key for the default", key, name)
		}
	}
	if len(s.cfg.Notices) == maxNotices+1 {
		s.addFault(s.file, s.places[key].at, key, "notices: expected at most %d in all files", maxNotices)
	}
}
