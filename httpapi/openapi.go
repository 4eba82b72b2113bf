package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
)

// openAPIVersion is the version whose schemas are JSON Schema 2020-12.
const openAPIVersion = "3.1.1"

// object is a JSON object. Keys are written in order, so that the same
// actions give the same text.
type object map[string]any

// openAPI answers with the document of what the caller sees. Unlike other
// answers it may be kept by the client that asked, and is then asked about.
func (s *Server) openAPI(w http.ResponseWriter, r *http.Request) {
	caller, _, ok := s.readQuery(w, r, false)
	if !ok {
		return
	}
	text, err := encodeJSON(s.document(s.visibleActions(&caller)))
	if err != nil {
		s.o.Logger.Error("the OpenAPI document cannot be written", "error", err)
		writeRefusal(w, http.StatusInternalServerError, sallyport.CodeExecutionFailed, "The document cannot be written")
		return
	}
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Authorization")
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", ContentJSON)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	// A client that is gone cannot be told.
	_, _ = w.Write(text)
}

// matches reports whether a client has the text of a tag (RFC 9110 section
// 13.1.2: the comparison is the weak one).
func matches(headers []string, tag string) bool {
	for _, header := range headers {
		for have := range strings.SplitSeq(header, ",") {
			have = strings.TrimPrefix(strings.TrimSpace(have), "W/")
			if have == tag || have == "*" {
				return true
			}
		}
	}
	return false
}

// document describes actions, one path each.
func (s *Server) document(actions []listedAction) object {
	paths, schemas := object{}, object{"failure": failureSchema(), "part": partSchema()}
	for i := range actions {
		a := &actions[i]
		schemas[a.ID+".parameters"] = embedded(a.Parameters, a.ID+".parameters")
		if a.Returns != nil {
			schemas[a.ID+".returns"] = embedded(a.Returns, a.ID+".returns")
		}
		paths["/v1/actions/"+a.ID+"/execute"] = object{"post": s.operation(a)}
	}
	return object{
		"openapi": openAPIVersion,
		"info": object{
			"title": "Sallyport", "version": s.o.Version,
			"description": "The actions that this caller may see. Every call is decided and recorded by the gate.",
		},
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"servers":           []object{{"url": "/"}},
		"security":          []object{{"bearer": []string{}}},
		"paths":             paths,
		"components": object{
			"schemas":         schemas,
			"responses":       failureResponses(),
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer"}},
		},
	}
}

// operation describes the execution of one action.
func (s *Server) operation(a *listedAction) object {
	content := object{ContentJSON: object{"schema": requestSchema(a)}}
	if a.attachments && s.o.Uploads != nil {
		content[ContentMultipart] = object{
			"schema": object{
				"type": "object",
				"properties": object{
					requestPart: requestSchema(a),
					filePart:    object{"type": "array", "maxItems": maxFiles, "items": object{"type": "string", "contentMediaType": "application/octet-stream"}},
				},
				"additionalProperties": false,
			},
			"encoding": object{requestPart: object{"contentType": ContentJSON}},
		}
	}
	responses := object{"200": object{
		"description": "The action was executed. A client that accepts text/event-stream gets progress events and then a result event with this object and its status.",
		"content":     object{ContentJSON: object{"schema": successSchema(a)}, eventStream: object{"schema": object{"type": "string"}}},
	}}
	for name := range failureResponses() {
		responses[name] = object{"$ref": "#/components/responses/" + name}
	}
	out := object{
		"operationId": a.ID, "summary": a.Name, "description": a.Description,
		"requestBody": object{"required": true, "content": content},
		"responses":   responses,
	}
	if a.Toolset != "" {
		out["tags"] = []string{a.Toolset}
	}
	if len(a.Permissions) > 0 {
		out["x-permissions"] = a.Permissions
	}
	return out
}

