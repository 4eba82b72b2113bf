package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin"
)

// twoSlots is a table for two functions, which cannot grow.
var twoSlots = vector([]byte{0x70, 1, 2, 2})

// place is the beginning of a table, as a constant.
var place = code(i32(0), end)

// TestTablesAreFilledByEverySegment fills a table by each kind of segment there is, and
// calls through it what never ends: the call ends with its deadline.
func TestTablesAreFilledByEverySegment(t *testing.T) {
	t.Parallel()
	const itself = 3              // the number of sallyport_call
	self := code(0xd2, 3, end)    // ref.func
	none := code(0xd0, 0x70, end) // ref.null func
	through := code(loop, void, i32(1), 0x11, 0, 0, branch, 0, end)
	initialize := code(i32(0), i32(0), i32(2), 0xfc, 12, 0, 0) // table.init
	for what, tt := range map[string]struct {
		fills, before []byte
	}{
		"at a place":                    {vector(code(0, place, vector(leb(itself), leb(itself)))), nil},
		"in a table":                    {vector(code(2, 0, place, 0, vector(leb(itself), leb(itself)))), nil},
		"expressions at a place":        {vector(code(4, place, vector(none, self))), nil},
		"expressions in a table":        {vector(code(6, 0, place, 0x70, vector(self, self))), nil},
		"later":                         {vector(code(1, 0, vector(leb(itself), leb(itself)))), initialize},
		"expressions later":             {vector(code(5, 0x70, vector(none, self))), initialize},
		"declared, and by instructions": {vector(code(3, 0, vector(leb(itself)))), code(i32(1), 0xd2, itself, 0x26, 0)},
		"expressions that are declared": {vector(code(7, 0x70, vector(self))), code(i32(1), 0xd2, itself, i32(1), 0xfc, 17, 0)},
		"copied":                        {vector(code(0, place, vector(leb(itself)))), code(i32(1), i32(0), i32(1), 0xfc, 14, 0, 0)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			// It calls itself through the table once it is filled, and that never ends.
			seen := code(i32(8192), 0x2d, 0, 0, 0x04, void, forever, end, i32(8192), i32(1), 0x3a, 0, 0)
			p, err := plugin.Load(t.Context(), "evil", (&module{Tables: twoSlots, Fills: tt.fills, Call: code(seen, tt.before, through)}).Bytes(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = p.Close() }()
			if _, err := run(t, p, &sallyport.Call{}, 20*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the call ended with %v, want its deadline", err)
			}
		})
	}
}

