package siem

import (
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/audit"
)

// cefLine writes a record as CEF: a header of eight fields that | parts, and pairs.
func cefLine(e *audit.Event, hash, version string) string {
	var b strings.Builder
	b.WriteString("CEF:0")
	status, _ := statusOf(e)
	for _, field := range []string{"Sallyport", "Sallyport", version, string(e.Kind), operationOf(e), strconv.Itoa(cefSeverity(e))} {
		b.WriteString("|" + cefHeader.Replace(plainLine(field)))
	}
	b.WriteString("|")
	pair := func(key, value string) {
		if value != "" {
			b.WriteString(key + "=" + cefValue.Replace(value) + " ")
		}
	}
	pair("rt", strconv.FormatInt(e.Time.UnixMilli(), 10))
	pair("externalId", e.CallID)
	pair("suser", e.Principal)
	pair("act", string(e.Stage))
	pair("outcome", status)
	pair("reason", string(e.Code))
	pair("app", string(e.Platform))
	pair("msg", messageOf(e))
	for i, custom := range [][2]string{{"seq", strconv.FormatInt(e.Seq, 10)}, {"hash", hash}, {"role", string(e.Personality)}, {"session", string(e.Session)}, {"argsSha256", e.ArgsDigest}} {
		if custom[1] != "" {
			n := "cs" + strconv.Itoa(i+1)
			pair(n+"Label", custom[0])
			pair(n, custom[1])
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

// Escapes of CEF: | and \ in the header, = and \ in values, ends of lines in both.
var (
	cefHeader = strings.NewReplacer(`\`, `\\`, `|`, `\|`)
	cefValue  = strings.NewReplacer(`\`, `\\`, `=`, `\=`, "\r", `\r`, "\n", `\n`)
)

// plainLine makes one line of a text.
func plainLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

// cefSeverity is 0 to 10.
func cefSeverity(e *audit.Event) int { return map[int]int{1: 1, 2: 4, 3: 7}[severityOf(e)] }
