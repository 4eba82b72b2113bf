package action

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/costs"
)

// programPrice is where a program says what its call cost, unless the definition names
// another place.
const programPrice = "/cost_usd"

// price is what a call costs.
type price struct {
	// each is the price of a call that succeeds, most the highest one; 0 means that
	// there is none.
	each, most float64
	// at is the JSON pointer of the price in the answer; empty for none.
	at string
}

// of returns the price of a call with an answer: the one that the answer names, else the
// fixed one. An answer that should name it and does not counts as the highest.
func (p price) of(tree any) float64 {
	if p.at == "" {
		return p.each
	}
	if part, ok := findPart(tree, p.at); ok {
		if n, isNumber := part.(json.Number); isNumber {
			if usd, err := strconv.ParseFloat(n.String(), 64); err == nil && usd >= 0 && usd <= costs.MaxUSD {
				return usd
			}
		}
	}
	return max(p.each, p.most)
}

// compilePrice checks what the definition says of the price.
func (b *toolBuilder) compilePrice(t *sallyport.Tool) price {
	d := b.d
	p := price{each: d.CostUSD, most: d.MaxCostUSD, at: d.CostAt}
	for name, usd := range map[string]float64{"each": p.each, "most": p.most} {
		if !(usd >= 0 && usd <= costs.MaxUSD) {
			b.addFault("/cost/"+name, "expected US dollars, 0 to %d", int64(costs.MaxUSD))
		}
	}
	switch {
	case p.at != "" && !isPointer(p.at):
		b.addFault("/cost/at", "expected a JSON pointer such as /usage/cost_usd")
	case p.at != "" && d.Handler.Run != nil:
		b.addFault("/cost/at", "a Go function says itself what a call cost: remove the key")
	case p.most > 0 && p.most < p.each:
		b.addFault("/cost/most", "is less than each")
	}
	if p.at == "" && d.Handler.Exec != nil {
		p.at = programPrice
	}
	t.MaxCostUSD = max(p.each, p.most)
	return p
}

// decodeCost reads a number, or {each, most, at}.
func (d *actionDecoder) decodeCost(def *Definition, at string, v any) {
	if _, ok := v.(json.Number); ok {
		d.priceInShort = true
		def.CostUSD = d.decodeUSD(at, v)
		return
	}
	o := d.Object(at, v)
	if o == nil {
		return
	}
	if v, at, ok := o.Take("each", ""); ok {
		def.CostUSD = d.decodeUSD(at, v)
	}
	if v, at, ok := o.Take("most", ""); ok {
		def.MaxCostUSD = d.decodeUSD(at, v)
	}
	def.CostAt = o.Text("at", "", false)
	o.Done()
}

func (d *actionDecoder) decodeUSD(at string, v any) float64 {
	n, ok := v.(json.Number)
	usd, err := strconv.ParseFloat(n.String(), 64)
	if !ok || err != nil {
		d.Fault(at, "expected US dollars such as 0.002")
		return 0
	}
	return usd
}

// pricedRun adds the fixed price to what a Go function returns without one.
func (p price) pricedRun(run runFunc) runFunc {
	if p.each == 0 {
		return run
	}
	return func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		res, err := run(ctx, c)
		if err == nil && res.OK && res.CostUSD == 0 {
			res.CostUSD = p.each
		}
		return res, err
	}
}

// runFunc is the function of a tool.
type runFunc = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error)
