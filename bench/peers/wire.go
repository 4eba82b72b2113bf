package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// protocol is the version of MCP that all servers here speak.
const protocol = "2025-06-18"

const (
	hello    = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + protocol + `","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	ready    = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listing  = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
	readArgs = `{"path":"` + readName + `"}`
	echoArgs = `{"text":"` + readText + `"}`
)

// callOf returns a call of a tool.
func callOf(id int, tool, args string) string {
	return `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
}

// caller makes one call at a time. Each answer must hold the word that the tool
// answers with.
type caller interface {
	call() error
	close() error
}

// target is what is measured: how to reach it, and the process whose time
// counts.
type target struct {
	name string
	pid  int
	open func(ctx context.Context) (caller, error)
	// beside runs during the turns of the target; nil runs nothing.
	beside func(ctx context.Context)
}

// connection is one connection over HTTP with a session of its own. It writes
// prepared bytes, so that the client costs little.
type connection struct {
	net.Conn
	answers *bufio.Reader
	head    string
	request []byte
	body    bytes.Buffer
}

// overHTTP returns a target that calls a tool at an address.
func overHTTP(name string, p *process, url, token, tool, args string) target {
	return target{name: name, pid: p.pid(), open: func(ctx context.Context) (caller, error) {
		return dial(ctx, url, token, callOf(7, tool, args))
	}}
}

func dial(ctx context.Context, url, token, message string) (*connection, error) {
	address := strings.TrimPrefix(url, "http://")
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, answers: bufio.NewReader(conn)}
	c.head = "Host: " + address + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	if token != "" {
		c.head += "Authorization: Bearer " + token + "\r\n"
	}
	h, err := c.post(hello)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c.head += "Mcp-Protocol-Version: " + protocol + "\r\n"
	if session := h.Get("Mcp-Session-Id"); session != "" {
		c.head += "Mcp-Session-Id: " + session + "\r\n"
	}
	if _, err := c.post(ready); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c.request = c.encode("POST", message)
	return c, nil
}

func (c *connection) encode(method, message string) []byte {
	return fmt.Appendf(nil, "%s /mcp HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", method, c.head, len(message), message)
}

func (c *connection) post(message string) (http.Header, error) {
	return c.exchange(c.encode("POST", message))
}

// exchange sends a request and reads the whole answer.
func (c *connection) exchange(request []byte) (http.Header, error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	c.body.Reset()
	if _, err := c.body.ReadFrom(res.Body); err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 {
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, c.body.Bytes())
	}
	return res.Header, nil
}

func (c *connection) call() error {
	if _, err := c.exchange(c.request); err != nil {
		return err
	}
	return checkAnswer(c.body.Bytes())
}

func checkAnswer(text []byte) error {
	if !bytes.Contains(text, []byte(readText)) || bytes.Contains(text, []byte(`"isError":true`)) {
		return fmt.Errorf("the answer was %s", text)
	}
	return nil
}

// close ends the session, too: a server that has none says so, which is no
// error here.
func (c *connection) close() error {
	_, _ = c.exchange(c.encode("DELETE", ""))
	return c.Conn.Close()
}

// pipe is a server on standard input and output, which several callers use at
// once.
type pipe struct {
	p    *process
	call string // with %d for the id
	mu   sync.Mutex
	free []int
	wait []chan error
}

// slots bounds the callers of a pipe. An id is a running number times slots
// plus the number of the caller.
const slots = 64

// overStdio begins to talk to a process and returns a target that calls a tool.
func overStdio(name string, p *process, tool, args string) (target, error) {
	s := &pipe{p: p, call: strings.Replace(callOf(0, tool, args), `"id":0`, `"id":%d`, 1) + "\n", wait: make([]chan error, slots)}
	for i := range slots {
		s.wait[i] = make(chan error, 1)
		s.free = append(s.free, i)
	}
	if err := p.greet(); err != nil {
		return target{}, fmt.Errorf("%s: %w", name, err)
	}
	go s.read()
	return target{name: name, pid: p.pid(), open: func(context.Context) (caller, error) { return s.join() }}, nil
}

// greet sends the first messages of a client and reads the answer.
func (p *process) greet() error {
	if _, err := io.WriteString(p.in, hello+"\n"); err != nil {
		return err
	}
	if _, err := p.out.ReadString('\n'); err != nil {
		return fmt.Errorf("%w\n%s", err, p.stderr.Bytes())
	}
	_, err := io.WriteString(p.in, ready+"\n")
	return err
}

// read hands each answer to the caller whose number its id holds.
func (s *pipe) read() {
	for {
		line, err := s.p.out.ReadSlice('\n')
		if err != nil {
			for _, w := range s.wait {
				select {
				case w <- err:
				default:
				}
			}
			return
		}
		_, after, ok := bytes.Cut(line, []byte(`"id":`))
		if !ok {
			continue // a notification
		}
		id := 0
		for _, digit := range after {
			if digit < '0' || digit > '9' {
				break
			}
			id = id*10 + int(digit-'0')
		}
		s.wait[id%slots] <- checkAnswer(line)
	}
}

func (s *pipe) join() (caller, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil, errors.New("all slots of the pipe are taken")
	}
	slot := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return &pipeCaller{s, slot, 0}, nil
}

// pipeCaller is one of the callers of a pipe.
type pipeCaller struct {
	s    *pipe
	slot int
	made int
}

func (c *pipeCaller) call() error {
	c.made++
	line := fmt.Appendf(nil, c.s.call, c.made*slots+c.slot)
	c.s.mu.Lock()
	_, err := c.s.p.in.Write(line)
	c.s.mu.Unlock()
	if err != nil {
		return err
	}
	return <-c.s.wait[c.slot]
}

func (c *pipeCaller) close() error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.free = append(c.s.free, c.slot)
	return nil
}
