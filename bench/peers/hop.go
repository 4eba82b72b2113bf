package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// mounts is a server in front of two others: one over HTTP, which is also
// behind a plain proxy, and one on stdio.
type mounts struct {
	dir        string
	serve      *process
	url, token string
	// far is the server over HTTP without a gate, and near that on stdio.
	far, near target
	proxied   target
	// gatedFar and gatedNear call them through the default installation.
	gatedFar, gatedNear target
}

// mountedConfig is what `sallyport init` writes, without its comments, with two
// servers. One rule is loosened: a person would have to approve each call of the
// server with a host, once a conversation has used the other one.
const mountedConfig = `version: 2
workspace: .
state: sqlite:.sallyport/state.db
mcp_servers:
  far: {url: "http://HOST/mcp", concurrency: 64}
  near: {command: [env, ./peer, -stdio, bare], concurrency: 64, capabilities: {fs_reach: {read: ["${workspace}/peer"]}}}
personalities:
  default:
    tools: ["@file", "@web"]
    read: ["${workspace}"]
    write: ["${workspace}"]
    hosts: ["HOST"]
    safety: {network: {allow_private: ["HOST"]}, flow: {allow: ["mcp__far__*"]}}
    mcp_servers: [far, near]
`

// mount starts all of them.
func (b *bench) mount(ctx context.Context) (*mounts, error) {
	dir, err := b.newWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	m := &mounts{dir: dir}
	p, url, _, err := b.startListener(ctx, dir, peer, "bare")
	if err != nil {
		return nil, err
	}
	m.far = overHTTP("far", p, url, "", "echo", echoArgs)
	p, proxy, _, err := b.startListener(ctx, dir, peer, "proxy", url)
	if err != nil {
		return nil, err
	}
	m.proxied = overHTTP("proxied", p, proxy, "", "echo", echoArgs)
	// A child sees its workspace, so that the program has to be there.
	built, err := b.build(ctx, peer)
	if err != nil {
		return nil, err
	}
	if err := copyFile(built, filepath.Join(dir, "peer")); err != nil {
		return nil, err
	}
	if p, err = b.start(ctx, dir, "./peer", "-stdio", "bare"); err != nil {
		return nil, err
	}
	if m.near, err = overStdio("near", p, "echo", echoArgs); err != nil {
		return nil, err
	}
	config := strings.ReplaceAll(mountedConfig, "HOST", strings.TrimPrefix(url, "http://"))
	if err := os.WriteFile(filepath.Join(dir, "sallyport.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return m, m.startGate(ctx, b)
}

// startGate starts the gate in front of the servers.
func (m *mounts) startGate(ctx context.Context, b *bench) (err error) {
	if m.serve, m.url, m.token, err = b.startServe(ctx, m.dir); err != nil {
		return err
	}
	m.gatedFar = overHTTP("gated far", m.serve, m.url, m.token, "mcp__far__echo", echoArgs)
	m.gatedNear = overHTTP("gated near", m.serve, m.url, m.token, "mcp__near__echo", echoArgs)
	return nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

// proxyRow is how ratios call the plain proxy.
const proxyRow = "`ReverseProxy`"

// measureHop calls a tool of the mounted servers with and without the gate, and
// through a plain proxy. What is added is the difference of the medians of a
// round.
func measureHop(ctx context.Context, b *bench) ([]figure, error) {
	defer b.stopAll()
	m, err := b.mount(ctx)
	if err != nil {
		return nil, err
	}
	courses, err := b.inTurns(ctx, []target{m.gatedFar, m.gatedNear, m.proxied, m.far, m.near}, 1, b.atOnce)
	if err != nil {
		return nil, err
	}
	const gatedFar, gatedNear, proxied, far, near = 0, 1, 2, 3, 4
	byProxy := addedTo(courses[far].p50, courses[proxied].p50)
	added := func(what string, gated, direct int) figure {
		by := addedTo(courses[direct].p50, courses[gated].p50)
		f := figure{
			What: what, P50: time.Duration(median(by)), Processor: time.Duration(mean(courses[gated].processor)),
			Ratios: []ratio{{proxyRow, medianRatio(by, byProxy)}},
		}
		f.aimBelowShare(proxyRow, 2)
		return f
	}
	return []figure{
		added("**by the default `serve`**, server over HTTP: median", gatedFar, far),
		added("**by the default `serve`**, server on stdio, confined: median", gatedNear, near),
		{
			What: "by `httputil.ReverseProxy`, server over HTTP: median", P50: time.Duration(median(byProxy)),
			Processor: time.Duration(mean(courses[proxied].processor)),
		},
	}, nil
}

// rateClients bounds the calls that wait at a fixed rate.
const rateClients = 64

// keepsUp is the share of the planned calls that have to be answered in their
// turn. What comes later waits for what came before, and its time says more about
// the length of the turn than about the program.
const keepsUp = 0.95

// measureRate calls the server over HTTP at planned times. What is added is the
// difference of the 99th percentiles of a round.
func measureRate(ctx context.Context, b *bench) ([]figure, error) {
	defer b.stopAll()
	m, err := b.mount(ctx)
	if err != nil {
		return nil, err
	}
	courses, err := b.inTurns(ctx, []target{m.gatedFar, m.proxied, m.far}, rateClients, b.paced)
	if err != nil {
		return nil, err
	}
	var rows []figure
	const proxied, far = 1, 2
	for i, what := range []string{"**by the default `serve`**", "by `httputil.ReverseProxy`"} {
		f := figure{What: what + ": median and 99th percentile", Processor: time.Duration(mean(courses[i].processor))}
		if f.PerSecond = median(courses[i].rate); f.PerSecond < keepsUp*pacedRate {
			f.What += ", which did not keep up with the rate"
		}
		p50, p99 := addedTo(courses[far].p50, courses[i].p50), addedTo(courses[far].p99, courses[i].p99)
		f.P50, f.P99 = time.Duration(median(p50)), time.Duration(median(p99))
		if i != proxied {
			f.Ratios = []ratio{
				{proxyRow + " at the median", medianRatio(p50, addedTo(courses[far].p50, courses[proxied].p50))},
				{proxyRow + " at the 99th percentile", medianRatio(p99, addedTo(courses[far].p99, courses[proxied].p99))},
			}
			f.aimBelowShare(proxyRow+" at the 99th percentile", 1.5)
		}
		rows = append(rows, f)
	}
	return rows, nil
}

// addedTo returns what the second values are more than the first ones, by round.
func addedTo(direct, through []float64) []float64 {
	by := make([]float64, len(direct))
	for i := range by {
		by[i] = through[i] - direct[i]
	}
	return by
}
