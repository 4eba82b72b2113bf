// Command peer is what the product is compared with: servers of two tools,
// read_file and echo, without a gate. It ends with its standard input.
//
//	peer bare|mcp-go|go-sdk          over HTTP
//	peer -stdio bare|mcp-go|go-sdk   over standard input and output
//	peer proxy URL                   httputil.ReverseProxy in front of URL
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "-stdio":
		return serveStdio(ctx, args[1])
	case len(args) == 2 && args[0] == "proxy":
		return serveProxy(args[1])
	case len(args) == 1:
		return serveHTTP(args[0])
	}
	return errors.New("usage: peer [-stdio] bare|mcp-go|go-sdk, or peer proxy URL")
}

func serveStdio(ctx context.Context, name string) error {
	switch name {
	case "bare":
		return answerLines(os.Stdin, os.Stdout)
	case "mcp-go":
		return server.ServeStdio(newMCPGo())
	case "go-sdk":
		err := newGoSDK().Run(ctx, &mcp.StdioTransport{})
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	return fmt.Errorf("no peer %q", name)
}

func serveHTTP(name string) error {
	switch name {
	case "bare":
		return listen(http.HandlerFunc(answerRequest))
	case "mcp-go":
		return listen(server.NewStreamableHTTPServer(newMCPGo(), server.WithStateful(true)))
	case "go-sdk":
		s := newGoSDK()
		return listen(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{JSONResponse: true}))
	}
	return fmt.Errorf("no peer %q", name)
}

func serveProxy(target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) },
		// The transport of net/http keeps two connections to a host, and would make
		// a new one for most of sixteen requests at once.
		Transport: &http.Transport{MaxIdleConnsPerHost: 1000},
	}
	return listen(proxy)
}

// listen serves on a free port of loopback, prints its address and ends with
// standard input.
func listen(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	s := &http.Server{Handler: h}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = s.Close()
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
