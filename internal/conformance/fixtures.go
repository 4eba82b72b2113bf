// Package conformance has the tools, prompts and resources that the official
// conformance suite of the Model Context Protocol asks a server for by name,
// made with the library, and runs the suite. It is for tests.
package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

// stepPause lets a client see that progress comes while the tool runs.
const stepPause = 20 * time.Millisecond

// The smallest picture and sound that clients take for one.
const (
	picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	sound   = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// Fixtures returns everything that the suite asks for. Two of the tools call
// changed: the suite listens for what clients are told then.
func Fixtures(changed func()) []sallyport.Tool {
	return slices.Concat(newTools(changed), newPrompts(), []sallyport.Tool{newResources()}, newAskingTools(), newTaskTools())
}

func newTools(changed func()) []sallyport.Tool {
	change := func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		changed()
		return sallyport.OK("The lists have changed."), nil
	}
	return []sallyport.Tool{
		{Name: "test_simple_text", Description: "Tests a simple text.", Run: returnText("This is a simple text response for testing.")},
		{Name: "test_image_content", Description: "Tests a picture.", Run: returnParts(newImagePart(""))},
		{Name: "test_audio_content", Description: "Tests a sound.", Run: returnParts(sallyport.Part{
			Kind: sallyport.PartAudio, Data: decodeBase64(sound), MediaType: "audio/wav",
		})},
		{Name: "test_embedded_resource", Description: "Tests an embedded resource.", Run: returnParts(
			newResourcePart("", "test://embedded-resource", "This is an embedded resource content."),
		)},
		{Name: "test_multiple_content_types", Description: "Tests several kinds of content.", Run: returnParts(
			sallyport.Part{Kind: sallyport.PartText, Text: "Multiple content types test:"}, newImagePart(""),
			newResourcePart("", "test://mixed-content-resource", `{"test":"data","value":123}`),
		)},
		{Name: "test_tool_with_logging", Description: "Tests messages for the user.", Run: reportSteps(
			"Tool execution started", "Tool processing data", "Tool execution completed",
		)},
		{Name: "test_tool_with_progress", Description: "Tests progress.", Run: reportSteps("begun", "on the way", "done")},
		{Name: "test_error_handling", Description: "Tests a failure.", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.Err("This tool intentionally returns an error for testing", ""), nil
		}},
		{Name: "json_schema_2020_12_tool", Description: "Tests that a schema arrives as it is.", Schema: schema2020, Run: echoArguments},
		{Name: "test_logging_tool", Description: "Tells the user something.", Run: reportSteps("told")},
		{Name: "test_streaming_elicitation", Description: "Tests that a stream carries no questions.", Run: reportSteps("on the way")},
		{
			Name: "test_x_mcp_header", Description: "Tests arguments that a header repeats.", Run: echoArguments,
			Schema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`),
		},
		{Name: "test_reconnection", Description: "Takes a while.", Run: reportSteps("on the way")},
		{Name: "test_trigger_tool_change", Description: "Changes the list of tools.", Run: change},
		{Name: "test_trigger_prompt_change", Description: "Changes the list of prompts.", Run: change},
	}
}

// schema2020 uses what later drafts of JSON Schema brought.
var schema2020 = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
	"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
	"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
		"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
	"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
	"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
	"then":{"required":["phone"]},"else":{"required":["email"]},
	"additionalProperties":false}`)

func newPrompts() []sallyport.Tool {
	texts := func(names ...string) json.RawMessage {
		var properties, required []string
		for _, n := range names {
			properties = append(properties, fmt.Sprintf(`%q:{"type":"string","description":"The argument %s"}`, n, n))
			required = append(required, fmt.Sprintf("%q", n))
		}
		return json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`)
	}
	user := sallyport.RoleUser
	return []sallyport.Tool{
		{
			Name: "test_simple_prompt", Form: sallyport.FormPrompt, Title: "Simple", Description: "A prompt without arguments.",
			Run: returnParts(newTextPart("This is a simple prompt for testing.")),
		},
		{
			Name: "test_prompt_with_arguments", Form: sallyport.FormPrompt, Description: "A prompt with arguments.",
			Schema: texts("arg1", "arg2"),
			Run: returnPartsOf(func(a map[string]string) []sallyport.Part {
				return []sallyport.Part{newTextPart(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
			}),
		},
		{
			Name: "test_prompt_with_embedded_resource", Form: sallyport.FormPrompt, Description: "A prompt that brings a resource.",
			Schema: texts("resourceUri"),
			Run: returnPartsOf(func(a map[string]string) []sallyport.Part {
				return []sallyport.Part{
					newResourcePart(user, a["resourceUri"], "Embedded resource content for testing."),
					newTextPart("Please process the embedded resource above."),
				}
			}),
		},
		{
			Name: "test_prompt_with_image", Form: sallyport.FormPrompt, Description: "A prompt that brings a picture.",
			Run: returnParts(newImagePart(user), newTextPart("Please analyze the image above.")),
		},
	}
}

func newResources() sallyport.Tool {
	return sallyport.Tool{
		Name: "fixtures", Form: sallyport.FormResource, Description: "Reads the suite's resources.",
		Resources: []sallyport.Resource{
			{URI: "test://static-text", Name: "static-text", Description: "A text.", MediaType: "text/plain"},
			{URI: "test://static-binary", Name: "static-binary", Description: "A picture.", MediaType: "image/png"},
			{URI: "test://watched-resource", Name: "watched-resource", Description: "A text to follow.", MediaType: "text/plain"},
			{Template: "test://template/{id}/data", Name: "template", Description: "One of a family.", MediaType: "application/json"},
		},
		Run: returnPartsOf(func(a map[string]string) []sallyport.Part {
			uri := a["uri"]
			switch uri {
			case "test://static-text":
				return []sallyport.Part{newResourcePart("", uri, "This is the content of the static text resource.")}
			case "test://static-binary":
				return []sallyport.Part{{Kind: sallyport.PartResource, URI: uri, Data: decodeBase64(picture), MediaType: "image/png"}}
			case "test://watched-resource":
				return []sallyport.Part{newResourcePart("", uri, "Watched resource content")}
			default:
				id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
				p := newResourcePart("", uri, fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id))
				p.MediaType = "application/json"
				return []sallyport.Part{p}
			}
		}),
	}
}
