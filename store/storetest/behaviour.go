package storetest

import (
	_ "embed"
	"encoding/json"
	"testing"
	"time"
)

//go:embed testdata/behaviour.json
var behaviour []byte

type behaviourCase struct {
	Name  string `json:"name"`
	Input struct {
		Set       json.RawMessage `json:"set"`
		AdvanceMS int             `json:"advance_ms"`
		Get       string          `json:"get"`
		List      *string         `json:"list"`
	} `json:"input"`
	Expect struct {
		Value *string  `json:"value"`
		Keys  []string `json:"keys"`
	} `json:"expect"`
}

func testBehaviour(t *testing.T, open opener) {
	var cases []behaviourCase
	if err := json.Unmarshal(behaviour, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("testdata/behaviour.json: %d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Input.Set == nil {
				t.Skip("the accessor names scopes and the gate asks for a factory; a store is given the id")
			}
			now := newManualClock()
			kv := openKV(t, open(t, Options{Now: now.Now}), "tool:t")
			for _, s := range c.parseSettings(t) {
				setValue(t, kv, s.key, s.value, s.ttl)
			}
			now.advance(time.Duration(c.Input.AdvanceMS) * time.Millisecond)
			if c.Expect.Value != nil {
				wantGet(t, kv, c.Input.Get, *c.Expect.Value, true)
			}
			if c.Input.List != nil {
				wantKeys(t, kv, *c.Input.List, c.Expect.Keys...)
			}
		})
	}
}

type caseSetting struct {
	key, value string
	ttl        time.Duration
}

// parseSettings reads both forms: one object, or a list of pairs.
func (c *behaviourCase) parseSettings(t *testing.T) []caseSetting {
	var one struct {
		Key        string `json:"key"`
		Value      string `json:"value"`
		TTLSeconds int    `json:"ttlSeconds"`
	}
	if json.Unmarshal(c.Input.Set, &one) == nil {
		return []caseSetting{{one.Key, one.Value, time.Duration(one.TTLSeconds) * time.Second}}
	}
	var pairs [][2]string
	if err := json.Unmarshal(c.Input.Set, &pairs); err != nil {
		t.Fatal(err)
	}
	var list []caseSetting
	for _, p := range pairs {
		list = append(list, caseSetting{key: p[0], value: p[1]})
	}
	return list
}
