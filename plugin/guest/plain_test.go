package guest

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin/wire"
)

// sameAsLibrary compares what is read by hand with what encoding/json reads, of a text
// that the host would write.
func sameAsLibrary[T any](t *testing.T, text []byte, read func([]byte) (T, error)) {
	t.Helper()
	var want T
	wrong := json.Unmarshal(text, &want)
	got, err := read(text)
	if (err == nil) != (wrong == nil) {
		t.Errorf("%s: %v, want %v", text, err, wrong)
	}
	if diff := cmp.Diff(want, got); wrong == nil && diff != "" {
		t.Errorf("%s is read otherwise (-library +here):\n%s", text, diff)
	}
}

// TestWhatIsReadByHandIsWhatTheLibraryReads reads heads of calls and of answers, plain
// ones and others.
func TestWhatIsReadByHandIsWhatTheLibraryReads(t *testing.T) {
	for _, w := range []wire.Call{
		{},
		{Tool: "a", ID: "1"},
		{Tool: "a", ID: "1", Session: "s", Personality: "p", Platform: "cli", Workspace: "/w", Turn: 3, ResultBudget: 5000, Tainted: true, Seconds: 29.987},
		{Tool: `a"b\c`, Seconds: 1e21},
		{Tool: "ä\u2028<&>", Seconds: -1},
		{Turn: -4, Seconds: 0.0001},
		{Turn: math.MaxInt64, Seconds: 1},
		{Seconds: 29},
		{Seconds: 12.5},
		{Seconds: 1.239},
		{Seconds: 7.05},
		{Seconds: 999_999_999_999.123},
	} {
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		sameAsLibrary(t, text, decodeCall)
	}
	for _, text := range []string{
		"", "{", "{}", `{"tool":"a"`, `{"tool":"a"}x`, `{"tool":"a",}`, `{"tool" : "a"}`, `{"other":1,"tool":"a"}`, `{"tainted":false}`, `{"turn":1.5}`, `{"seconds":1.}`, `{"seconds":1.12345}`, `{"tool":null}`, "[]",
	} {
		sameAsLibrary(t, []byte(text), decodeCall)
	}
	for _, text := range []string{
		"{}", `{"ok":null}`, `{"ok":"x"}`, `{"ok":{"error":"x"}}`, `{"error":{"code":"c","detail":"d"}}`, `{"ok":1,"error":{"detail":"d"}}`, "", `{"ok":`, `{"ok":"}`,
	} {
		if _, err := decodeAnswer([]byte(text)); text == `{"ok":"}` && err == nil {
			continue // What is wrong inside is found where it is read.
		}
		sameAsLibrary(t, []byte(text), decodeAnswer)
	}
	for _, text := range []string{`"x"`, `"a\nb"`, `""`, "null", `"x`, "1", `[]`} {
		sameAsLibrary(t, []byte(text), readOK[string])
	}
	for _, text := range []string{`[]`, `["a"]`, `["a","b\n","ä"]`, `["a",]`, `["a"`, `[1]`, "null", `{}`} {
		sameAsLibrary(t, []byte(text), readOK[[]string])
	}
	for _, text := range []string{`{"value":""}`, `{"value":"v","found":true}`, `{"name":"n","value":"a\"b","found":true,"ttl":5}`, `{"found":false,"value":"x"}`, "null", "[]"} {
		sameAsLibrary(t, []byte(text), readOK[wire.Entry])
	}
	sameAsLibrary(t, []byte(`{"name":"n","size":5,"mode":420,"modified":1}`), readOK[wire.FileInfo])
}

// readOK reads an answer as an accessor does.
func readOK[T any](text []byte) (T, error) {
	ask := host(func(string, []byte) []byte { return append(append([]byte(`{"ok":`), text...), "}\n"...) })
	v, _, err := readAnswer[T](ask, wire.FuncGet, wire.Name{}, nil)
	return v, err
}

// TestWhatIsWrittenByHandIsWhatTheLibraryWrites writes results and messages.
func TestWhatIsWrittenByHandIsWhatTheLibraryWrites(t *testing.T) {
	odd := "a\"b\\c\n<ä>\x00\xff\u2028"
	for _, res := range []sallyport.Result{
		sallyport.OK(""), sallyport.OK("plain"), sallyport.OK(odd),
		{OK: true, CostUSD: 0.5},
		{OK: true, Parts: []sallyport.Part{{}}},
		sallyport.Err("failed", sallyport.CodeInputInvalid),
		{OK: true, Structured: map[string]any{}},
		{
			OK: true, Structured: map[string]any{
				"text": odd, odd: 1, "yes": true, "no": nil, "number": 1.5, "long": int64(7), "list": []any{1, "x", nil, []any{}}, "texts": []string{"a", odd},
				"rows": []map[string]any{{"id": "a"}, nil}, "none": []any(nil), "of a type": struct{ A int }{1}, "map": map[string]any(nil), "empty": map[string]any{},
			},
		},
	} {
		want, wrong := json.Marshal(res)
		got, err := appendResult(nil, &res)
		if err != nil || wrong != nil {
			t.Fatalf("%v, %v", err, wrong)
		}
		compareJSON(t, got, want)
	}
	if _, err := appendResult(nil, &sallyport.Result{OK: true, Structured: map[string]any{"a": []any{map[string]any{"b": math.NaN()}}}}); err == nil {
		t.Error("a number that is none was written")
	}
	for _, head := range []any{wire.Name{Name: odd}, wire.Name{Name: "key"}, wire.File{Name: "a.txt"}, wire.Commit{Keep: true}, wire.Entry{Name: "n", Value: odd}, struct{}{}} {
		want, err := json.Marshal(head)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendHead(nil, head)
		if err != nil || !strings.HasSuffix(string(got), "}\n") {
			t.Errorf("%s, %v", got, err)
		}
		compareJSON(t, got, want)
	}
}

func compareJSON(t *testing.T, got, want []byte) {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal(want, &b)); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("it is written otherwise (-library +here):\n%s", diff)
	}
}

// FuzzCall reads heads that the host could write.
func FuzzCall(f *testing.F) {
	f.Add("a", "s", 3, int64(29_987), true)
	f.Fuzz(func(t *testing.T, tool, session string, turn int, ms int64, tainted bool) {
		w := wire.Call{Tool: tool, Session: session, Turn: turn, Seconds: (time.Duration(ms%1e9) * time.Millisecond).Seconds(), Tainted: tainted}
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		sameAsLibrary(t, text, decodeCall)
	})
}
