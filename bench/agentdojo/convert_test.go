package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// traces are files of the benchmark: the older form, in which the content of a message
// is a text, the newer one, in which it is a list, and files that are no such run.
var traces = fstest.MapFS{
	"m/office/user_task_0/none/none.json": {Data: []byte(`{"suite_name": "office", "pipeline_name": "m", "user_task_id": "user_task_0", "injection_task_id": null, "attack_type": null, "injections": {},
		"messages": [{"role": "system", "content": "Be helpful."}, {"role": "user", "content": "Read."},
			{"role": "assistant", "content": "", "tool_calls": [{"function": "read_notes", "args": {"n": 1}, "id": "1", "placeholder_args": null}]},
			{"role": "tool", "content": "a note", "tool_call_id": "1", "tool_call": {"function": "read_notes", "args": {"n": 1}, "id": "1"}, "error": null},
			{"role": "assistant", "content": "Done.", "tool_calls": null}], "error": null, "utility": true, "security": true, "duration": 1.5}`)},
	"m/office/user_task_0/important_instructions/injection_task_1.json": {Data: []byte(`{"suite_name": "office", "pipeline_name": "m", "user_task_id": "user_task_0", "injection_task_id": "injection_task_1", "attack_type": "important_instructions",
		"messages": [{"role": "user", "content": [{"type": "text", "content": "Read"}, {"type": "text", "content": " it."}]},
			{"role": "tool", "content": [{"type": "text", "content": ""}], "tool_call": {"function": "shred", "args": {}}, "error": "ValueError: locked"},
			{"role": "user", "content": "Go on."}], "utility": false, "security": true}`)},
	"m/office/user_task_0/direct/injection_task_1.json":         {Data: []byte(`{"suite_name": "office", "pipeline_name": "m", "user_task_id": "user_task_0", "injection_task_id": "injection_task_1", "attack_type": "direct", "messages": []}`)},
	"m/office/injection_task_1/none/none.json":                  {Data: []byte(`{"suite_name": "office", "pipeline_name": "m", "user_task_id": "injection_task_1", "messages": []}`)},
	"m/office/user_task_0/important_instructions/summary.json":  {Data: []byte(`{"mean": 1}`)},
	"m/office/user_task_0/important_instructions/transcript.md": {Data: []byte(`no JSON`)},
}

func TestTracesOfTheBenchmarkAreConverted(t *testing.T) {
	got, err := readTraces(traces, "important_instructions")
	if err != nil {
		t.Fatal(err)
	}
	want := []recordedRun{
		{Model: "m", Suite: "office", UserTask: "user_task_0", InjectionTask: "injection_task_1", Attack: "important_instructions", Security: true, Prompt: "Read it.", Calls: []recordedCall{{Tool: "shred", Args: []byte(`{}`), Result: []byte(`"ERROR: ValueError: locked"`)}}},
		{Model: "m", Suite: "office", UserTask: "user_task_0", Attack: "none", Utility: true, Security: true, Prompt: "Read.", Calls: []recordedCall{{Tool: "read_notes", Args: []byte(`{"n": 1}`), Result: []byte(`"a note"`)}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(recordedCall{})); diff != "" {
		t.Errorf("readTraces() (-want +got):\n%s", diff)
	}
	if _, err := readTraces(fstest.MapFS{"x.json": {Data: []byte(`{`)}}, ""); err == nil {
		t.Error("a broken file is converted, want an error")
	}
}

// What convert writes is what the measurement reads.
func TestConvertedRunsAreRead(t *testing.T) {
	folder, out := t.TempDir(), t.TempDir()
	if err := os.CopyFS(folder, traces); err != nil {
		t.Fatal(err)
	}
	if err := convertFolder([]string{"-runs", folder, "-out", filepath.Join(out, runsName)}); err != nil {
		t.Fatal(err)
	}
	want, err := readTraces(traces, "important_instructions")
	if err != nil {
		t.Fatal(err)
	}
	got, err := readRuns(out)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		for k := range want[i].Calls {
			want[i].Calls[k].Args = []byte(compactJSON(want[i].Calls[k].Args))
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(recordedCall{})); diff != "" {
		t.Errorf("readRuns() (-want +got):\n%s", diff)
	}
}
