package upstream

import "github.com/sallyport/sallyport/internal/definition"

// decodeEffects reads what the tools of a server do.
func (d *serverDecoder) decodeEffects(at string, v any) {
	d.s.Effects = map[string]definition.ToolEffects{}
	d.decodeEntries(at, v, func(at, name string, v any) {
		o := d.Object(at, v)
		if o == nil {
			return
		}
		d.s.Effects[name] = definition.ToolEffects{Does: d.Effects(o), Destinations: d.Destinations(o)}
		o.Done()
	})
}
