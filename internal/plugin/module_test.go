package plugin

import (
	"testing"

	"github.com/sallyport/sallyport/internal/plugin/plugintest"
)

// FuzzPrepareModule looks at anything as a module, within bounds.
func FuzzPrepareModule(f *testing.F) {
	loop := plugintest.Code(0xfc, 10, 0, 0, plugintest.Forever)
	for _, m := range []plugintest.Module{
		{}, {Call: loop, Tables: []byte{1, 0x70, 1, 2, 2}, Fills: []byte{1, 5, 0x70, 1, 0xd2, 3, 0x0b}, Globals: []byte{1, 0x7f, 1, 0x41, 0, 0x0b}},
	} {
		f.Add(m.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := prepareModule(data)
		if (m == nil) == (err == nil) {
			t.Errorf("%v, %v", m, err)
		}
		if m != nil && len(m.code) > 64+20*len(data) {
			t.Errorf("%d bytes became %d", len(data), len(m.code))
		}
	})
}
