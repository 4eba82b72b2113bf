package registry

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestPlainDataIsCopiedAsItIsEncoded compares the copy of structured data with what
// encoding and decoding makes of it.
func TestPlainDataIsCopiedAsItIsEncoded(t *testing.T) {
	t.Parallel()
	var make1 func(r *rand.Rand, levels int) any
	make1 = func(r *rand.Rand, levels int) any {
		texts := []string{"", "a.txt", "<b>&\"\\/", "\n\r\t\b\f\x00\x1f\x7f", "\u2028 \u2029 \u2027", "é一😀", "\xff", "\xe2\x80", "�"}
		text := texts[r.IntN(len(texts))] + texts[r.IntN(len(texts))]
		switch r.IntN(16) {
		case 0:
			return nil
		case 1:
			return r.IntN(2) == 0
		case 2:
			return int(r.Int64()>>r.IntN(64)) * (r.IntN(2)*2 - 1)
		case 3:
			return []int64{0, -1, 1 << 53, 1<<53 + 1, math.MinInt64, math.MaxInt64}[r.IntN(6)]
		case 4:
			return []float64{0, math.Copysign(0, -1), 1, -12, 1.5, 1e21, 1 << 53, 1<<53 - 1, 1e300, -1e15}[r.IntN(10)]
		case 5:
			return []string{text, "b"}[:r.IntN(3)]
		case 6:
			return [][]string{nil, {}}[r.IntN(2)]
		case 7:
			return []any{[]any(nil), map[string]any(nil), json.Number("1.50"), float32(2), []byte("x"), struct{ A int }{1}}[r.IntN(6)]
		case 8, 9:
			list := make([]any, r.IntN(4))
			for i := range list {
				list[i] = make1(r, levels-1)
			}
			return list
		case 10, 11:
			if levels > 0 {
				m := map[string]any{}
				for i := range r.IntN(4) {
					m[fmt.Sprint(text, i)] = make1(r, levels-1)
				}
				return m
			}
		}
		return text
	}
	plain := 0
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 1))
		v := map[string]any{"a": make1(r, 3), "b": make1(r, 3)}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := copyPlain(v); ok {
			plain++
		}
		got, size, err := toPlainJSON(v)
		if err != nil || size != len(text) || !reflect.DeepEqual(got, want) {
			t.Fatalf("toPlainJSON(%#v) = %#v, %d, %v, want %#v, %d", v, got, size, err, want, len(text))
		}
	}
	if plain < 5000 {
		t.Errorf("%d values are plain, too few to say anything", plain)
	}
}

func TestPlainDataIsACopy(t *testing.T) {
	t.Parallel()
	inner := []any{"a"}
	v := map[string]any{"list": inner, "object": map[string]any{"x": 1}}
	got, _, err := toPlainJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	inner[0] = "changed"
	v["object"].(map[string]any)["x"] = 2
	if want := map[string]any{"list": []any{"a"}, "object": map[string]any{"x": 1.0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("toPlainJSON = %v after a change of what was copied, want %v", got, want)
	}
}
