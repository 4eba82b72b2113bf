package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// mountedServer is the MCP server of a suite. It answers each call with the result
// that it was handed just before.
type mountedServer struct {
	http    *http.Server
	address string
	tools   json.RawMessage // the answer to tools/list

	mu      sync.Mutex
	next    *recordedCall
	arrived bool
	fault   error
}

// startServer serves the tools of a suite on a free port of loopback.
func startServer(w suiteWorld) (*mountedServer, error) {
	tools, err := listTools(w)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &mountedServer{address: listener.Addr().String(), tools: tools}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(listener) }() // until close
	return s, nil
}

func (s *mountedServer) close() error { return s.http.Close() }

// listTools returns the answer to tools/list. The tools that only read say so, as the
// author of the server would.
func listTools(w suiteWorld) (json.RawMessage, error) {
	type annotations struct {
		ReadOnly bool `json:"readOnlyHint"`
	}
	type listedTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations annotations     `json:"annotations"`
	}
	list := []listedTool{}
	for _, t := range w.Tools {
		list = append(list, listedTool{t.Name, t.Description, t.Schema, annotations{w.effects[t.Name].onlyReads()}})
	}
	return json.Marshal(map[string]any{"tools": list})
}

// expect hands over the call that comes next.
func (s *mountedServer) expect(c *recordedCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.arrived = c, false
}

// hasArrived reports whether the call that was expected came.
func (s *mountedServer) hasArrived() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived, s.fault
}

// message is a request or notification of the gate.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
	} `json:"params"`
}

// maxMessage bounds what the gate sends at once, in bytes.
const maxMessage = 32 << 20

func (s *mountedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m message
	if err := json.NewDecoder(io.LimitReader(r.Body, maxMessage)).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	result, err := s.answer(&m)
	if err != nil {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%s}}`, m.ID, quoteText(err.Error()))
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *mountedServer) answer(m *message) (json.RawMessage, error) {
	switch m.Method {
	case "initialize":
		return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"suite","version":"1"}}`), nil
	case "tools/list":
		return s.tools, nil
	case "ping":
		return json.RawMessage(`{}`), nil
	case "tools/call":
		return s.answerCall(m.Params.Name)
	default:
		return nil, fmt.Errorf("no method %s", m.Method)
	}
}

// failedPrefix begins the recorded result of a call that failed.
const failedPrefix = "ERROR: "

// answerCall gives the recorded result of the call that is expected.
func (s *mountedServer) answerCall(tool string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil || s.next.Tool != tool {
		s.fault = fmt.Errorf("%s was called, which nothing asked for", tool)
		return nil, s.fault
	}
	s.arrived = true
	text := s.next.resultText()
	return json.Marshal(map[string]any{
		"content": []any{map[string]string{"type": "text", "text": text}},
		"isError": strings.HasPrefix(text, failedPrefix),
	})
}
