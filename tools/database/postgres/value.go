package postgres

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

// Object identifiers of PostgreSQL's types (pg_type.dat): they never change.
const (
	oidBool        = 16
	oidBytea       = 17
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidOID         = 26
	oidFloat4      = 700
	oidFloat8      = 701
	oidTimestamp   = 1114
	oidTimestampTZ = 1184
)

// pgValue turns the text of a value into what a caller gets. Exact numbers,
// dates, intervals, JSON, arrays and every other type stay the text that the
// server writes. So does a text that is not of the form expected, because the
// query changed a setting.
func pgValue(oid uint32, v []byte) any {
	if v == nil {
		return nil
	}
	s := string(v)
	switch oid {
	case oidBool:
		if s == "t" || s == "f" {
			return s == "t"
		}
	case oidInt2, oidInt4, oidInt8, oidOID:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return engine.IntegerValue(n)
		}
	case oidFloat4, oidFloat8:
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return engine.FloatValue(f)
		}
	case oidBytea:
		if h, ok := strings.CutPrefix(s, `\x`); ok {
			if b, err := hex.DecodeString(h); err == nil {
				return engine.BinaryValue(b)
			}
		}
	case oidTimestamp:
		return engine.TimeValue(s, "")
	case oidTimestampTZ:
		// The session's zone is UTC.
		if at, ok := strings.CutSuffix(s, "+00"); ok {
			return engine.TimeValue(at, "Z")
		}
	}
	return engine.TextValue(s)
}
