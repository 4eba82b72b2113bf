package install

import (
	"encoding/json"
	"testing"
)

// TestEngines compares versions of Node with ranges as packages have them.
func TestEngines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		engines, node string
		want          bool
	}{
		{`{"node": ">=20"}`, "20.20.2", true},
		{`{"node": ">=22.5.0"}`, "20.20.2", false},
		{`{"node": "^20.19.0 || ^22.12.0 || >=23"}`, "20.20.2", true},
		{`{"node": "^20.19.0 || ^22.12.0 || >=23"}`, "21.1.0", false},
		{`{"node": ">=18 <21"}`, "20.1.0", true},
		{`{"node": ">= 22"}`, "20.1.0", false},
		{`{"node": "18.x"}`, "20.1.0", false},
		{`{"node": "*"}`, "20.1.0", true},
		{`{"node": "what?"}`, "20.1.0", true},
		{`{"node": ">=22"}`, "", true},
		{`{"npm": ">=99"}`, "20.1.0", true},
		{`["node >= 0.4"]`, "20.1.0", true},
		{`{"node": 20}`, "20.1.0", true},
		{`"x"`, "20.1.0", true},
	} {
		var e engines
		if err := json.Unmarshal([]byte(tt.engines), &e); err != nil {
			t.Fatal(err)
		}
		if got := e.runsOn(tt.node); got != tt.want {
			t.Errorf("%s runs on %q = %t, want %t", tt.engines, tt.node, got, tt.want)
		}
	}
}

// TestChooseVersion chooses among versions as npm does.
func TestChooseVersion(t *testing.T) {
	t.Parallel()
	const old, young = `{"engines":{"node":">=18"}}`, `{"engines":{"node":">=22"}}`
	const deprecated = `{"engines":{"node":">=18"},"deprecated":"use another"}`
	for _, tt := range []struct{ versions, want string }{
		{`{"1.9.0":` + old + `,"1.10.0":` + old + `,"2.0.0":` + young + `}`, "1.10.0"},
		{`{"1.0.0":` + old + `,"1.1.0-beta.1":` + old + `}`, "1.0.0"},
		{`{"1.0.0":` + old + `,"1.1.0":` + deprecated + `}`, "1.0.0"},
		{`{"1.0.0":` + young + `,"0.9.0":` + deprecated + `}`, "0.9.0"},
		{`{"1.0.0":{"deprecated":false},"0.9.0":{}}`, "1.0.0"},
		{`{"not a version":{}}`, ""},
		{`{"2.0.0":` + young + `}`, ""},
	} {
		var versions map[string]npmOffer
		if err := json.Unmarshal([]byte(tt.versions), &versions); err != nil {
			t.Fatal(err)
		}
		if got := chooseVersion(versions, "20.20.2"); got != tt.want {
			t.Errorf("chooseVersion(%s) = %q, want %q", tt.versions, got, tt.want)
		}
	}
}
