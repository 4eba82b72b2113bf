package mysql

import (
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

// mysqlValue turns what the driver read into what a caller gets. The type is
// the driver's name of the column's type.
func mysqlValue(kind string, v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case int64:
		return engine.IntegerValue(v)
	case uint64:
		return engine.UnsignedValue(v)
	case float32:
		// The shortest text that is this number, not the digits of a wider one.
		f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		return engine.FloatValue(f)
	case float64:
		return engine.FloatValue(v)
	case []byte:
		return mysqlBytes(kind, v)
	case string:
		return mysqlBytes(kind, []byte(v))
	default:
		return nil
	}
}

func mysqlBytes(kind string, b []byte) any {
	switch strings.TrimPrefix(kind, "UNSIGNED ") {
	case "TIMESTAMP":
		// The session's zone is UTC.
		return engine.TimeValue(string(b), "Z")
	case "DATETIME":
		return engine.TimeValue(string(b), "")
	case "BIT":
		var n uint64
		for _, c := range b {
			n = n<<8 | uint64(c)
		}
		return engine.UnsignedValue(n)
	case "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY", "GEOMETRY":
		return engine.BinaryValue(b)
	default:
		return engine.TextValue(string(b))
	}
}
