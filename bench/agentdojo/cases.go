package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// caseWriter collects the cases that a figure may miss its aim by, with what the gate
// says about them. Nil collects nothing.
type caseWriter struct {
	path  string
	mu    sync.Mutex
	lines []string
}

// explainRun collects the calls of a run that a person would like to know the reason
// of, while the gate still has its record.
func (w *caseWriter) explainRun(ctx context.Context, b *benchmark, g *gateProcess, done *gatedRun) error {
	r := done.run
	isSolved := r.Attack == "none" && (r.Utility || r.Model == "")
	isLeft := r.isAttacked() && r.Security && b.judge(done).fate == callRan
	if w == nil || !isSolved && !isLeft {
		return nil
	}
	title := strings.Join([]string{string(done.mode), cmp.Or(r.Model, "ground truth"), r.Suite, r.UserTask, cmp.Or(r.InjectionTask, "-")}, " ")
	for i, c := range done.calls {
		effects := b.worlds[r.Suite].effects[r.Calls[i].Tool]
		if c.fate == callRan && (isSolved || effects.onlyReads() && len(effects.Destinations) == 0) {
			continue
		}
		why := ""
		if c.fate != callRan {
			text, err := g.command(ctx, "explain", "--call", c.id, "--json").Output()
			if err != nil {
				return fmt.Errorf("explain --call %s: %w", c.id, err)
			}
			why = compactJSON(text)
		}
		w.mu.Lock()
		w.lines = append(w.lines, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", title, c.fate, r.Calls[i].Tool, compactJSON(r.Calls[i].Args), c.why, why))
		w.mu.Unlock()
	}
	return nil
}

// compactJSON returns JSON on one line.
func compactJSON(text []byte) string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return quoteText(string(text))
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// write writes what was collected, in order.
func (w *caseWriter) write() error {
	if w == nil {
		return nil
	}
	slices.Sort(w.lines)
	return os.WriteFile(w.path, []byte(strings.Join(w.lines, "\n")+"\n"), 0o600)
}
