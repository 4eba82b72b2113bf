package database_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/sqlite"
)

// TestSQLiteFunctionsMeanTheSame compares what replaces functions of the
// engine with what its manual says of them.
func TestSQLiteFunctionsMeanTheSame(t *testing.T) {
	t.Parallel()
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: newSQLite(t)}, nil)
	for expression, want := range map[string]any{
		"instr('höher', 'h')":              int64(1),
		"instr('höher', 'er')":             int64(4),
		"instr('abc', '')":                 int64(1),
		"instr('abc', 'x')":                int64(0),
		"instr(x'c3b66162', x'61')":        int64(3),
		"instr(x'c3b66162', 'a')":          int64(2),
		"instr(1234, 3)":                   int64(3),
		"instr(NULL, 'x')":                 nil,
		"replace('a-b-c', '-', '+')":       "a+b+c",
		"replace('abc', '', 'x')":          "abc",
		"typeof(replace(12, '', 'x'))":     "integer",
		"replace('abc', 'b', NULL)":        nil,
		"trim('xxaxx', 'x')":               "a",
		"ltrim('öxaxö', 'xö')":             "axö",
		"rtrim('öxaxö', 'xö')":             "öxa",
		"trim('  a ', '')":                 "  a ",
		"trim('  a ')":                     "a",
		"trim('a', NULL)":                  nil,
		"hex(unhex('c3b6'))":               "C3B6",
		"typeof(trim(x'2061', ' '))":       "text",
		"instr('a' || char(0), 'a')":       int64(1),
		"replace('aaa', 'a', 'aa')":        "aaaaaa",
		"json_extract('{\"a\":1}', '$.a')": int64(1),
	} {
		got, err := query(t, b, sallyport.ModeRead, "SELECT "+expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if diff := cmp.Diff([][]any{{want}}, got.Rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expression, diff)
		}
	}
}

// TestSQLiteFunctionsEnd calls with large values what the engine computes in
// the product of their lengths, and which no deadline would interrupt. It
// fails by the time limit of the tests.
func TestSQLiteFunctionsEnd(t *testing.T) {
	t.Parallel()
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: newSQLite(t)}, &database.Options{Timeout: 10 * time.Second})
	const zeros = "hex(zeroblob(900000))"
	for _, q := range []string{
		"instr(" + zeros + ", hex(zeroblob(450000)) || '1')",
		"instr(zeroblob(1800000), zeroblob(900000) || x'01')",
		"length(replace(" + zeros + ", hex(zeroblob(450000)) || '1', ''))",
		"length(trim(" + zeros + ", replace(" + zeros + ", '0', '1') || '0'))",
		"length(unhex(replace(" + zeros + ", '0', 'x'), replace(" + zeros + ", '0', 'y') || 'x'))",
		"length(json_patch(j, replace(j, 'a', 'b'))) FROM (SELECT '{' || group_concat('\"a' || i || '\":1') || '}' AS j FROM " +
			"(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 100000) SELECT i FROM n))",
		"length(replace(" + zeros + ", '0', " + zeros + "))",
		"length(decimal_mul(replace(" + zeros + ", '0', '9'), replace(" + zeros + ", '0', '9')))",
	} {
		_, _ = query(t, b, sallyport.ModeRead, "SELECT "+q) // A refusal is an end too.
	}
	for _, q := range []string{"unhex('61', '')", "json_patch('{}', '{}')", "jsonb_patch('{}', '{}')", "decimal_mul('2', '3')", "decimal_pow2(2)"} {
		if got, err := query(t, b, sallyport.ModeRead, "SELECT "+q); !errors.Is(err, sallyport.ErrExecutionFailed) {
			t.Errorf("Query(%s) = %v, %v, want a refusal", q, got, err)
		}
	}
}
