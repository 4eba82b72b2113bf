package database

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/sallyport/sallyport"
)

// plainArgs makes arguments nil, bool, int64, float64, string, []byte, or
// json.Number for a number that is not one of these exactly.
func plainArgs(args []any) ([]any, error) {
	plain := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case nil, bool, int64, string, []byte:
			plain[i] = v
		case int:
			plain[i] = int64(v)
		case int32:
			plain[i] = int64(v)
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, sallyport.InputInvalid(fmt.Sprintf("params[%d]: not a finite number", i))
			}
			plain[i] = v
		case time.Time:
			plain[i] = v.Format(time.RFC3339Nano)
		case json.Number:
			if n, err := v.Int64(); err == nil {
				plain[i] = n
			} else if f, err := v.Float64(); err == nil && !math.IsInf(f, 0) {
				plain[i] = v
			} else {
				return nil, sallyport.InputInvalid(fmt.Sprintf("params[%d]: not a number in range", i))
			}
		default:
			return nil, sallyport.InputInvalid(fmt.Sprintf("params[%d]: expected text, a number, true, false or null", i))
		}
	}
	return plain, nil
}
