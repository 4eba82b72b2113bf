package sqlite

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"
)

// errSlowFunction refuses a function whose time grows with the product of its
// arguments' lengths.
var errSlowFunction = errors.New("this function may take hours for one value and is not available")

// sqliteFunctions replaces functions of the engine that take each character of
// one argument together with each of another. Such a call is a single step, which no
// deadline interrupts: two values of a megabyte take hours.
func sqliteFunctions(c *sqlite3.Conn, maxLength int) error {
	slow := func(ctx sqlite3.Context, _ ...sqlite3.Value) { ctx.ResultError(errSlowFunction) }
	for _, f := range []struct {
		name string
		args int
		fn   sqlite3.ScalarFunction
	}{
		{"instr", 2, sqliteInstr},
		{"replace", 3, sqliteReplace(maxLength)},
		{"trim", 2, sqliteTrim(strings.TrimFunc)},
		{"ltrim", 2, sqliteTrim(strings.TrimLeftFunc)},
		{"rtrim", 2, sqliteTrim(strings.TrimRightFunc)},
		{"unhex", 2, slow},
		{"json_patch", 2, slow},
		{"jsonb_patch", 2, slow},
		{"decimal_mul", 2, slow},
		{"decimal_pow2", 1, slow},
	} {
		// Innocuous, so that views may use them as they use the engine's.
		if err := c.CreateFunction(f.name, f.args, sqlite3.DETERMINISTIC|sqlite3.INNOCUOUS, f.fn); err != nil {
			return err
		}
	}
	return nil
}

// anyNull reports whether an argument is NULL, and makes the result that.
func anyNull(ctx sqlite3.Context, args []sqlite3.Value) bool {
	for _, a := range args {
		if a.Type() == sqlite3.NULL {
			ctx.ResultNull()
			return true
		}
	}
	return false
}

// sqliteInstr counts bytes when both arguments are bytes, else characters.
func sqliteInstr(ctx sqlite3.Context, args ...sqlite3.Value) {
	if anyNull(ctx, args) {
		return
	}
	if args[0].Type() == sqlite3.BLOB && args[1].Type() == sqlite3.BLOB {
		ctx.ResultInt(bytes.Index(args[0].RawBlob(), args[1].RawBlob()) + 1)
		return
	}
	text, part := args[0].Text(), args[1].Text()
	at := strings.Index(text, part)
	if at > 0 {
		at = utf8.RuneCountInString(text[:at])
	}
	ctx.ResultInt(at + 1)
}

func sqliteReplace(maxLength int) sqlite3.ScalarFunction {
	return func(ctx sqlite3.Context, args ...sqlite3.Value) {
		if anyNull(ctx, args) {
			return
		}
		text, from, to := args[0].Text(), args[1].Text(), args[2].Text()
		switch {
		case from == "":
			ctx.ResultValue(args[0])
		case len(text)+strings.Count(text, from)*(len(to)-len(from)) > maxLength:
			ctx.ResultError(sqlite3.TOOBIG)
		default:
			ctx.ResultText(strings.ReplaceAll(text, from, to))
		}
	}
}

func sqliteTrim(trim func(string, func(rune) bool) string) sqlite3.ScalarFunction {
	return func(ctx sqlite3.Context, args ...sqlite3.Value) {
		if anyNull(ctx, args) {
			return
		}
		set := map[rune]bool{}
		for _, r := range args[1].Text() {
			set[r] = true
		}
		ctx.ResultText(trim(args[0].Text(), func(r rune) bool { return set[r] }))
	}
}
