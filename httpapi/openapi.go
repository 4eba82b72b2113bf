package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
)

// openAPIVersion is the version whose schemas are JSON Schema 2020-12.
const openAPIVersion = "3.1.1"

// jsonObject is a JSON object. Keys are written in order, so that the same
// actions give the same text.
type jsonObject map[string]any

// openAPI answers with the document of what the caller sees. Unlike other
// answers it may be kept by the client that asked, and is then asked about.
func (s *Server) openAPI(w http.ResponseWriter, r *http.Request) {
	caller, _, ok := s.readQuery(w, r, false)
	if !ok {
		return
	}
	text, err := encodeJSON(s.newDocument(s.visibleActions(&caller)))
	if err != nil {
		s.o.Logger.Error("the OpenAPI document cannot be written", "error", err)
		writeRefusal(w, http.StatusInternalServerError, sallyport.CodeExecutionFailed, "The document cannot be written")
		return
	}
	tag := `"` + digest.Text(text)[:32] + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Authorization")
	if matchesTag(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", ContentJSON)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	// A client that is gone cannot be told.
	_, _ = w.Write(text)
}

// matchesTag reports whether a client has the text of a tag (RFC 9110 section
// 13.1.2: the comparison is the weak one).
func matchesTag(headers []string, tag string) bool {
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

// newDocument returns the description of actions, one path each.
func (s *Server) newDocument(actions []listedAction) jsonObject {
	paths, schemas := jsonObject{}, jsonObject{"failure": failureSchema(), "part": partSchema()}
	for i := range actions {
		a := &actions[i]
		schemas[a.ID+".parameters"] = embedSchema(a.Parameters, a.ID+".parameters")
		if a.Returns != nil {
			schemas[a.ID+".returns"] = embedSchema(a.Returns, a.ID+".returns")
		}
		paths["/v1/actions/"+a.ID+"/execute"] = jsonObject{"post": s.newOperation(a)}
	}
	return jsonObject{
		"openapi": openAPIVersion,
		"info": jsonObject{
			"title": "Sallyport", "version": s.o.Version,
			"description": "The actions that this caller may see. Every call is decided and recorded by the gate.",
		},
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"servers":           []jsonObject{{"url": "/"}},
		"security":          []jsonObject{{"bearer": []string{}}},
		"paths":             paths,
		"components": jsonObject{
			"schemas":         schemas,
			"responses":       failureResponses(),
			"securitySchemes": jsonObject{"bearer": jsonObject{"type": "http", "scheme": "bearer"}},
		},
	}
}

// newOperation returns the description of the execution of one action.
func (s *Server) newOperation(a *listedAction) jsonObject {
	content := jsonObject{ContentJSON: jsonObject{"schema": requestSchema(a)}}
	if a.attachments && s.o.Uploads != nil {
		content[contentMultipart] = jsonObject{
			"schema": jsonObject{
				"type": "object",
				"properties": jsonObject{
					requestPart: requestSchema(a),
					filePart:    jsonObject{"type": "array", "maxItems": maxFiles, "items": jsonObject{"type": "string", "contentMediaType": "application/octet-stream"}},
				},
				"additionalProperties": false,
			},
			"encoding": jsonObject{requestPart: jsonObject{"contentType": ContentJSON}},
		}
	}
	responses := jsonObject{"200": jsonObject{
		"description": "The action was executed. A client that accepts text/event-stream gets progress events and then a result event with this object and its status.",
		"content":     jsonObject{ContentJSON: jsonObject{"schema": successSchema(a)}, eventStream: jsonObject{"schema": jsonObject{"type": "string"}}},
	}}
	for name := range failureResponses() {
		responses[name] = jsonObject{"$ref": "#/components/responses/" + name}
	}
	out := jsonObject{
		"operationId": a.ID, "summary": a.Name, "description": a.Description,
		"requestBody": jsonObject{"required": true, "content": content},
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

func schemaRef(name string) jsonObject { return jsonObject{"$ref": "#/components/schemas/" + name} }

func requestSchema(a *listedAction) jsonObject {
	text := func(what string) jsonObject {
		return jsonObject{"type": "string", "maxLength": maxWord, "description": what}
	}
	return jsonObject{
		"type": "object",
		"properties": jsonObject{
			"params":      schemaRef(a.ID + ".parameters"),
			"session":     text("The conversation that the call belongs to; without one it has one of its own."),
			"personality": text("The role, one of the principal's; without one the server's choice."),
			"turn":        turnSchema(),
			"attachments": jsonObject{"type": "array", "maxItems": maxFiles, "items": jsonObject{"type": "string", "format": "uri"}, "description": "The files of the turn: URIs that uploads returned."},
			"dry_run":     jsonObject{"type": "boolean", "default": false, "description": "Describe the call instead of making it."},
		},
		"additionalProperties": false,
	}
}

// turnSchema is what a client says of the turn.
func turnSchema() jsonObject {
	number, name := jsonObject{"type": "integer", "minimum": 0}, jsonObject{"type": "string", "maxLength": maxWord}
	return jsonObject{
		"type": "object", "description": "What the client knows of the turn, for tools, reducers and the record.",
		"properties":           jsonObject{"turn": number, "messages": number, "agent": name, "team": name, "memory_scope": name},
		"additionalProperties": false,
	}
}

func successSchema(a *listedAction) jsonObject {
	data := jsonObject{"type": []string{"string", "object"}, "description": "The structured result when there is one, else the text."}
	if a.Returns != nil {
		data = jsonObject{"anyOf": []jsonObject{schemaRef(a.ID + ".returns"), {"type": "string", "description": "The description of a dry run."}}}
	}
	return jsonObject{
		"type": "object",
		"properties": jsonObject{
			"success": jsonObject{"const": true}, "data": data, "parts": partsSchema(),
			"call_id": jsonObject{"type": "string"}, "cost_usd": jsonObject{"type": "number"},
		},
		"required": []string{"success", "data", "call_id"},
	}
}

// partsSchema is what an answer holds beside its data or error.
func partsSchema() jsonObject {
	return jsonObject{"type": "array", "items": schemaRef("part"), "description": "What the result holds beside it; absent when there is nothing."}
}

func partSchema() jsonObject {
	text := jsonObject{"type": "string"}
	return jsonObject{
		"type": "object",
		"properties": jsonObject{
			"kind": jsonObject{"type": "string", "enum": []sallyport.PartKind{
				sallyport.PartText, sallyport.PartImage, sallyport.PartAudio, sallyport.PartResource, sallyport.PartLink,
			}},
			"role": jsonObject{"type": "string", "enum": []sallyport.Role{sallyport.RoleUser, sallyport.RoleAssistant}},
			"text": text, "uri": text, "name": text, "title": text, "description": text, "media_type": text,
			"data": jsonObject{"type": "string", "contentEncoding": "base64"},
			"size": jsonObject{"type": "integer", "minimum": 0},
		},
		"required": []string{"kind"},
	}
}

func failureSchema() jsonObject {
	codes := []sallyport.Code{}
	for _, spec := range sallyport.Codes() {
		if spec.HTTP != 0 {
			codes = append(codes, spec.Code)
		}
	}
	return jsonObject{
		"type": "object",
		"properties": jsonObject{
			"success": jsonObject{"const": false}, "error": jsonObject{"type": "string"},
			"code":           jsonObject{"type": "string", "enum": codes},
			"parts":          partsSchema(),
			"call_id":        jsonObject{"type": "string", "description": "Absent when the request was no call."},
			"retry_after_ms": jsonObject{"type": "integer", "minimum": 0},
			"approval_id":    jsonObject{"type": "string"},
			"expires_at":     jsonObject{"type": "string", "format": "date-time"},
			"cost_usd":       jsonObject{"type": "number"},
		},
		"required": []string{"success", "error", "code"},
	}
}

// failureResponses is what can go wrong, by status: the table of codes, and
// what no code stands for.
func failureResponses() jsonObject {
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
	out := jsonObject{}
	for status, lines := range said {
		response := jsonObject{
			"description": strings.Join(lines, "\n"),
			"content":     jsonObject{ContentJSON: jsonObject{"schema": schemaRef("failure")}},
		}
		if status == http.StatusTooManyRequests {
			response["headers"] = jsonObject{"Retry-After": jsonObject{
				"description": "Seconds, rounded up.", "schema": jsonObject{"type": "integer", "minimum": 1},
			}}
		}
		out[strconv.Itoa(status)] = response
	}
	return out
}
