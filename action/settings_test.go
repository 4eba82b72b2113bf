package action_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
)

func TestSettingsOfAnAction(t *testing.T) {
	dir := t.TempDir()
	d, err := action.Decode(json.RawMessage(`{"id": "act", "toolset": "weather", "cache": "5m", "available": {"env": ["WEATHER_REGION"], "files": ["model.bin"]},
		"handler": {"http": {"url": "https://a.example/"}}}`), &action.DecodeOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := d.Tool()
	if err != nil || tool.Toolset != "weather" || tool.Cache == nil || tool.Cache.TTL != 5*time.Minute {
		t.Fatalf("Tool() = %+v, %v", tool, err)
	}
	if why := tool.WhyNot(); tool.IsAvailable() || why != "the variable WEATHER_REGION is not set" {
		t.Errorf("without the variable: %q", why)
	}
	t.Setenv("WEATHER_REGION", "eu")
	if why := tool.WhyNot(); tool.IsAvailable() || why != "the file model.bin is not there" {
		t.Errorf("without the file: %q", why)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.bin"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if why := tool.WhyNot(); !tool.IsAvailable() || why != "" {
		t.Errorf("with both: %q", why)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	t.Parallel()
	for text, at := range map[string]string{
		`"toolset": "a b"`: "/toolset", `"toolset": 7`: "/toolset", `"cache": "0s"`: "/cache", `"cache": "2d"`: "/cache", `"cache": 5`: "/cache", `"cache": null`: "/cache",
		`"available": {"env": ["A B"]}`: "/available/env/0", `"available": {"files": ["x"]}`: "/available/files/0", `"available": {"host": "a"}`: "/available/host", `"available": true`: "/available",
		`"cache": true, "handler": {"http": {"method": "POST", "url": "https://a.example/"}}`: "/cache",
	} {
		if !json.Valid([]byte("{" + text + "}")) {
			t.Fatal(text)
		}
		handler := `, "handler": {"http": {"url": "https://a.example/"}}`
		if at == "/cache" && len(text) > 40 {
			handler = ""
		}
		_, err := action.Decode(json.RawMessage(`{"id": "act", `+text+handler+`}`), nil)
		faults, ok := errors.AsType[action.Faults](err)
		if !ok || len(faults) == 0 || faults[0].Pointer != at {
			t.Errorf("%s: %v, want a fault at %s", text, err, at)
		}
	}
}

// The documents register a definition and a function: register(action, handler).
func TestADefinitionOfTheDocumentsTakesAGoFunction(t *testing.T) {
	t.Parallel()
	text := json.RawMessage(`{"id": "act", "name": "Get Weather", "parameters": {"location": {"type": "string", "required": true}}, "capabilities": {"database": {"connections": ["a"]}}}`)
	run := func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		return sallyport.OK(string(c.Args)), nil
	}
	d, err := action.Decode(text, &action.DecodeOptions{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := d.Tool()
	if err != nil || tool.Capabilities.Database == nil {
		t.Fatalf("Tool() = %+v, %v", tool, err)
	}
	if _, err := action.Decode(text, nil); err == nil {
		t.Error("a definition without a handler and without a function was taken")
	}
	faults, ok := errors.AsType[action.Faults](errOf(action.Decode(json.RawMessage(`{"id": "act", "handler": "./a.js"}`), &action.DecodeOptions{Dir: "/d", Run: run})))
	if !ok || faults[0].Pointer != "/handler" {
		t.Errorf("a handler beside a function: %v", faults)
	}
}

func errOf(_ *action.Definition, err error) error { return err }
