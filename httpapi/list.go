package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// listedAction is a tool as the API describes it, in the words of the configuration.
type listedAction struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Toolset     string          `json:"toolset,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Returns     json.RawMessage `json:"returns,omitempty"`
	Permissions []string        `json:"permissions"`
	RateLimit   *rateLimit      `json:"rateLimit,omitempty"`
	ReadOnly    bool            `json:"readOnly"`
	Destructive bool            `json:"destructive"`
	Idempotent  bool            `json:"idempotent"`
	OpenWorld   bool            `json:"openWorld"`

	attachments bool
}

type rateLimit struct {
	Requests int    `json:"requests"`
	Window   string `json:"window"`
}

// listQuery is what a listing may ask for.
type listQuery struct {
	permissions []string // nil asks for everything
	personality string
}

// notYours refuses a role.
const notYours = "Permission denied: the personality is not one of the principal's"

// parseQuery reads the query of a request strictly: what is not known would
// otherwise be a filter that does nothing.
func parseQuery(raw string, filters bool) (q listQuery, err error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, errors.New("the query cannot be read")
	}
	for key, list := range values {
		switch {
		case key == "personality" && len(list) == 1 && isUsableName(list[0]):
			q.personality = list[0]
		case key == "permissions" && filters:
			for _, v := range list {
				q.permissions = append(q.permissions, strings.Split(v, ",")...)
			}
			if slices.Contains(q.permissions, "") {
				return q, errors.New("permissions: expected permissions with commas between them")
			}
		case key == "personality":
			return q, fmt.Errorf("personality: expected one text of at most %d bytes without control characters", maxWord)
		default:
			return q, fmt.Errorf("unknown query parameter %q", text.ClipBytes(key, quotedBytes))
		}
	}
	return q, nil
}

// readQuery reads who asks and for what. It answers and returns false when the
// query is broken or the role is not the principal's.
func (s *Server) readQuery(w http.ResponseWriter, r *http.Request, filters bool) (caller sallyport.Caller, q listQuery, ok bool) {
	q, err := parseQuery(r.URL.RawQuery, filters)
	if err != nil {
		writeRefusal(w, http.StatusBadRequest, sallyport.CodeInputInvalid, err.Error())
		return caller, q, false
	}
	caller = s.callerOf(r, q.personality)
	if !caller.Principal.MayTake(caller.Personality) {
		writeRefusal(w, http.StatusForbidden, sallyport.CodePermissionDenied, notYours)
		return caller, q, false
	}
	return caller, q, true
}

func (s *Server) listActions(w http.ResponseWriter, r *http.Request) {
	caller, q, ok := s.readQuery(w, r, true)
	if !ok {
		return
	}
	seen := s.visibleActions(&caller)
	if q.permissions != nil {
		seen = slices.DeleteFunc(seen, func(a listedAction) bool {
			return !(&sallyport.Tool{Permissions: a.Permissions}).AsksFor(q.permissions...)
		})
	}
	writeJSON(w, http.StatusOK, successBody{Success: true, Data: seen})
}

// describeAction describes one action. One that the caller does not see is answered
// like one that does not exist.
func (s *Server) describeAction(w http.ResponseWriter, r *http.Request) {
	caller, _, ok := s.readQuery(w, r, false)
	if !ok {
		return
	}
	id := r.PathValue("id")
	for _, a := range s.visibleActions(&caller) {
		if a.ID == id {
			writeJSON(w, http.StatusOK, successBody{Success: true, Data: a})
			return
		}
	}
	writeRefusal(w, http.StatusNotFound, sallyport.CodeNotAvailable, "Unknown tool: "+text.ClipBytes(id, quotedBytes))
}

// visibleActions returns the actions that the caller sees, sorted by id.
func (s *Server) visibleActions(caller *sallyport.Caller) []listedAction {
	declared := map[string]*sallyport.Tool{}
	tools := s.gate.List(caller)
	for i := range tools {
		declared[tools[i].Name] = &tools[i]
	}
	out := []listedAction{}
	for _, d := range s.gate.Definitions(caller) {
		t := declared[d.Name]
		if t == nil {
			continue // it came or went between the two
		}
		a := listedAction{
			ID: d.Name, Name: d.Title, Description: d.Description, Toolset: t.Toolset,
			Parameters: d.Schema, Returns: d.Returns, Permissions: t.Permissions,
			ReadOnly: d.ReadOnly, Destructive: d.Destructive, Idempotent: d.Idempotent, OpenWorld: d.OpenWorld,
			attachments: t.Capabilities.Attachments != nil,
		}
		if a.Permissions == nil {
			a.Permissions = []string{}
		}
		if l := t.RateLimit; l != nil {
			a.RateLimit = &rateLimit{l.Requests, durationText(l.Window)}
		}
		out = append(out, a)
	}
	return out
}

// durationText writes a duration as the configuration does: a number and one of s,
// m, h and d, the largest that gives a whole number.
func durationText(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= u.unit && d%u.unit == 0 {
			return fmt.Sprint(int64(d/u.unit), u.name)
		}
	}
	return d.String()
}
