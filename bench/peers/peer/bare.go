package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

// request is what the bare server reads of a message.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
}

// content is the result of a tool.
type content struct {
	Content []text `json:"content"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type pathInput struct {
	Path string `json:"path"`
}

type textInput struct {
	Text string `json:"text"`
}

const (
	begun  = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1"}}`
	listed = `{"tools":[` +
		`{"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}},` +
		`{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`
)

// answer is the least that a server of these tools can do. It returns nil for a
// message that wants no answer.
func answer(message []byte) ([]byte, error) {
	var r request
	if err := json.Unmarshal(message, &r); err != nil {
		return nil, err
	}
	if r.ID == nil {
		return nil, nil
	}
	var result any
	switch r.Method {
	case "initialize":
		result = json.RawMessage(begun)
	case "tools/list":
		result = json.RawMessage(listed)
	case "tools/call":
		said, err := callTool(r.Params.Name, r.Params.Arguments)
		if err != nil {
			return nil, err
		}
		result = content{[]text{{"text", said}}}
	default:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, r.ID), nil
	}
	return json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", r.ID, result})
}

func callTool(name string, arguments json.RawMessage) (string, error) {
	switch name {
	case "read_file":
		var in pathInput
		if err := json.Unmarshal(arguments, &in); err != nil {
			return "", err
		}
		return readFile(in.Path)
	case "echo":
		var in textInput
		err := json.Unmarshal(arguments, &in)
		return in.Text, err
	}
	return "", fmt.Errorf("no tool %q", name)
}

func readFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	return string(text), err
}

func answerRequest(w http.ResponseWriter, r *http.Request) {
	message, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	out, err := answer(message)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case out == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out)
	}
}

func answerLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line, err := answer(lines.Bytes())
		if err != nil {
			return err
		}
		if line == nil {
			continue
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}
