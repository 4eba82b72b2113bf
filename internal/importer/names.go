package importer

import (
	"regexp"
	"strings"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/lock"
)

// repeatedSign matches separators that stand twice in a row.
var repeatedSign = regexp.MustCompile(`(_|-)[_-]+`)

// maxServerName is the longest name of a server, in bytes (internal/lock).
const maxServerName = 40

// serverName returns a valid server name. It replaces each character that a
// name cannot hold with a dash.
func serverName(name string) string {
	out := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, name)
	out = repeatedSign.ReplaceAllString(out, "$1")
	out = strings.Trim(out, "_-")
	if len(out) > maxServerName {
		out = numberName(out, name)
	}
	if lock.CheckServer(out) != nil {
		return numberName("server", name)
	}
	return out
}

// numberName makes a name unique with the digest of another text.
func numberName(name, apart string) string {
	end := "-" + digest.Text(apart)[:6]
	return strings.TrimRight(name[:min(len(name), maxServerName-len(end))], "_-") + end
}
