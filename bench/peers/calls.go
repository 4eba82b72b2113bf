package main

import "context"

// names of rows, as ratios call them.
const (
	served  = "`serve`"
	bare    = "the bare handler"
	mcpGo   = "mcp-go"
	goSDK   = "go-sdk"
	onLines = "the bare loop"
)

// measureHTTP calls read_file of the default installation and of its peers.
func (b *bench) measureHTTP(ctx context.Context, clients int) ([]figure, error) {
	dir, err := b.newWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	p, url, token, err := b.startServe(ctx, dir)
	if err != nil {
		return nil, err
	}
	targets := []target{overHTTP(served, p, url, token, "read_file", readArgs)}
	defer b.stopAll()
	for _, peerOf := range []struct{ name, arg string }{{bare, "bare"}, {mcpGo, "mcp-go"}, {goSDK, "go-sdk"}} {
		p, url, _, err := b.startListener(ctx, dir, peer, peerOf.arg)
		if err != nil {
			return nil, err
		}
		targets = append(targets, overHTTP(peerOf.name, p, url, "", "read_file", readArgs))
	}
	courses, err := b.inTurns(ctx, targets, clients, b.atOnce)
	if err != nil {
		return nil, err
	}
	rows := compareRates(courses, map[string]string{
		served: "**the default `serve`**: token, gate, record in a state file", bare: "a bare `net/http` handler: reads the file and answers",
		mcpGo: "mcp-go, without a gate", goSDK: "the official go-sdk, without a gate",
	}, 1)
	if clients > 1 {
		rows[0].aimAtShare(bare, 0.45)
		rows[0].aimAtShare(mcpGo, 0.8)
	}
	return rows, nil
}

// measureStdio does the same over standard input and output.
func (b *bench) measureStdio(ctx context.Context, clients int) ([]figure, error) {
	dir, err := b.newWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	defer b.stopAll()
	targets, err := b.stdioTargets(ctx, dir)
	if err != nil {
		return nil, err
	}
	courses, err := b.inTurns(ctx, targets, clients, b.atOnce)
	if err != nil {
		return nil, err
	}
	rows := compareRates(courses, map[string]string{
		served: "**the default `serve --stdio`**", onLines: "a bare loop over lines: reads the file and answers",
		mcpGo: "mcp-go, without a gate", goSDK: "the official go-sdk, without a gate",
	}, 1)
	if clients > 1 {
		rows[0].aimAtShare(onLines, 0.25)
	}
	return rows, nil
}

// stdioTargets starts the program and its peers on stdio.
func (b *bench) stdioTargets(ctx context.Context, dir string) (targets []target, err error) {
	for _, s := range stdioServers {
		p, err := b.startStdio(ctx, dir, s)
		if err != nil {
			return nil, err
		}
		t, err := overStdio(s.name, p, "read_file", readArgs)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// stdioServer is a server on stdio: the package that is built, and arguments.
type stdioServer struct {
	name, pkg string
	args      []string
}

var stdioServers = []stdioServer{
	{served, product, []string{"serve", "--stdio"}},
	{onLines, peer, []string{"-stdio", "bare"}},
	{mcpGo, peer, []string{"-stdio", "mcp-go"}},
	{goSDK, peer, []string{"-stdio", "go-sdk"}},
}

func (b *bench) startStdio(ctx context.Context, dir string, s stdioServer) (*process, error) {
	program, err := b.build(ctx, s.pkg)
	if err != nil {
		return nil, err
	}
	return b.start(ctx, dir, program, s.args...)
}

// measureLibrary calls read_file through the packages alone, with each kind of
// record.
func (b *bench) measureLibrary(ctx context.Context, clients int) ([]figure, error) {
	dir, err := b.newWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	defer b.stopAll()
	var targets []target
	labels := map[string]string{
		"none": "no record", "memory": "in memory", "file": "in a state file", "durable": "in a state file, and on the disk before the tool runs",
		bare: "a bare `net/http` handler",
	}
	for _, kind := range []string{"none", "memory", "file", "durable"} {
		p, url, token, err := b.startListener(ctx, dir, library, kind, dir)
		if err != nil {
			return nil, err
		}
		targets = append(targets, overHTTP(kind, p, url, token, "read_file", readArgs))
	}
	p, url, _, err := b.startListener(ctx, dir, peer, "bare")
	if err != nil {
		return nil, err
	}
	targets = append(targets, overHTTP(bare, p, url, "", "read_file", readArgs))
	courses, err := b.inTurns(ctx, targets, clients, b.atOnce)
	if err != nil {
		return nil, err
	}
	rows := compareRates(courses, labels, len(courses)-1)
	if clients > 1 {
		for i, least := range []float64{0.7, 0.6, 0.5, 0.35} {
			rows[i].aimAtShare(bare, least)
		}
	}
	return rows, nil
}

// compareRates returns a row for each course, with its rate against that of the
// course base; the first one is compared with all others.
func compareRates(courses []course, labels map[string]string, base int) []figure {
	rows := make([]figure, len(courses))
	for i := range courses {
		rows[i] = courses[i].row(labels[courses[i].name])
		for k := range courses {
			if k != i && (k == base || i == 0 && base == 1) && i != base {
				rows[i].Ratios = append(rows[i].Ratios, ratio{courses[k].name, medianRatio(courses[i].rate, courses[k].rate)})
			}
		}
		if spent := mean(courses[base].processor); i != base && spent > 0 {
			rows[i].Ratios = append(rows[i].Ratios, ratio{"the processor time of " + courses[base].name, mean(courses[i].processor) / spent})
		}
	}
	return rows
}
