package main

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// benchmarkTrace is a file that the benchmark leaves of a run:
// runs/MODEL/SUITE/USER_TASK/ATTACK/INJECTION_TASK.json.
type benchmarkTrace struct {
	Suite         string         `json:"suite_name"`
	Pipeline      string         `json:"pipeline_name"`
	UserTask      string         `json:"user_task_id"`
	InjectionTask *string        `json:"injection_task_id"`
	Attack        *string        `json:"attack_type"`
	Messages      []traceMessage `json:"messages"`
	Utility       bool           `json:"utility"`
	Security      bool           `json:"security"`
}

// traceMessage is a message of the conversation.
type traceMessage struct {
	Role     string          `json:"role"`
	Content  json.RawMessage `json:"content"` // a text, or a list of parts
	ToolCall *traceCall      `json:"tool_call"`
	Error    *string         `json:"error"`
}

// traceCall is the call that a message of the role tool answers.
type traceCall struct {
	Function string          `json:"function"`
	Args     json.RawMessage `json:"args"`
}

// convertFolder writes the runs below a folder of the benchmark in the form of
// runs.jsonl.gz.
func convertFolder(args []string) error {
	flags := flag.NewFlagSet("convert", flag.ContinueOnError)
	folder := flags.String("runs", "", "the folder runs of the benchmark, or one model's of it")
	attack := flags.String("attack", "important_instructions", "the attack whose runs are taken, beside those without one")
	path := flags.String("out", "", "the file to write, such as runs.jsonl.gz")
	if err := parseFlags(flags, args, folder, path); err != nil {
		return err
	}
	runs, err := readTraces(os.DirFS(*folder), *attack)
	if err != nil {
		return err
	}
	f, err := os.Create(*path)
	if err != nil {
		return err
	}
	return errors.Join(writeRuns(f, runs), f.Close())
}

// readTraces reads all files of the benchmark below a folder, in the order of their
// names. Runs in which the attacker asks alone have no user task and are left out, and
// so are those of other attacks.
func readTraces(folder fs.FS, attack string) (runs []recordedRun, err error) {
	err = fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		var t benchmarkTrace
		if err := json.Unmarshal(text, &t); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if r, ok := t.toRun(); ok && (r.Attack == "none" || r.Attack == attack) {
			runs = append(runs, r)
		}
		return nil
	})
	slices.SortStableFunc(runs, func(a, b recordedRun) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Suite, b.Suite))
	})
	return runs, err
}

// toRun returns a run in our form; ok is false for a file that is none.
func (t *benchmarkTrace) toRun() (r recordedRun, ok bool) {
	if t.Suite == "" || !strings.HasPrefix(t.UserTask, "user_task_") {
		return r, false
	}
	r = recordedRun{Model: t.Pipeline, Suite: t.Suite, UserTask: t.UserTask, Attack: "none", Utility: t.Utility, Security: t.Security}
	if t.InjectionTask != nil {
		r.InjectionTask = *t.InjectionTask
	}
	if t.Attack != nil && *t.Attack != "" {
		r.Attack = *t.Attack
	}
	for i := range t.Messages {
		switch m := &t.Messages[i]; {
		case m.Role == "user" && r.Prompt == "":
			r.Prompt = m.text()
		case m.Role == "tool" && m.ToolCall != nil:
			result := m.text()
			if m.Error != nil && *m.Error != "" {
				result = failedPrefix + *m.Error
			}
			r.Calls = append(r.Calls, recordedCall{Tool: m.ToolCall.Function, Args: m.ToolCall.Args, Result: json.RawMessage(quoteText(result))})
		}
	}
	return r, true
}

// text returns the text of a message, whose content is a text or a list of parts.
func (m *traceMessage) text() string {
	var whole string
	if json.Unmarshal(m.Content, &whole) == nil {
		return whole
	}
	var parts []struct{ Content, Text string }
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(cmp.Or(p.Content, p.Text))
	}
	return b.String()
}

// writeRuns writes runs as lines of JSON, packed by gzip.
func writeRuns(w io.Writer, runs []recordedRun) error {
	packed := gzip.NewWriter(w)
	enc := json.NewEncoder(packed)
	enc.SetEscapeHTML(false)
	for i := range runs {
		if err := enc.Encode(&runs[i]); err != nil {
			return err
		}
	}
	return packed.Close()
}