// TestSegmentsThatAreRefused loads modules whose segments, types and variables are not
// what they claim to be.
func TestSegmentsThatAreRefused(t *testing.T) {
	t.Parallel()
	huge := leb(1<<32 - 1)
	// Each of four thousand functions is eight times as long with its guards.
	loops := slices.Repeat([][]byte{function(bytes.Repeat(code(loop, void, end), 1000))}, 4000)
	answers := (&module{}).Bytes()
	for what, tt := range map[string]struct {
		text []byte
		want string
	}{
		"a claim of functions":           {(&module{Tables: twoSlots, Fills: vector(code(0, place, huge))}).Bytes(), "too large"},
		"a claim of expressions":         {(&module{Tables: twoSlots, Fills: vector(code(5, 0x70, huge))}).Bytes(), "too large"},
		"a claim of segments":            {(&module{Tables: twoSlots, Fills: huge}).Bytes(), "too large"},
		"many functions together":        {(&module{Tables: twoSlots, Fills: vector(code(1, 0, leb(1<<20), make([]byte, 1<<20)), code(1, 0, leb(1), 0))}).Bytes(), "too large"},
		"an unknown kind":                {(&module{Tables: twoSlots, Fills: vector(code(8, place, 0))}).Bytes(), "too large"},
		"a function that is not there":   {(&module{Tables: twoSlots, Fills: vector(code(0, place, vector(leb(4))))}).Bytes(), "does not have"},
		"an expression that calls":       {(&module{Tables: twoSlots, Fills: vector(code(4, place, vector(code(invoke(3), end))))}).Bytes(), "no constant"},
		"a table that is not there":      {(&module{Tables: twoSlots, Fills: vector(code(2, 1, place, 0, vector(leb(3))))}).Bytes(), "not valid"},
		"bytes behind the segments":      {(&module{Tables: twoSlots, Fills: code(vector(code(0, place, vector(leb(3)))), 0)}).Bytes(), "cut off"},
		"segments of another type":       {(&module{Tables: vector([]byte{0x6f, 1, 2, 2}), Fills: vector(code(0, place, vector(leb(3))))}).Bytes(), "not valid"},
		"a claim of parameters":          {slices.Concat(answers[:8], section(1, code(1, 0x60, huge))), "too large"},
		"many parameters together":       {slices.Concat(answers[:8], section(1, vector(slices.Repeat([][]byte{code(0x60, leb(1000), bytes.Repeat([]byte{0x7f}, 1000), 0)}, 1049)...))), "too large"},
		"many variables together":        {slices.Concat(answers[:8], section(1, vector([]byte{0x60, 0, 0}, []byte{0x60, 2, 0x7f, 0x7f, 0})), section(2, vector(code(name("sallyport"), name("answer"), 0, 1))), section(3, vector(slices.Repeat([][]byte{leb(0)}, 336)...)), section(5, vector([]byte{0, 1})), section(10, vector(slices.Repeat([][]byte{name(string(code(1, leb(50_000), 0x7f, end)))}, 336)...))), "variables together"},
		"the counter for others":         {slices.Concat(answers[:8], section(6, vector(code(0x7f, 1, i32(0), end))), section(7, vector(code(name("x"), 3, 1)))), "does not have"},
		"an added function for others":   {slices.Concat(answers[:8], section(7, vector(code(name("x"), 0, 0)))), "does not have"},
		"an added function at first":     {slices.Concat(answers[:8], section(8, leb(0))), "does not have"},
		"tables that are large together": {(&module{Tables: vector(code(0x70, 1, 0, leb(1<<20)), code(0x70, 1, 0, leb(1)))}).Bytes(), "too large"},
		"many parts of data":             {slices.Concat(answers[:8], section(11, vector(slices.Repeat([][]byte{{1, 0}}, 1<<17+1)...))), "too large"},
		"a claim of data":                {slices.Concat(answers[:8], section(11, code(1, 1, huge))), "too large"},
		"a long name":                    {slices.Concat(answers[:8], section(7, code(1, huge))), "too large"},
		"bytes behind the types":         {slices.Concat(answers[:8], section(1, code(vector([]byte{0x60, 0, 0}), 0x60, 0, 0))), "cut off"},
		"bytes behind the variables":     {(&module{Globals: code(vector(), 0x7f, 1, i32(0), end)}).Bytes(), "cut off"},
		"a section twice":                {slices.Concat(answers, section(11, vector())), "in another place"},
		"sections that changed places":   {slices.Concat(answers[:8], section(3, vector()), section(1, vector())), "in another place"},
		"an unknown section":             {slices.Concat(answers, section(13, vector())), "no part of WebAssembly 2"},
		"no answer":                      {slices.Concat(answers[:8], section(1, vector([]byte{0x60, 0, 0})), section(3, vector(leb(0))), section(5, vector([]byte{0, 1})), section(10, vector(function(nil)))), "does not import sallyport.answer"},
		"much code":                      {slices.Concat(answers[:8], section(1, vector([]byte{0x60, 0, 0}, []byte{0x60, 2, 0x7f, 0x7f, 0})), section(2, vector(code(name("sallyport"), name("answer"), 0, 1))), section(3, vector(slices.Repeat([][]byte{leb(0)}, 4000)...)), section(5, vector([]byte{0, 1})), section(10, vector(loops...))), "more than 64 MiB"},
		"no functions":                   {slices.Concat(answers[:8], section(5, vector([]byte{0, 1}))), "no functions"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p, err := plugin.Load(t.Context(), "evil", tt.text, nil)
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

// TestSegmentsBeyondTheTableFillNothing puts a function beyond a table, and calls the
// last one of it.
func TestSegmentsBeyondTheTableFillNothing(t *testing.T) {
	t.Parallel()
	for what, at := range map[string]int32{"partly": 1, "behind": 2, "before": -1} {
		p := load(t, &module{Tables: twoSlots, Fills: vector(code(0, i32(at), end, vector(leb(3), leb(3)))), Call: code(i32(1), 0x11, 0, 0)})
		if res, err := run(t, p, &sallyport.Call{}, time.Minute); err != nil || !strings.Contains(res.Error, "stopped: invalid table access") {
			t.Errorf("%s: %+v, %v, want that nothing is there", what, res, err)
		}
	}
}
