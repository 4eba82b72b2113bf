// Command agent is a sub-agent that follows a script: the prompt of its task is a JSON list
// of steps. It answers what each step gave.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// step is one thing to do: a call of a tool, or a word.
type step struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	// Times repeats the call; 0 means once.
	Times int `json:"times"`
	// Do is hang, die, garbage, print, flood, dial or list.
	Do   string `json:"do"`
	Text string `json:"text"`
}

type agent struct {
	in  *bufio.Reader
	out io.Writer
	id  int
}

// sendRequest sends a request and returns its answer.
func (a *agent) sendRequest(method, params string) (answer map[string]any, err error) {
	a.id++
	if _, err := fmt.Fprintf(a.out, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", a.id, method, params); err != nil {
		return nil, err
	}
	for {
		line, err := a.in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		answer = nil
		if err := json.Unmarshal(line, &answer); err != nil {
			return nil, err
		}
		if id, ok := answer["id"].(float64); ok && int(id) == a.id {
			return answer, nil
		}
	}
}

func (a *agent) callTool(tool string, args json.RawMessage) string {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	answer, err := a.sendRequest("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	if err != nil {
		return "lost: " + err.Error()
	}
	result, _ := answer["result"].(map[string]any)
	var text strings.Builder
	parts, _ := result["content"].([]any)
	for _, p := range parts {
		part, _ := p.(map[string]any)
		fmt.Fprint(&text, part["text"])
	}
	if result == nil {
		return fmt.Sprint("refused: ", answer["error"])
	}
	return text.String()
}

func (a *agent) followPlan(s step) string {
	switch s.Do {
	case "hang":
		time.Sleep(time.Hour)
	case "die":
		os.Exit(3)
	case "garbage":
		_, _ = io.WriteString(a.out, s.Text+"\n")
		return "sent"
	case "print":
		fmt.Println(s.Text)
		os.Exit(0)
	case "flood":
		for {
			if _, err := os.Stdout.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
				os.Exit(4)
			}
		}
	case "dial":
		c, err := net.DialTimeout("tcp", s.Text, 2*time.Second)
		if err != nil {
			return "no: " + err.Error()
		}
		c.Close()
		return "connected"
	case "list":
		answer, err := a.sendRequest("tools/list", "{}")
		if err != nil {
			return err.Error()
		}
		result, _ := answer["result"].(map[string]any)
		tools, _ := result["tools"].([]any)
		var names []string
		for _, t := range tools {
			tool, _ := t.(map[string]any)
			names = append(names, fmt.Sprint(tool["name"]))
		}
		return strings.Join(names, " ")
	}
	said := ""
	for range max(s.Times, 1) {
		said = a.callTool(s.Tool, s.Args)
	}
	return said
}

func main() {
	channel := os.NewFile(0, "channel")
	a := &agent{in: bufio.NewReader(channel), out: channel}
	line, err := a.in.ReadBytes('\n')
	var job struct {
		Params struct{ Prompt string }
	}
	var steps []step
	if err == nil {
		err = json.Unmarshal(line, &job)
	}
	if err == nil {
		err = json.Unmarshal([]byte(job.Params.Prompt), &steps)
	}
	if err == nil {
		_, err = a.sendRequest("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}`)
	}
	if err == nil {
		_, err = io.WriteString(channel, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	said := []string{}
	for _, s := range steps {
		said = append(said, a.followPlan(s))
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"said": said})
}