func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func requestSchema(a *listedAction) object {
	text := func(what string) object {
		return object{"type": "string", "maxLength": maxWord, "description": what}
	}
	return object{
		"type": "object",
		"properties": object{
			"params":      reference(a.ID + ".parameters"),
			"session":     text("The conversation that the call belongs to; without one it has one of its own."),
			"personality": text("The role, one of the principal's; without one the server's choice."),
			"dry_run":     object{"type": "boolean", "default": false, "description": "Describe the call instead of making it."},
		},
		"additionalProperties": false,
	}
}

func successSchema(a *listedAction) object {
	data := object{"type": []string{"string", "object"}, "description": "The structured result when there is one, else the text."}
	if a.Returns != nil {
		data = object{"anyOf": []object{reference(a.ID + ".returns"), {"type": "string", "description": "The description of a dry run."}}}
	}
	return object{
		"type": "object",
		"properties": object{
			"success": object{"const": true}, "data": data, "parts": partsSchema(),
			"call_id": object{"type": "string"}, "cost_usd": object{"type": "number"},
		},
		"required": []string{"success", "data", "call_id"},
	}
}

// partsSchema is what an answer holds beside its data or error.
func partsSchema() object {
	return object{"type": "array", "items": reference("part"), "description": "What the result holds beside it; absent when there is nothing."}
}

// partSchema describes a [sallyport.Part].
func partSchema() object {
	text := object{"type": "string"}
	return object{
		"type": "object",
		"properties": object{
			"kind": object{"type": "string", "enum": []sallyport.PartKind{
				sallyport.PartText, sallyport.PartImage, sallyport.PartAudio, sallyport.PartResource, sallyport.PartLink,
			}},
			"role": object{"type": "string", "enum": []sallyport.Role{sallyport.RoleUser, sallyport.RoleAssistant}},
			"text": text, "uri": text, "name": text, "title": text, "description": text, "media_type": text,
			"data": object{"type": "string", "contentEncoding": "base64"},
			"size": object{"type": "integer", "minimum": 0},
		},
		"required": []string{"kind"},
	}
}

func failureSchema() object {
	codes := []sallyport.Code{}
	for _, spec := range sallyport.Codes() {
		if spec.HTTP != 0 {
			codes = append(codes, spec.Code)
		}
	}
	return object{
		"type": "object",
		"properties": object{
			"success": object{"const": false}, "error": object{"type": "string"},
			"code":           object{"type": "string", "enum": codes},
			"parts":          partsSchema(),
			"call_id":        object{"type": "string", "description": "Absent when the request was no call."},
			"retry_after_ms": object{"type": "integer", "minimum": 0},
			"approval_id":    object{"type": "string"},
			"expires_at":     object{"type": "string", "format": "date-time"},
			"cost_usd":       object{"type": "number"},
		},
		"required": []string{"success", "error", "code"},
	}
}

// failureResponses is what can go wrong, by status: the table of codes, and
// what no code stands for.
func failureResponses() object {
	said := map[int][]string{
		http.StatusUnauthorized:          {"no bearer token, or one that is not known"},
		http.StatusRequestEntityTooLarge: {"the body is too long"},
		http.StatusUnsupportedMediaType:  {"the content type is not one that is read here"},
		http.StatusServiceUnavailable:    {string(sallyport.CodeNotAvailable) + ": a backend is missing, or too much runs at once"},
	}
	for _, spec := range sallyport.Codes() {
		if spec.HTTP != 0 {
			said[spec.HTTP] = append(said[spec.HTTP], string(spec.Code)+": "+spec.When)
		}
	}
	out := object{}
	for status, lines := range said {
		response := object{
			"description": strings.Join(lines, "\n"),
			"content":     object{ContentJSON: object{"schema": reference("failure")}},
		}
		if status == http.StatusTooManyRequests {
			response["headers"] = object{"Retry-After": object{
				"description": "Seconds, rounded up.", "schema": object{"type": "integer", "minimum": 1},
			}}
		}
		out[strconv.Itoa(status)] = response
	}
	return out
}
