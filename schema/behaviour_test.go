package schema

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// The lines of the contract that decide against a case.
const (
	notRepaired  = `contract, section 8: "repaired JSON such as {"a":1,}" is skipped`
	notConverted = `contract, section 8: "Arguments are always validated (there: left to the tool)", not converted`
)

type behaviour struct {
	Area   string          `json:"area"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Expect json.RawMessage `json:"expect"`
}

func TestBehaviour(t *testing.T) {
	text, err := os.ReadFile("testdata/behaviour.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []behaviour
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	run := map[string]func(*testing.T, behaviour){
		"json_repair":     repairCase,
		"schema_coerce":   coerceCase,
		"arg_validation":  validationCase,
		"action_registry": paramsCase,
	}
	for _, c := range cases {
		t.Run(c.Area+"/"+c.Name, func(t *testing.T) { run[c.Area](t, c) })
	}
}

func read(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("case %s: %v", raw, err)
	}
}

func repairCase(t *testing.T, c behaviour) {
	var in struct{ Raw string }
	var want struct{ OK bool }
	read(t, c.Input, &in)
	read(t, c.Expect, &want)
	if want.OK {
		t.Skip(notRepaired)
	}
	if _, err := Decode([]byte(in.Raw), nil); err == nil {
		t.Errorf("Decode(%q) = nil, want an error", in.Raw)
	}
}

func coerceCase(t *testing.T, c behaviour) {
	var in struct {
		Properties map[string]string
		Args       json.RawMessage
	}
	var want struct{ Mismatches []string }
	read(t, c.Input, &in)
	read(t, c.Expect, &want)
	if len(want.Mismatches) == 0 {
		t.Skip(notConverted)
	}
	var props []string
	for name, kind := range in.Properties {
		props = append(props, `"`+name+`":{"type":"`+kind+`"}`)
	}
	_, err := mustCompile(t, `{"type":"object","properties":{`+strings.Join(props, ",")+`}}`).Arguments(in.Args)
	faults, _ := errors.AsType[Faults](err)
	var got []string
	for _, f := range faults {
		got = append(got, strings.TrimPrefix(f.Pointer, "/"))
	}
	if !slices.Equal(got, want.Mismatches) {
		t.Errorf("Arguments(%s) has faults at %v, want %v", in.Args, got, want.Mismatches)
	}
}

func validationCase(t *testing.T, c behaviour) {
	var in struct{ Schema, Args json.RawMessage }
	var want struct{ Code string }
	read(t, c.Input, &in)
	read(t, c.Expect, &want)
	_, err := mustCompile(t, string(in.Schema)).Arguments(in.Args)
	if code := codeOf(err); code != want.Code {
		t.Errorf("Arguments(%s) has code %q, want %q", in.Args, code, want.Code)
	}
}

func paramsCase(t *testing.T, c behaviour) {
	var in struct {
		Required []string          `json:"schema_required"`
		Defaults map[string]string `json:"schema_default"`
		Params   json.RawMessage
	}
	var want struct {
		Error     bool
		Effective map[string]string
	}
	read(t, c.Input, &in)
	read(t, c.Expect, &want)
	s := map[string]any{"type": "object"}
	if in.Required != nil {
		s["required"] = in.Required
	}
	props := map[string]any{}
	for name, v := range in.Defaults {
		props[name] = map[string]any{"type": "string", "default": v}
	}
	s["properties"] = props
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := mustCompile(t, string(text)).Arguments(in.Params)
	if (err != nil) != want.Error {
		t.Fatalf("Arguments(%s) = %v, want an error: %v", in.Params, err, want.Error)
	}
	for name, v := range want.Effective {
		if doc.Value[name] != v {
			t.Errorf("Arguments(%s)[%s] = %v, want %v", in.Params, name, doc.Value[name], v)
		}
	}
}
