package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin"
)

// patience is a context that ends once it was asked so often whether it has ended.
type patience struct {
	context.Context
	left *atomic.Int64
}

func (p patience) Err() error {
	if p.left.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestWhatTakesLongAsksWhetherToGoOn runs code that ends by itself, in a context that
// ends before: by the fiftieth question of the guards. Without its guard, each of them
// would answer.
func TestWhatTakesLongAsksWhetherToGoOn(t *testing.T) {
	t.Parallel()
	const text, times = `{"ok":true}`, 100
	many := func(parts ...any) []byte { return bytes.Repeat(code(parts...), times) }
	size := i32(2 << 20)
	table := vector(append([]byte{0x70, 1}, bytes.Repeat(leb(1000), 2)...))
	// The code of the function counts a variable up to 100,000.
	count := code(0x23, 0, i32(1), 0x6a, 0x24, 0, 0x23, 0, i32(100_000), 0x48)
	for what, m := range map[string]*module{
		"loops":             {Call: code(loop, void, count, 0x0d, 0, end)},
		"loops with values": {Call: code(i32(0), i32(0), loop, 1, drop, drop, i32(0), i32(0), count, 0x0d, 0, drop, drop, end)},
		"calls":             {Call: code(count, 0x04, void, invoke(3), 0x0f, end)},
		"copies":            {Call: many(i32(0), i32(0), size, 0xfc, 10, 0, 0)},
		"fills":             {Call: many(i32(8192), i32(0), size, 0xfc, 11, 0)},
		"growing":           {Call: many(i32(0), growMem, 0, drop)},
		"tables filled":     {Call: many(i32(0), 0xd0, 0x70, i32(1000), 0xfc, 17, 0)},
		"tables copied":     {Call: many(i32(0), i32(0), i32(1000), 0xfc, 14, 0, 0)},
		"tables grown":      {Call: many(0xd0, 0x70, i32(1), 0xfc, 15, 0, drop)},
		"tables from segments": {
			Fills: vector(code(1, 0, vector(leb(3)))),
			Call:  many(i32(0), i32(0), i32(1), 0xfc, 12, 0, 0),
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m.Data, m.Tables, m.Memory, m.Globals = text, table, []byte{0, 64}, vector(code(0x7f, 1, i32(0), end))
			m.Call = code(m.Call, say(text))
			p := load(t, m)
			for _, tt := range []struct {
				left int64
				want error
			}{{1 << 40, nil}, {50, context.DeadlineExceeded}} {
				ctx := patience{t.Context(), new(atomic.Int64)}
				ctx.left.Store(tt.left)
				c := &sallyport.Call{Emit: func(sallyport.Progress) {}}
				if res, err := p.Run("evil")(ctx, c); !errors.Is(err, tt.want) || res.OK != (tt.want == nil) {
					t.Errorf("with %d questions the call ended with %+v, %v, want %v", tt.left, res, err, tt.want)
				}
			}
		})
	}
}

// TestGuardsAreOutOfReach loads modules that name what the guards have, or that are
// written so that one could be left out.
func TestGuardsAreOutOfReach(t *testing.T) {
	t.Parallel()
	one := vector(code(0x7f, 1, i32(0), end))
	five := bytes.Repeat([]byte{0x80}, 5) // the runtime reads them as the type 0, whatever follows
	const missing, kind, unknown = "does not have", "a type that no plugin may use", "an instruction that no plugin may use"
	for what, tt := range map[string]struct {
		m    module
		want string
	}{
		"the counter":                   {module{Call: code(i32(1), 0x24, 0)}, missing},
		"the counter behind a variable": {module{Globals: one, Call: code(i32(1), 0x24, 1)}, missing},
		"the counter is read":           {module{Globals: one, Call: code(0x23, 1, drop)}, missing},
		"the counter as a beginning":    {module{Globals: vector(code(0x7f, 1, 0x23, 1, end))}, missing},
		"an added function":             {module{Call: invoke(4)}, missing},
		"an added function as a value":  {module{Call: code(0xd2, 5, drop)}, missing},
		"an added type":                 {module{Call: code(loop, 4, end)}, kind},
		"another memory":                {module{Call: code(i32(0), i32(0), i32(0), 0xfc, 10, 0, 1)}, missing},
		"another memory grows":          {module{Call: code(i32(0), growMem, 1, drop)}, missing},
		// These have operands that another reader might take for instructions.
		"a block of six bytes":      {module{Call: code(0x02, five, 0, end)}, "cut off"},
		"a loop of six bytes":       {module{Call: code(loop, five, 0, end)}, "cut off"},
		"a block of ten bytes":      {module{Call: code(0x02, five, bytes.Repeat([]byte{0x80}, 4), 0, end)}, "cut off"},
		"a block of a reference":    {module{Call: code(0x02, 0x63, 0x70, 0xd0, 0x70, end, drop)}, kind},
		"a block of a long type":    {module{Call: code(0x02, 0xe3, 0x7f, 0x70, 0xd0, 0x70, end, drop)}, kind},
		"a choice of references":    {module{Call: code(0xd0, 0x70, 0xd0, 0x70, i32(0), 0x1c, 1, 0x63, 0x70, drop)}, kind},
		"a choice of two":           {module{Call: code(i32(0), i32(0), i32(0), 0x1c, 2, 0x7f, 0x7f, drop)}, kind},
		"an empty reference":        {module{Call: code(0xd0, 0, drop)}, kind},
		"a table of references":     {module{Tables: vector([]byte{0x63, 0x70, 0, 1})}, kind},
		"a table that begins":       {module{Tables: vector([]byte{0x40, 0, 0x70, 0, 1, 0xd0, 0x70, 0x0b})}, kind},
		"a call at the end":         {module{Call: code(0x12, 3)}, unknown},
		"what catches":              {module{Call: code(0x06, void, end)}, unknown},
		"what is shared":            {module{Call: code(0xfe, 3, 0)}, unknown},
		"a long second byte":        {module{Call: code(i32(0), i32(0), i32(0), 0xfc, 0x8b, 0, 0)}, unknown},
		"a variable of a reference": {module{Locals: []byte{1, 1, 0x63, 0x70}}, kind},
		"a variable of vectors":     {module{Locals: []byte{1, 1, 0x7b}}, kind},
		"functions behind the last": {module{Behind: bytes.Repeat(function(forever), 3)}, "cut off"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p, err := plugin.Load(t.Context(), "evil", tt.m.Bytes(), nil)
			if err == nil {
				_ = p.Close()
				t.Fatal("the module was loaded")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the module was refused with %q, want %q", err, tt.want)
			}
		})
	}
}
