package audit

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// appendBody appends the JSON of a bounded event, without a sequence number. It
// writes what encoding/json writes without escaping for HTML, and does so by
// hand because every call waits for two of them.
func (e *Event) appendBody(b, grant []byte) ([]byte, error) {
	if y := e.Time.Year(); y < 0 || y > 9999 {
		return b, fmt.Errorf("audit: encode: the year %d has no text", y)
	}
	if math.IsNaN(e.CostUSD) || math.IsInf(e.CostUSD, 0) {
		return b, fmt.Errorf("audit: encode: a price of %v has no text", e.CostUSD)
	}
	b = strconv.AppendInt(append(b, `{"version":`...), int64(e.Version), 10)
	b = appendInt(b, "seq", e.Seq)
	b = e.Time.AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano)
	b = appendText(append(b, '"'), "kind", e.Kind)
	b = appendText(b, "call_id", e.CallID)
	b = appendTextUnlessEmpty(b, "tool_call_id", e.ToolCallID)
	b = appendText(b, "tool", e.Tool)
	b = appendText(b, "principal", e.Principal)
	b = appendTextUnlessEmpty(b, "session", e.Session)
	b = appendTextUnlessEmpty(b, "personality", e.Personality)
	b = appendTextUnlessEmpty(b, "platform", e.Platform)
	b = appendTextUnlessEmpty(b, "agent", e.Agent)
	b = appendTextUnlessEmpty(b, "team", e.Team)
	b = appendTextUnlessEmpty(b, "delegated_by", e.DelegatedBy)
	b = appendTextUnlessEmpty(b, "args", e.Args)
	b = appendTextUnlessEmpty(b, "args_digest", e.ArgsDigest)
	b = appendTextUnlessEmpty(b, "definition", e.Definition)
	if e.Grant != nil {
		b = append(appendKey(b, "grant"), grant...)
	}
	b = appendTextUnlessEmpty(b, "grant_digest", e.GrantDigest)
	if e.Change != nil {
		b = e.Change.appendJSON(appendKey(b, "change"))
	}
	b = appendTextUnlessEmpty(b, "code", e.Code)
	b = appendTextUnlessEmpty(b, "stage", e.Stage)
	b = appendTextUnlessEmpty(b, "error", e.Error)
	b = appendDecisions(b, e.Decisions)
	b = appendTrue(b, "dry_run", e.DryRun)
	b = appendTrue(b, "cached", e.Cached)
	b = appendInt(b, "value_chars", int64(e.ValueChars))
	b = appendInt(b, "parts", int64(e.Parts))
	b = appendInt(b, "part_bytes", e.PartBytes)
	b = appendFloat(b, "cost_usd", e.CostUSD)
	b = appendTextUnlessEmpty(b, "level", e.Level)
	b = appendTextUnlessEmpty(b, "full", e.Full)
	b = appendTextUnlessEmpty(b, "key_id", e.KeyID)
	if e.Kind == KindOutcome {
		b = strconv.AppendBool(appendKey(b, "ok"), e.OK)
	}
	b = appendFloat(b, "duration_ms", float64(e.Duration)/float64(time.Millisecond))
	b = appendCarried(b, e.Carried)
	b = appendUsed(b, e.Used)
	return append(appendBrought(b, e.Brought), '}'), nil
}

func (c *Change) appendJSON(b []byte) []byte {
	b = appendText(append(b, '{'), "action", c.Action)
	b = appendText(b, "target", c.Target)
	b = appendTextUnlessEmpty(b, "detail", c.Detail)
	b = appendTextUnlessEmpty(b, "user", c.User)
	return append(b, '}')
}

// appendDecisions appends the trail as a member; nothing when it is empty.
func appendDecisions(b []byte, trail []sallyport.Decision) []byte {
	if len(trail) == 0 {
		return b
	}
	b = append(appendKey(b, "decisions"), '[')
	for i := range trail {
		d := &trail[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, '{'), "step", d.Step)
		b = strconv.AppendBool(appendKey(b, "allowed"), d.Allowed)
		b = appendTextUnlessEmpty(b, "capability", d.Capability)
		b = appendTextUnlessEmpty(b, "resource", d.Resource)
		b = appendTextUnlessEmpty(b, "why", d.Why)
		b = appendTextUnlessEmpty(b, "source", d.Source)
		b = append(appendTextUnlessEmpty(b, "fix", d.Fix), '}')
	}
	return append(b, ']')
}

// appendKey appends the key of a member, which needs no escapes, and the comma
// before it.
func appendKey(b []byte, key string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), key...), '"', ':')
}

func appendText[T ~string](b []byte, key string, text T) []byte {
	return rawjson.AppendPlainText(appendKey(b, key), string(text))
}

func appendTextUnlessEmpty[T ~string](b []byte, key string, text T) []byte {
	if text == "" {
		return b
	}
	return appendText(b, key, text)
}

func appendTrue(b []byte, key string, is bool) []byte {
	if !is {
		return b
	}
	return append(appendKey(b, key), `true`...)
}

// appendInt appends a number that is left out when it is 0.
func appendInt(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(appendKey(b, key), n, 10)
}

// appendFloat appends a number that is left out when it is 0.
func appendFloat(b []byte, key string, f float64) []byte {
	if f == 0 {
		return b
	}
	return rawjson.AppendFloat(appendKey(b, key), f)
}
